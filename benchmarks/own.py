"""The reader's own operations, at the sizes of the copies.

tensorcopy.toml declares them (docs/own-operation.md). Without a declaration there is no suite.
"""

from tensorcopy.copying.inside.own import own_operations, own_with_inputs
from tensorcopy.worker.devices import ACCELERATORS
from tensorcopy.worker.operations import operations

from .cases import NUMELS, ON_DEVICE, Suite, case, case_of_inputs

OWN = own_operations()
WITH_INPUTS = {operation.name: operation for operation in operations() if operation.inputs}

if OWN:

    class BySize(Suite):
        """The same sizes as copies and conversions."""

        params = [list(OWN), NUMELS]
        param_names = ["method", "numel"]

        def time_own(self, method, numel):
            self.time(case(OWN[method], numel))

    class ByGrad(Suite):
        """For a leaf that requires grad; BySize has the same cases without grad."""

        params = [list(OWN), NUMELS, [True]]
        param_names = ["method", "numel", "requires_grad"]

        def time_own(self, method, numel, requires_grad):
            self.time(case(OWN[method], numel, requires_grad=requires_grad))

    class Throughput(Suite):
        """On an accelerator, with one wait before the loop and one after."""

        params = [list(OWN), ON_DEVICE, list(ACCELERATORS)]
        param_names = ["method", "numel", "device"]

        def time_own(self, method, numel, device):
            self.time(case(OWN[method], numel, device=device))


if WITH_INPUTS:

    class ByInputs(Suite):
        """Operations that declare their inputs; n is the size in their shapes."""

        params = [list(WITH_INPUTS), sorted({size for operation in WITH_INPUTS.values() for size in operation.sizes})]
        param_names = ["method", "n"]

        def time_own(self, method, n):
            self.time(case_of_inputs(own_with_inputs()[method], n))
