"""The reader's own operations, at the sizes of the copies.

tensorcopy.toml declares them (docs/own-operation.md). Without a declaration there is no suite.
"""

from tensorcopy.copying.inside.own import device_of, own_operations, own_with_inputs
from tensorcopy.worker.devices import ACCELERATORS
from tensorcopy.worker.operations import operations

from .cases import NUMELS, ON_DEVICE, Suite, case, case_of_inputs, skip

OWN = own_operations()
INPUTS_ON = {operation.name: device_of(operation) for operation in operations() if operation.inputs}
ON_CPU = [name for name, device in INPUTS_ON.items() if device == "cpu"]
ON_ACCELERATOR = [name for name in INPUTS_ON if name not in ON_CPU]

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


def sizes(names):
    return sorted({size for operation in operations() if operation.name in names for size in operation.sizes})


if ON_CPU:

    class ByInputs(Suite):
        """Operations that declare their inputs; n is the size in their shapes."""

        params = [ON_CPU, sizes(ON_CPU)]
        param_names = ["method", "n"]

        def time_own(self, method, n):
            self.time(case_of_inputs(own_with_inputs()[method], n))


if ON_ACCELERATOR:

    class ByInputsOnDevice(Suite):
        """Those whose inputs are on an accelerator."""

        params = [ON_ACCELERATOR, sizes(ON_ACCELERATOR), sorted({INPUTS_ON[name] for name in ON_ACCELERATOR})]
        param_names = ["method", "n", "device"]

        def time_own(self, method, n, device):
            if device != INPUTS_ON[method]:
                skip(f"the inputs of {method} are on {INPUTS_ON[method]}")
            self.time(case_of_inputs(own_with_inputs()[method], n))
