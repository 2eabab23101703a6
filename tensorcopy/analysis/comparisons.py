"""Two results compared case by case, with what their neighbours show of noise. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os.path import relpath

from tensorcopy.analysis.two_sample import MARGIN, Change, Samples, judge
from tensorcopy.releases import release_table
from tensorcopy.results import noise
from tensorcopy.results.load import Case, Result
from tensorcopy.results.noise import AS_MEASURED, DriftModel

SAME_MACHINE = (
    "cpu",
    "cores",
    "governor",
    "cpu_quota",
    "hugepages",
    "cpu_capability",
    "threads",
    "arch",
    "os",
    "driver",
    "accelerators",
    "settings",
)
SAME_TIMER = ("asv_runner",)  # decides how a sample is taken
NOT_TORCHS = ("floors.",)  # suites that no torch can change, or that tell of the machine


@dataclass(frozen=True)
class Comparison:
    """Two results, judged.

    before, after : the sides
    named : how the two are told apart, in a few words each
    changes : by case
    margin : the smallest change worth telling, as a share of the time
    noise : by case, other results' passes as they were, as `two_sample.judge` takes them
    drift : what the passes were judged as: in the usual mood
    """

    before: Result
    after: Result
    named: tuple[str, str]
    changes: dict[Case, Change]
    margin: float
    noise: Mapping[Case, Sequence[Sequence[float]]] = field(default_factory=dict)
    drift: DriftModel = AS_MEASURED

    @property
    def compared(self) -> int:
        """How many cases were judged together; the others could not be."""
        return sum(change.p is not None for change in self.changes.values())

    @property
    def on(self) -> str:
        """What both were measured on, and with."""
        one, other = self.before.provenance, self.after.provenance
        machine = one["cpu"] if one["cpu"] == other["cpu"] else f"{one['cpu']} / {other['cpu']}"
        python = self.before.python if self.before.python == self.after.python else f"{self.before.python} / {self.after.python}"
        return f"{machine}, Python {python}"


def cases_of(one: Result, other: Result, pattern: str = "", device: str = "") -> list[Case]:
    """The cases of two results that torch can change, in the first's order; `pattern` is searched in their names, "" is any device."""
    wanted = re.compile(pattern)
    return [case for case in _cases(one, other) if wanted.search(named(case)) and device in ("", case.device)]


def between(
    one: Result, other: Result, beside: Iterable[Result], cases: Sequence[Case] | None = None, *, margin: float = MARGIN
) -> Comparison:
    """Two results, judged, with what those `beside` them tell of noise.

    cases : those to be judged together; by default all that torch can change
    """
    mine = list(cases) if cases is not None else _cases(one, other)
    around = list({result.path: result for result in beside if _alike(result, one) and result.path not in (one.path, other.path)}.values())
    told = [one, other, *around] if noise.same_machine(one, other) else []
    drift = noise.fit_drift([result for result in told if noise.same_machine(result, one)], mine)
    pairs = {case: (side(one, case, other, drift), side(other, case, one, drift)) for case in mine}
    changes = judge(pairs, margin=margin, noise=drift.noise(around, mine))
    return Comparison(one, other, _told_apart(one, other), changes, margin, AS_MEASURED.noise(around, mine), drift)


def side(result: Result, case: Case, other: Result, drift: DriftModel = AS_MEASURED) -> Samples:
    """A case's side of a comparison with `other`."""
    timing = result.timings.get(case)
    if timing is None:
        return Samples(failure="not measured, skipped or failed there")
    judged = drift.passes(case, timing)
    return Samples(judged, _provenance(result, case, other), failure="" if judged else "the machine was never quiet")


def named(case: Case) -> str:
    """A case as a person names it: "copies.BySize detach_clone numel=1024"."""
    suite = case.suite.rpartition(".")[0]
    return " ".join([suite, *(value if name == "method" else f"{name}={value}" for name, value in case.parameters)])


def version(result: Result) -> str:
    """A result's release, as the table calls it: "2.15.0"; of an unknown one what torch says of itself, without its build."""
    known = {row.sha: row.version for row in release_table.load()}
    return known.get(result.sha) or str(result.provenance["torch"]).partition("+")[0]


def _cases(one: Result, other: Result) -> list[Case]:
    """Those of either side, in the first's order; the machine's own are not torch's."""
    return [case for case in dict.fromkeys([*one.timings, *other.timings]) if not case.suite.startswith(NOT_TORCHS)]


def _provenance(result: Result, case: Case, other: Result) -> dict[str, str]:
    """What must be alike for torch to be what changed the time. What the two sides are compared for may differ."""
    names: list[str] = list(SAME_TIMER)
    if result.machine == other.machine:
        names += SAME_MACHINE
    if case.suite.startswith("conversions."):
        names.append("numpy")
    if result.python == other.python:
        names.append("python")
    return {name: str(result.provenance[name]) for name in names if result.provenance.get(name) not in (None, "")}


def _alike(result: Result, one: Result) -> bool:
    """Whether a result's passes tell how those of `one` stray."""
    return (result.machine, result.python, result.build) == (one.machine, one.python, one.build)


def _told_apart(one: Result, other: Result) -> tuple[str, str]:
    """Each side by what it does not share with the other."""
    parts: list[tuple[str, str]] = [(f"torch {one.provenance['torch']}", f"torch {other.provenance['torch']}")]
    for left, right in ((f"Python {one.python}", f"Python {other.python}"), (one.build, other.build), (one.machine, other.machine)):
        parts += [(left, right)] if left != right else []
    if one.provenance["torch"] == other.provenance["torch"] and len(parts) == 1:
        parts.append((relpath(one.path.parents[1]), relpath(other.path.parents[1])))
    first, second = (", ".join(side) for side in zip(*parts))
    return first, second
