"""Instructions per call on the CPU, for the cases that are timed there.

All are counted in one process per release, which takes a minute or two; skipped where valgrind is missing.
"""

from tensorcopy.copying import LAYOUTS
from tensorcopy.copying.inside import instruction_count
from tensorcopy.copying.inside.instruction_count import (
    BY_SIZE,
    COPIED,
    DTYPE_NUMELS,
    LAYOUT_NUMELS,
    NUMELS,
    OTHER_NUMELS,
    OTHERS,
    Section,
)
from tensorcopy.copying.inside.methods import DTYPES
from tensorcopy.errors import TensorcopyError

from .cases import skip


class Instructions:
    """The measurement of all suites of this module: counts by `Section`."""

    version = "2"

    def setup_cache(self):
        try:
            return instruction_count.count()
        except TensorcopyError as error:
            return str(error)

    setup_cache.timeout = 1800

    def count(self, counts, section):
        if isinstance(counts, str):
            skip(counts)
        if section not in counts:
            skip(f"{section.method} is not in this torch, or raises for this tensor")
        return counts[section]


class BySize(Instructions):
    """Copies and conversions, without grad and of a leaf that requires grad."""

    params = [list(BY_SIZE), list(NUMELS), [False, True]]
    param_names = ["method", "numel", "requires_grad"]

    def track_instructions(self, counts, method, numel, requires_grad):
        return self.count(counts, Section(method, numel, requires_grad=requires_grad))

    track_instructions.unit = "instructions"


class Others(BySize):
    """Primitives and alternatives."""

    params = [list(OTHERS), list(OTHER_NUMELS), [False, True]]


class ByLayout(Instructions):
    """A copy of a tensor that is not dense needs a separate kernel."""

    params = [list(COPIED), list(LAYOUT_NUMELS), list(LAYOUTS[1:])]
    param_names = ["method", "numel", "layout"]

    def track_instructions(self, counts, method, numel, layout):
        return self.count(counts, Section(method, numel, layout=layout))

    track_instructions.unit = "instructions"


class ByDtype(Instructions):
    """A kernel that lost its vectorisation for one dtype is seen here."""

    params = [list(COPIED), list(DTYPE_NUMELS), list(DTYPES[1:])]
    param_names = ["method", "numel", "dtype"]

    def track_instructions(self, counts, method, numel, dtype):
        return self.count(counts, Section(method, numel, dtype=dtype))

    track_instructions.unit = "instructions"
