"""What each suite is: the rows of `suites.toml`, which lies beside the suites, and what asv's names tell of other suites.

Nothing else tells suites apart by their names. The table is read without torch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from tensorcopy import files
from tensorcopy.releases import interpreters
from tensorcopy.results.kinds import BESIDE, KINDS, Kind

TIME, INSTRUCTIONS = "time", "instructions"  # metrics that the program looks for
SECONDS, BYTES, ALLOCATIONS = "seconds", "bytes", "allocations"
TRACKED = "tracked"  # the metric of what a third-party suite tracks, in the unit that it declares
SHORT_UNITS = {SECONDS: "s", BYTES: "B"}  # of tracked values: theirs is another unit than that of a time, or of an exact count
OF_BASELINES = ("memory", "nbytes", "way", "device")  # parameters that `cases.baseline_case` tells, beside those of a case
NUMEL = "numel"  # the parameter that is the size: elements of a tensor


@dataclass(frozen=True)
class SuiteSpec:
    """What a suite is, besides its numbers.

    newest : whether only the newest release of a machine is timed, in launches of its own: its cases are in no history and no comparison
    counted : the suites that count the instructions of its cases; a case belongs to the first that has its parameters
    """

    name: str  # as in results, "copies.BySize.time_copy"
    shipped: bool  # whether it is tensorcopy's own, with a row in the table
    label: str  # as pages and tables name it: "copies.BySize", or the whole name of a third-party suite
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
    baseline: str = ""  # the suite that moves the same bytes with the least work, on the CPU without torch; "" for none
    strided_baseline: str = ""  # the same for strided tensors
    counted: tuple[str, ...] = ()

    @property
    def packages(self) -> bool:
        """Whether the packages that a campaign requires can change its values."""
        return not self.shipped

    @property
    def of_kind(self) -> Kind:
        """The kind of its values."""
        return KINDS[self.kind or (TIME if self.unit == SECONDS else "count")]

    @property
    def timed(self) -> bool:
        """Whether its values are times, not counts."""
        return self.unit == SECONDS

    @property
    def stands_beside(self) -> bool:
        """Whether its values are counts that stand beside times, and are compared by themselves only where that is asked for."""
        return self.unit in BESIDE and self.kind != TRACKED

    @property
    def by_size(self) -> bool:
        """Whether it times methods by size, perhaps of some kind of tensor: what methods are recommended by."""
        return self.timed and bool(self.methods) and not self.latency and not self.newest

    @property
    def compared(self) -> bool:
        """Whether its values are compared between releases."""
        return self.torch and not self.newest


@cache
def table() -> dict[str, SuiteSpec]:
    """Return every row of the table by name, in its order. Raises TensorcopyError for a damaged table."""
    return read(interpreters.own_suites() / "suites.toml")


def read(path: Path) -> dict[str, SuiteSpec]:
    """Return the rows of a table. Raises TensorcopyError for a damaged one."""
    try:
        specs = {spec.name: spec for module, rows in files.read_toml(path).items() for spec in _of_module(module, rows)}
        for spec in specs.values():
            _check_references(spec, specs)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise files.damaged(path, error, "TOML with the fields of SuiteSpec") from error
    return specs


def _of_module(module: str, rows: dict[str, Any]) -> Iterator[SuiteSpec]:
    shared = {name: value for name, value in rows.items() if not isinstance(value, dict)}
    for suite, functions in rows.items():
        for number, (function, row) in enumerate(functions.items() if isinstance(functions, dict) else ()):
            values = {"parameters": ["method", "numel", *row.get("axes", ())], **shared, **row}
            name, label = f"{module}.{suite}.{function}", f"{module}.{suite}"
            values |= {"name": name, "shipped": True, "label": label, "page": name if number else label, "module": module}
            if unknown := values.keys() - {"axes", *(field.name for field in fields(SuiteSpec))}:
                raise ValueError(f"{name} with {', '.join(unknown)}")
            yield msgspec.convert(values, SuiteSpec)


def _check_references(spec: SuiteSpec, specs: Mapping[str, SuiteSpec]) -> None:
    """Raise ValueError for a suite that lacks a title, or that names another one which there is not or which its cases do not tell."""
    if spec.methods and spec.timed and spec.compared and not spec.title:
        raise ValueError(f"{spec.name} runs methods, and [{spec.module}] has no title")
    baselines = [*filter(None, (spec.baseline, spec.strided_baseline))]
    if unknown := [name for name in (*baselines, *spec.counted) if name not in specs]:
        raise ValueError(f"{spec.name} names {unknown[0]}, which has no row")
    for name in baselines:
        if untold := [parameter for parameter in specs[name].parameters if parameter not in (*OF_BASELINES, *spec.parameters)]:
            raise ValueError(f"{spec.name} does not tell {untold[0]} of {name}")


@cache
def find(name: str, tracked: str = "") -> SuiteSpec:
    """Return what the suite of a name is.

    tracked : the unit of a suite that is not in the table and tracks a value; "" for one that is timed
    """
    if name in table():
        return table()[name]
    module, metric = name.partition(".")[0], TRACKED if tracked else TIME
    unit = SHORT_UNITS.get(tracked, tracked) if tracked else SECONDS
    return SuiteSpec(name, False, name, name, module, module, metric=metric, unit=unit, kind=metric, parameters=())


@cache
def baselines() -> frozenset[str]:
    """Return the suites that are there for scale: those that move the bytes of others with the least work, and waits alone."""
    specs = table().values()
    return frozenset(name for spec in specs for name in (spec.baseline, spec.strided_baseline, spec.name if spec.wait else "") if name)


@cache
def sections() -> dict[str, str]:
    """Return the titles of the sections in which pages list cases, by module, in order."""
    return {spec.module: spec.title for spec in table().values() if spec.title}


def counting(metric: str) -> list[SuiteSpec]:
    """Return the suites of a metric, in the order of the table."""
    return [spec for spec in table().values() if spec.metric == metric]
