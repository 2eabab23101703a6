"""Large copies with several threads; all other suites use one."""

from tensorcopy.worker.methods import COPIES

from .cases import Suite, case


class ByThreads(Suite):
    """64 MiB: threads share memory bandwidth and page faults, which limits the gain."""

    params = [list(COPIES), [2**24], [1, 2, 4, 8]]
    param_names = ["method", "numel", "threads"]

    def time_copy(self, method, numel, threads):
        self.time(case(COPIES[method], numel, threads=threads))
