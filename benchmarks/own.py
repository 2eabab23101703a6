"""Operations of the reader's own (tensorcopy.toml, docs/own-operation.md), at the sizes of the copies. Without any there is no suite."""

from tensorcopy.worker.devices import ACCELERATORS
from tensorcopy.worker.registry.methods import OWN

from .cases import NUMELS, ON_DEVICE, Suite, case

if OWN:

    class BySize(Suite):
        """As copies and conversions by size."""

        params = [list(OWN), NUMELS]
        param_names = ["method", "numel"]

        def time_own(self, method, numel):
            self.time(case(OWN[method], numel), method, numel)

    class ByGrad(Suite):
        """Of a plain tensor, and of a leaf that requires grad."""

        params = [list(OWN), [2**4, 2**17], [False, True]]
        param_names = ["method", "numel", "requires_grad"]

        def time_own(self, method, numel, requires_grad):
            self.time(case(OWN[method], numel, requires_grad=requires_grad), method, numel, requires_grad)

    class Throughput(Suite):
        """On an accelerator, which is waited for around a loop."""

        params = [list(OWN), ON_DEVICE, list(ACCELERATORS)]
        param_names = ["method", "numel", "device"]

        def time_own(self, method, numel, device):
            self.time(case(OWN[method], numel, device=device), method, numel, device)
