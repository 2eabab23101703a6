"""Instructions per call on the CPU, for the cases that are timed there.

All are counted in one process per release, which takes a minute or two; skipped where valgrind is missing.
"""

from tensorcopy.copying import LAYOUTS
from tensorcopy.copying.inside import instruction_count
from tensorcopy.copying.inside.methods import DTYPES
from tensorcopy.errors import TensorcopyError

from .cases import skip


class _Instructions:
    """The measurement of all suites of this module: counts by `Section`."""

    version = "2"

    def setup_cache(self):
        try:
            return instruction_count.count()
        except TensorcopyError as error:
            return str(error)

    setup_cache.timeout = 1800

    def track_instructions(self, counts, method, numel, value):
        if isinstance(counts, str):
            skip(counts)
        section = instruction_count.Section(method, numel, **{self.param_names[2]: value})
        if section not in counts:
            skip(f"{method} is not in this torch, or raises for this tensor")
        return counts[section]

    track_instructions.unit = "instructions"


class BySize(_Instructions):
    """Copies and conversions, without grad and of a leaf that requires grad."""

    params = [list(instruction_count.BY_SIZE), list(instruction_count.NUMELS), [False, True]]
    param_names = ["method", "numel", "requires_grad"]


class Others(BySize):
    """Primitives and alternatives."""

    params = [list(instruction_count.OTHERS), list(instruction_count.OTHER_NUMELS), [False, True]]


class ByLayout(_Instructions):
    """A copy of a tensor that is not dense needs a separate kernel."""

    params = [list(instruction_count.COPIED), list(instruction_count.LAYOUT_NUMELS), list(LAYOUTS[1:])]
    param_names = ["method", "numel", "layout"]


class ByDtype(_Instructions):
    """A kernel that lost its vectorisation for one dtype is seen here."""

    params = [list(instruction_count.COPIED), list(instruction_count.DTYPE_NUMELS), list(DTYPES[1:])]
    param_names = ["method", "numel", "dtype"]
