"""What each suite is: the rows of a campaign's table, and what asv tells of a suite that has none.

Nothing else tells suites apart by their names. `suites.toml`, which lies beside the shipped suites, is read without torch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, structs

from tensorcopy import files
from tensorcopy.results.kinds import BESIDE, KINDS, Kind

TIME, INSTRUCTIONS = "time", "instructions"  # metrics that the program looks for
SECONDS, BYTES = "seconds", "bytes"
TRACKED = "tracked"  # the metric of what a suite without a row tracks, in the unit that it declares
SHORT_UNITS = {SECONDS: "s", BYTES: "B"}  # of tracked values: theirs is another unit than that of a time, or of an exact count
TIMED = ("time", "timeraw")  # types of asv's benchmarks; of all others a launch of counts has the value
OF_BASELINES = ("memory", "nbytes", "way", "device")  # parameters that `cases.baseline_case` tells, beside those of a case
REFERENCES = ("counted", "baseline", "strided_baseline")  # columns that name other suites
NUMEL = "numel"  # the parameter that is the size: elements of a tensor


class SuiteSpec(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """What a suite is, besides its numbers.

    newest : whether only the newest release of a machine is timed, in launches of its own: its cases are in no history and no comparison
    counted : the suites that count the instructions of its cases; a case belongs to the first that has its parameters
    """

    name: str  # as in results, "copies.BySize.time_copy"
    shipped: bool  # whether it has a row in the campaign's table, as tensorcopy's own suites have
    label: str  # as pages and tables name it: "copies.BySize", or the whole name of a suite without a row
    page: str  # the same, but unlike that of any other suite
    module: str  # the file of the suite; cases of one module are a group, and the cases of a page's section
    title: str = ""  # of that section; "" for suites without methods
    methods: str = ""  # the group of the registry's methods that it runs; "" for several groups or none
    metric: str = TIME  # "time", "instructions", or which bytes or allocations are counted
    unit: str = SECONDS  # of its values, "seconds" for times and for nothing else
    kind: str = ""  # of its values, see `kinds`; by default that of times for seconds, else an exact count
    parameters: tuple[str, ...] = ("method", "numel")  # their names, in order
    rank: int = 2  # its place in lists of the module's suites. 0 has the cases by size, and is linked from others; 2 stands for all others
    torch: bool = True  # whether torch can change its values
    newest: bool = False
    device: str = "cpu"  # of its tensors, where no parameter tells it
    latency: bool = False  # whether the device is waited for after each call, although it could run several
    wait: bool = False  # whether it times such a wait alone
    to_host: bool = False  # whether its methods end in host memory
    quick: bool = False  # whether `dashboard --quick` runs it
    headline: bool = False  # whether summaries count its cases
    place: int = 0  # of its module in the table
    baseline: SuiteSpec | None = None  # that moves the same bytes with the least work, on the CPU without torch
    strided_baseline: SuiteSpec | None = None  # the same for strided tensors
    counted: tuple[SuiteSpec, ...] = ()

    def __hash__(self) -> int:
        return hash(self.name)

    @cached_property
    def of_kind(self) -> Kind:
        """The kind of its values."""
        return KINDS[self.kind or (TIME if self.unit == SECONDS else "count")]

    @cached_property
    def timed(self) -> bool:
        """Whether its values are times, not counts."""
        return self.unit == SECONDS

    @cached_property
    def stands_beside(self) -> bool:
        """Whether its values are counts that stand beside times, and are compared by themselves only where that is asked for."""
        return self.unit in BESIDE and self.kind != TRACKED

    @cached_property
    def by_size(self) -> bool:
        """Whether it times methods by size, perhaps of some kind of tensor: what methods are recommended by."""
        return self.timed and bool(self.methods) and not self.latency and not self.newest

    @cached_property
    def compared(self) -> bool:
        """Whether its values are compared between releases."""
        return self.torch and not self.newest


@dataclass(frozen=True, eq=False)
class SuiteTable:
    """The suites of a campaign."""

    rows: Mapping[str, SuiteSpec] = field(default_factory=dict)  # by name, in order

    def spec(self, name: str, type: str, unit: str) -> SuiteSpec:
        """Return what a suite is: its row, or of one without a row what asv tells; type, unit : as asv describes it."""
        return self.rows.get(name) or _without_row(name, "" if type in TIMED else unit or "unit")


NO_TABLE = SuiteTable()


@cache
def _without_row(name: str, tracked: str) -> SuiteSpec:
    """Return what a suite is that has no row; tracked : the unit of the value that it tracks, "" for one that is timed."""
    module, metric = name.partition(".")[0], TRACKED if tracked else TIME
    unit = SHORT_UNITS.get(tracked, tracked) if tracked else SECONDS
    return SuiteSpec(name, False, name, name, module, module, metric=metric, unit=unit, kind=metric, parameters=())


def read(path: Path) -> SuiteTable:
    """Return a table of suites. Raises TensorcopyError for a damaged one, one that lacks a title, and names that there are not."""
    try:
        modules = enumerate(files.read_toml(path).items())
        rows = {row["name"]: row for place, (module, suites) in modules for row in _rows(place, module, suites)}
        names = {name: {key: row.pop(key, ()) for key in REFERENCES} for name, row in rows.items()}
        plain = msgspec.convert(rows, dict[str, SuiteSpec])
        return SuiteTable({name: _with_references(spec, names[name], plain) for name, spec in plain.items()})
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise files.damaged(path, error, "TOML with the fields of SuiteSpec") from error


def _rows(place: int, module: str, suites: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    shared = {name: value for name, value in suites.items() if not isinstance(value, dict)}
    for suite, functions in suites.items():
        for number, (function, row) in enumerate(functions.items() if isinstance(functions, dict) else ()):
            name, label = f"{module}.{suite}.{function}", f"{module}.{suite}"
            own = {"name": name, "shipped": True, "label": label, "page": name if number else label}
            parameters = ["method", "numel", *row.pop("axes", ())]
            yield {"parameters": parameters, **shared, **row, **own, "module": module, "place": place}


def _with_references(spec: SuiteSpec, names: Mapping[str, Any], others: Mapping[str, SuiteSpec]) -> SuiteSpec:
    """Return a row with the suites that it names."""
    if spec.methods and spec.timed and spec.compared and not spec.title:
        raise ValueError(f"{spec.name} runs methods, and [{spec.module}] has no title")
    of_key = {key: [value] if isinstance(value, str) else value for key, value in names.items()}
    if unknown := [name for of_names in of_key.values() for name in of_names if name not in others]:
        raise ValueError(f"{spec.name} names {unknown[0]}, which has no row")
    counted, plain, strided = ([others[name] for name in of_key[key]] for key in REFERENCES)
    for baseline in (*plain, *strided):
        if untold := [parameter for parameter in baseline.parameters if parameter not in (*OF_BASELINES, *spec.parameters)]:
            raise ValueError(f"{spec.name} does not tell {untold[0]} of {baseline.name}")
    baselines = {"baseline": next(iter(plain), None), "strided_baseline": next(iter(strided), None)}
    return structs.replace(spec, counted=tuple(counted), **baselines)
