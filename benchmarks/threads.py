"""What more threads do for a large copy. Every other suite has one."""

from tensorcopy.worker.registry.methods import COPIES

from .cases import Suite, case


class ByThreads(Suite):
    """64 MiB: memory bandwidth and page faults are shared, so it pays less than one thinks."""

    params = [list(COPIES), [2**24], [1, 2, 4, 8]]
    param_names = ["method", "numel", "threads"]

    def time_copy(self, method, numel, threads):
        self.time(case(COPIES[method], numel, threads=threads), method, numel, threads)
