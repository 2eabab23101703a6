"""Instructions per call for a small tensor on the CPU."""

from tensorcopy.errors import TensorcopyError
from tensorcopy.worker.probes import instruction_count
from tensorcopy.worker.registry.methods import METHODS

from .cases import skip, skip_if_absent


class ByMethod:
    """Counted once for all methods; skipped where valgrind is missing."""

    version = "1"
    params = [list(METHODS), [instruction_count.NUMEL], [False, True]]
    param_names = ["method", "numel", "requires_grad"]

    def setup_cache(self):
        try:
            return instruction_count.count()
        except TensorcopyError as error:
            return str(error)

    setup_cache.timeout = 900

    def track_instructions(self, counts, method, numel, requires_grad):
        skip_if_absent()
        if isinstance(counts, str):
            skip(counts)
        if (method, requires_grad) not in counts:
            skip(f"{method} is not in this torch, or raises for a tensor that requires grad")
        return counts[method, requires_grad]

    track_instructions.unit = "instructions"
