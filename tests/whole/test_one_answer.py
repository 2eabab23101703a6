"""One comparison, one answer: every output says the same of the same launches.

`SETS` are constructed launches, with the verdict that each case must have. Every output of `OUTPUTS` is produced by the real commands and
pages, and read back as text: its verdicts, sizes and intervals are those of the judge, to the digits that are printed, and so are its
numbers of cases by verdict.
"""

from __future__ import annotations

import csv
import json
import re
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from html.parser import HTMLParser
from io import StringIO
from math import exp
from pathlib import Path
from typing import Any

import feedparser
import msgspec
import pytest
from asv.config import Config

from tensorcopy.asv_plugin import comparing, projection
from tensorcopy.campaign import Campaign
from tensorcopy.ci import pull_request
from tensorcopy.ci.pull_request import PullRequest, RevisionPair
from tensorcopy.cli import main
from tensorcopy.copying.shipped import of_folder
from tensorcopy.judge import comparisons
from tensorcopy.judge.comparisons import Comparison, Question, word
from tensorcopy.judge.paired import Change, Verdict
from tensorcopy.measure import now, revisions
from tensorcopy.report import pr_comment, sentences
from tensorcopy.results import reader, select
from tensorcopy.results.cases import Case
from tensorcopy.site import addresses, data_files, feeds, render
from tensorcopy.site.content import Content
from tensorcopy.site.page import circumstances
from tensorcopy.site.pages import histories, release_pairs
from tests import launch_files
from tests.launch_files import START

A, B = "2.14.1", "2.15.0"
BETWEEN, REFERENCE = "2.13.0", "2.12.1"
COPY = "copies.BySize.time_copy"
QUIET = {"clone_detach": (1.4, 1.4), "detach_clone": (1.1, 1.1), "empty_like_copy": (1.5, 1.5), "tensor": (2.2, 2.2)}
LATER = START + timedelta(days=1)
GPU = {"accelerators": {"cuda": "NVIDIA H200"}, "driver": "NVIDIA 570.86"}
LOOKED = (0.024, -0.096, 0.187, 0.339, 0.106, 0.181, 0.182, 0.14, 0.139, 0.17, 0.039, -0.081, -0.097, 0.123, 0.104, 0.059)
ERROR = "RuntimeError: no kernel"

# The sets: launches, and what must be said of them


def copies(before: str = A, after: str = B, **times: tuple[Any, Any]) -> dict[str, dict[str, Any]]:
    """Return cases of copies with 16 elements: the times of both sides by method; four others are equal."""
    return {f"{COPY} {method} 16": dict(zip((before, after), pair)) for method, pair in {**QUIET, **times}.items()}


def times(cases: Mapping[str, Any] | None = None, **options: Any) -> Callable[[Path], None]:
    """Return what writes launches of these cases."""
    return lambda results: void(launch_files.write(results, cases or copies(**options.pop("copies", {})), **options))


def void(_: object) -> None:
    """Return nothing."""


def _declared(table: str, cases: Mapping[str, Any]) -> Callable[[Path], None]:
    """Return what writes launches, and tables of tensorcopy.toml."""

    def write(results: Path) -> None:
        launch_files.write(results, cases)
        (results.parent / "tensorcopy.toml").write_text(table, encoding="utf-8")

    return write


def _only_on_one_side(results: Path) -> None:
    """Write launches of both sides, and later ones of each with a case that the other has not."""
    launch_files.write(results, copies())
    launch_files.write(results, {**{case: {A: None} for case in copies()}, f"{COPY} new_tensor 16": {A: 2.0}}, start=LATER)
    launch_files.write(results, {"alternatives.BySize.time_alternative clone 16": {B: 2.0}}, start=LATER + timedelta(days=1))


def _tracked(results: Path) -> None:
    """Write values of two releases: exact ones, such as vary, and one of a single launch; and a time."""
    values = {
        "exact": ([0.45, 0.45], [0.455, 0.455]),
        "equal": ([1.0, 1.0], [1.0, 1.0]),
        "once": ([3.0], [4.0]),
        "rate": ([2.49, 2.5, 2.51], [2.39, 2.4, 2.41]),
        "varies": ([11.0, 13.0, 12.0], [12.5, 11.5, 13.5]),
    }
    for place, release in enumerate((A, B)):
        of_release = {f"several.track_{name}": sides[place] for name, sides in values.items()}
        launch_files.write_counts(results, release, of_release, units={"several.track_rate": "GB/s"})
    launch_files.write(results, {"several.time_kept": {A: 1.0, B: 1.0}})


def _counted(results: Path) -> None:
    """Write times that are equal, and instructions of which those of one method are more and of another fewer."""
    launch_files.write(results, copies(new_tensor=(2.0, 2.5)))
    for place, release in enumerate((A, B)):
        of_methods = {"new_tensor": (1000, 1000), "clone_detach": (1000, 1200), "detach_clone": (1000, 900), "tensor": (1000, 1004)}
        counted = {f"instructions.BySize.track_instructions {name} 16 False": sides[place] for name, sides in of_methods.items()}
        launch_files.write_counts(results, release, counted)


def _two_machines(results: Path) -> None:
    """Write launches of the older release on one machine, and of the newer one on another."""
    cases = copies(new_tensor=(2.0, 3.0))
    for machine, release, identity in (("box", A, "b0b0b0b0b0b0"), ("other", B, "c0c0c0c0c0c0")):
        of_release = {case: {release: sides[release]} for case, sides in cases.items()}
        launch_files.write(results, of_release, machine=machine, identity=identity, common=0.01)


def _alone(results: Path) -> None:
    """Write launches with one side each."""
    cases = copies(new_tensor=(2.0, 3.0))
    for release, start in ((A, START), (B, LATER)):
        launch_files.write(results, {case: {release: sides[release]} for case, sides in cases.items()}, start=start, common=0.01)


def _by_way_of_others(results: Path) -> None:
    """Write launches with either side beside the reference release."""
    cases = copies(new_tensor=(2.0, 2.5))
    for release, start in ((A, START), (B, LATER)):
        beside = {case: {REFERENCE: 1.0, release: sides[release]} for case, sides in cases.items()}
        launch_files.write(results, beside, reference=REFERENCE, start=start)


def _gap(results: Path) -> None:
    """Write launches of three releases, of which that between has not the case that changes."""
    cases = copies(REFERENCE, A, new_tensor=(2.0, 2.5))
    gone = f"{COPY} new_tensor 16"
    launch_files.write(results, {case: {**sides, BETWEEN: sides[A]} for case, sides in cases.items() if case != gone} | {gone: cases[gone]})


def _unequal(name: str, value: Any) -> Callable[[Path], None]:
    """Return what writes launches whose newer side has another value of one condition."""
    return times(copies(new_tensor=(2.0, 2.5)), sides={A: {}, B: {name: value}})


def _two_numpys(results: Path) -> None:
    """Write launches of one release beside two numpys."""
    cases = {
        f"conversions.BySize.time_conversion {method} 16": {B: before, f"{B}@3.11": after}
        for method, before, after in (("detach_numpy_copy", 1.0, 1.5), ("clone_detach_numpy", 2.0, 2.0))
    }
    launch_files.write(results, cases, sides={B: {}, f"{B}@3.11": {"build": "cuda-numpy2", "numpy": "2.1.0"}})


def _interpreter(results: Path) -> None:
    """Write launches of the wheel beside the torch of an interpreter."""
    launch_files.write(results, copies(f"{B}@3.11", B, new_tensor=(2.0, 2.5)), sides={f"{B}@3.11": {"build": "cuda-interpreter"}, B: {}})


@dataclass(frozen=True)
class LaunchSet:
    """Launches, and the question that is asked of them.

    write : writes them into a folder of results
    verdicts : by method or name of the case, those that are not unchanged
    sides : as `tensorcopy compare` takes them
    without : outputs that do not exist of such a pair
    accepted : by a part of their names, why the slowdowns of cases are known
    looks : whether the launches were judged while they were taken
    """

    write: Callable[[Path], None]
    verdicts: Mapping[str, str] = field(default_factory=dict)
    sides: tuple[str, str] = (A, B)
    without: tuple[str, ...] = ()
    accepted: Mapping[str, str] = field(default_factory=dict)
    looks: bool = False


def _of_revisions(results: Path) -> None:
    """Write launches of two revisions under one torch, for which slowdowns of the newer one are accepted with that torch."""
    launch_files.write(results, copies(f"{B}#base", f"{B}#head", new_tensor=(2.0, 3.0)))
    rows = f'[[accepted]]\ncase = "new_tensor"\nrelease = "{B}"\nwhy = "a check"\n'
    (results.parent / "tensorcopy.toml").write_text(rows, encoding="utf-8")


def _looked_at(results: Path) -> None:
    """Write as many launches as have three looks, of which the last is significant only for who has looked once."""
    disturbed = [2.0 * exp(each) for each in LOOKED]
    launch_files.write(results, copies(new_tensor=([2.0] * len(LOOKED), disturbed)), looks=3)


SLOWER, FASTER, UNKNOWN = "slower", "faster", "unknown"
OF_SERIES = ("history", "history page", "feed", "badge", "data")  # outputs on one series
NOISY = [1.0, 1.2, 0.9, 1.1, 1.0, 1.3, 0.8, 1.0]
SETS = {
    "quiet": LaunchSet(times()),
    "slower": LaunchSet(times(copies(new_tensor=(2.0, 2.5))), {"new_tensor": SLOWER}),
    "faster": LaunchSet(times(copies(new_tensor=(2.0, 1.5))), {"new_tensor": FASTER}),
    "slower and faster": LaunchSet(
        times(copies(new_tensor=(2.0, 2.5), tensor=(2.0, 3.5), clone_detach=(1.5, 1.2))),
        {"new_tensor": SLOWER, "tensor": SLOWER, "clone_detach": FASTER},
    ),
    "undecided": LaunchSet(
        times(copies(new_tensor=([1.0] * 8, NOISY), tensor=([2.0] * 8, [2.058] * 8)), launches=8), {"new_tensor": UNKNOWN}
    ),
    "likely": LaunchSet(
        times(
            {f"{COPY} made_{number} 16": {A: 1.0, B: 1.0} for number in range(20)}
            | {f"{COPY} tensor 1048576": {A: [100.0] * 3, B: [120.0, 130.0, 125.0]}},
            launches=3,
        ),
        {"tensor 1048576": "likely slower"},
    ),
    "accepted": LaunchSet(
        _declared(f'[[accepted]]\ncase = "new_tensor"\nrelease = "{B}"\nwhy = "a check"\n', copies(new_tensor=(2.0, 2.5))),
        {"new_tensor": SLOWER},
        accepted={"new_tensor": "a check"},
    ),
    "a wide margin": LaunchSet(
        _declared('[margin]\n"new_tensor" = 40\n', copies(new_tensor=(2.0, 2.5), tensor=(2.0, 2.5))), {"tensor": SLOWER}
    ),
    "failed after": LaunchSet(times(copies(new_tensor=(2.0, ERROR))), {"new_tensor": UNKNOWN}),
    "failed before": LaunchSet(times(copies(new_tensor=(ERROR, 2.0))), {"new_tensor": UNKNOWN}),
    "failed on both sides": LaunchSet(times(copies(new_tensor=(ERROR, ERROR))), {"new_tensor": UNKNOWN}),
    "skipped": LaunchSet(times(copies(new_tensor=(2.0, None))), {"new_tensor": UNKNOWN}),
    "only on one side": LaunchSet(_only_on_one_side, {"new_tensor": UNKNOWN, "clone": UNKNOWN}),
    "tracked values": LaunchSet(
        _tracked,
        {
            "several.track_exact": "higher",
            "several.track_equal": "equal",
            "several.track_once": UNKNOWN,
            "several.track_rate": "lower",
            "several.track_varies": UNKNOWN,
        },
    ),
    "two Pythons": LaunchSet(
        times(copies("2.8.0@3.9", "2.8.0@3.11", new_tensor=(2.0, 2.5))),
        {"new_tensor": SLOWER},
        ("2.8.0@3.9", "2.8.0@3.11"),
        ("asv compare", "page", *OF_SERIES),
    ),
    "one launch": LaunchSet(times(copies(new_tensor=(2.0, 2.5)), launches=1), dict.fromkeys(("new_tensor", *QUIET), UNKNOWN)),
    "two launches": LaunchSet(times(copies(new_tensor=(2.0, 2.5)), launches=2), dict.fromkeys(("new_tensor", *QUIET), UNKNOWN)),
    "a device": LaunchSet(
        times(
            {
                "copies.Throughput.time_copy clone_detach 1048576 cuda": {A: 9.0, B: 12.0},
                "copies.Throughput.time_copy tensor 1048576 cuda": {A: 9.0, B: 9.0},
                "copies.Throughput.time_copy new_tensor 1048576 cuda": {A: 2.0, B: 1.5},
            },
            **GPU,
        ),
        {"clone_detach 1048576": SLOWER, "new_tensor": FASTER},
    ),
    "own operations": LaunchSet(
        times({f"own.BySize.time_own {name} 16": {A: 1.0, B: after} for name, after in (("mine", 1.4), ("yours", 1.0))}), {"mine": SLOWER}
    ),
    "numpy 2": LaunchSet(
        _two_numpys, {"detach_numpy_copy": SLOWER}, (f"{B}@cuda", f"{B}@cuda-numpy2"), ("asv compare", "page", *OF_SERIES)
    ),
    "an interpreter": LaunchSet(
        _interpreter, {"new_tensor": SLOWER}, (f"{B}@cuda-interpreter", f"{B}@cuda"), ("asv compare", "page", *OF_SERIES)
    ),
    "two machines": LaunchSet(_two_machines, {"new_tensor": SLOWER}, (f"{A}@box", f"{B}@other"), ("asv compare", "page", *OF_SERIES)),
    "launches of one side each": LaunchSet(_alone, {"new_tensor": SLOWER}),
    "by way of the reference": LaunchSet(_by_way_of_others, {"new_tensor": SLOWER}, without=("badge",)),
    "counts": LaunchSet(_counted, {"new_tensor": SLOWER}),
    "a release between": LaunchSet(_gap, {"new_tensor": SLOWER}, (REFERENCE, A)),
    "two revisions": LaunchSet(
        _of_revisions,
        {"new_tensor": SLOWER},
        (f"{B}#base", f"{B}#head"),
        ("terminal", "every case", "explain", "markdown", "json", "csv", "asv compare", "page", *OF_SERIES),
    ),
    "looks that share alpha": LaunchSet(_looked_at, {"new_tensor": UNKNOWN}, looks=True),
    "unequal conditions": LaunchSet(_unequal("threads", 1), dict.fromkeys(("new_tensor", *QUIET), UNKNOWN)),
    "two timers": LaunchSet(_unequal("asv_runner", "0.2.1"), dict.fromkeys(("new_tensor", *QUIET), UNKNOWN)),
}


# What is read back


@dataclass(frozen=True)
class Number:
    """A printed number, and half of the unit of its last digit."""

    value: float
    half: float

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (int, float)) and abs(self.value - other) <= self.half + 1e-6 * max(1.0, abs(other))


def number(text: str, scale: float = 1.0, zero: float = 0.0) -> Number:
    """Return a printed number: "−1.77", "1.25"; `zero` plus `scale` times it."""
    digits = text.replace("−", "-").replace("+", "").replace(",", "").strip()
    decimals = len(digits.partition(".")[2]) if "e" not in digits else 0
    return Number(zero + scale * float(digits), scale * 0.5 * 10.0**-decimals)


def six(value: float | None) -> Number | None:
    """Return a number with six digits, as JSON and CSV have it."""
    return None if value is None else Number(value, 5e-6 * abs(value))


def share(text: str) -> Number:
    """Return the ratio of a change in percent: "+25.0" and 25.0 are 1.25."""
    return number(text, 0.01, 1.0)


def shares(low: str, high: str) -> tuple[Number, Number]:
    """Return the ratios of both ends of an interval in percent."""
    return share(low), share(high)


NOT_PRINTED: Any = object()  # an output does not print it of this case


@dataclass(frozen=True)
class Said:
    """What an output says of a case.

    verdicts : its verdict; several where a sign stands for several
    ratio : None where it says that there is none
    interval : of the ratio, or of a tracked value's difference
    within : the greatest change that the interval has
    difference : of a tracked value
    work : of the instructions: "20.0 % more", "equal"
    """

    verdicts: tuple[str, ...]
    ratio: Number | None = NOT_PRINTED
    interval: tuple[Number, Number] | None = NOT_PRINTED
    within: Number = NOT_PRINTED
    difference: Number = NOT_PRINTED
    work: str = NOT_PRINTED
    accepted: str = NOT_PRINTED


@dataclass(frozen=True)
class Output:
    """What an output says of launches.

    cases : by name
    lists : which verdicts it lists; all where empty
    counts : its numbers of cases by word; None where it has none
    fails : whether a slowdown makes it fail; None where it does not tell
    methods : the number of methods that are slower; None where it does not tell
    """

    cases: Mapping[str, Said] = field(default_factory=dict)
    lists: tuple[str, ...] = ()
    counts: Counter[str] | None = None
    fails: bool | None = None
    methods: int | None = None


SIGNED = r"[+−]?\d+\.\d"
WORK = re.compile(r"(?:(?P<more>[+−]?\d+\.\d) % )?(?P<word>more |fewer |equal |)instructions")
DECIDED = re.compile(r"(?P<verdict>slower|faster) by (?P<size>[\d.]+) %(?: \((?P<near>[\d.]+) to (?P<far>[\d.]+) %\))?")
UNDECIDED = re.compile(rf"(?P<word>unknown|likely slower|likely faster): (?P<low>{SIGNED}) to (?P<high>{SIGNED}) %; (about|over) \d+ more")
VALUE = re.compile(
    r"(?P<verdict>(?:likely )?(?:higher|lower)|equal|unknown)(?: by (?P<size>[\d.]+))?"
    r"[^(−+]*(?:\(?(?P<low>[+−][\d.]+) to (?P<high>[+−]?[\d.]+))?"
)
ACKNOWLEDGED = re.compile(r"; accepted: (.*)$")
CHANGED = ("slower", "faster", "higher", "lower")
LIKELY = tuple(f"likely {verdict}" for verdict in CHANGED)


def work_of(text: str) -> str:
    """Return what a text says of the instructions: "20.0 % more", "equal"; "" for nothing."""
    found = WORK.search(text)
    if not found:
        return ""
    sign = found["more"] or ""
    word = found["word"].strip() or ("fewer" if sign.startswith("−") else "more")
    return word if word == "equal" else f"{sign.strip('+−')} % {word}"


def of_sentence(text: str) -> Said:
    """Return what a sentence says: "slower by 25.0 % (24.4 to 25.6 %); 20.0 % more instructions"."""
    accepted = ACKNOWLEDGED.search(text)
    rest = {"work": work_of(text), "accepted": accepted[1] if accepted else ""}
    if found := DECIDED.match(text):
        sign = 0.01 if found["verdict"] == "slower" else -0.01
        ends = [Number(1 + sign * float(end), 0.0005) for end in (found["near"], found["far"])]
        low, high = sorted(ends, key=lambda end: end.value)
        return Said((found["verdict"],), Number(1 + sign * float(found["size"]), 0.0005), (low, high), **rest)
    if found := re.match(r"unchanged: within ±([\d.]+) %", text):
        return Said(("unchanged",), within=share(found[1]), **rest)
    if found := UNDECIDED.match(text):
        return Said((found["word"],), interval=shares(found["low"], found["high"]), **rest)
    if re.match(r"unknown: (failed|no result|only|too few|measured under|never)", text):
        return Said(("unknown",), interval=None, **rest)
    found = VALUE.match(text)
    assert found, text
    ends = (number(found["low"]), number(found["high"])) if found["low"] else None
    return Said((found["verdict"],), interval=ends, difference=number(found["size"]) if found["size"] else NOT_PRINTED)


def headline_of(text: str) -> Counter[str]:
    """Return the numbers of cases of a headline: "Time: 1 slower, 0 faster. Of 6 cases: 4 unchanged, 0 unknown, 1 failed."."""
    counts: Counter[str] = Counter()
    for first, total, rest in re.findall(r"(?:Time|Tracked values): (.*?)\..*?\sOf (\d+) cases?: (.*?)\.", text, re.DOTALL):
        assert len(first.split(", ")) == 2
        of_kind = Counter({word: int(figure) for figure, word in re.findall(r"(\d+) ([a-z ]+)", f"{first}, {rest}")})
        assert of_kind.total() == int(total), text
        counts += of_kind
    return counts


SIGNS = {"▲": ("slower",), "▼": ("faster",), "?": ("unknown", *LIKELY), "=": ("unchanged", "equal"), "△": ("higher",), "▽": ("lower",)}


def of_figures(sign: str, text: str) -> Said:
    """Return what a line of the terminal says: "2.03 µs → 2.54 µs   +25.0 % (+24.4 to +25.6 %)   +20.0 % instructions"."""
    accepted = ACKNOWLEDGED.search(text)
    rest = {"work": work_of(text), "accepted": accepted[1] if accepted else ""}
    if found := re.search(rf"({SIGNED}) % \(({SIGNED}) to ({SIGNED}) %\)", text):
        return Said(SIGNS[sign], share(found[1]), shares(found[2], found[3]), **rest)
    if found := re.search(rf"(?:(likely \w+): )?({SIGNED}) to ({SIGNED}) %; [~>]\d+ more", text):
        return Said((found[1] or "unknown",), interval=shares(found[2], found[3]), **rest)
    if sentence := re.search(r"\b(higher|lower|equal|unknown|likely \w+).*$", text):
        said = of_sentence(sentence[0])
        assert set(said.verdicts) & set(SIGNS[sign]), text
        return said
    raise AssertionError(text)


# The outputs


class Html(HTMLParser):
    """The rows of the tables of a page, its paragraphs and its list items, as text with the first link in each."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[tuple[str, list[tuple[str, str]]]] = []  # the class of the table, and cells
        self.parts: list[tuple[str, str, str]] = []  # tag and class, text, link
        self._open: list[list[str]] = []
        self._table = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        if tag == "table":
            self._table = named.get("class", "")
        elif tag == "tr":
            self.rows.append((self._table, []))
        elif tag in ("td", "th", "p", "li"):
            self._open.append([f"{tag} {named.get('class', '')}".strip(), "", ""])
        elif tag == "a" and self._open and not self._open[-1][2]:
            self._open[-1][2] = named.get("href", "").lstrip("./")
        elif tag == "small":
            self.handle_data(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th", "p", "li") and self._open:
            kind, text, link = self._open.pop()
            text = " ".join(text.replace("\u202f", " ").split())
            if tag in ("td", "th"):
                self.rows[-1][1].append((text, link))
            else:
                self.parts.append((kind, text, link))

    def handle_data(self, data: str) -> None:
        for each in self._open:
            each[1] += data


class Made:
    """A set of launches in a folder, and what the program knows of it."""

    def __init__(self, folder: Path, launch_set: LaunchSet) -> None:
        self.folder, self.set = folder, launch_set
        launch_set.write(folder / "results")

    @cached_property
    def campaign(self) -> Campaign:
        """The campaign of the folder."""
        return of_folder(self.folder)

    @cached_property
    def comparison(self) -> Comparison:
        """The answer: what the judge says."""
        results = self.folder / "results"
        if self.set.looks:
            return self._looked_at(results)
        if "#" in self.set.sides[0]:
            return comparisons.between(Question(*launch_files.load(results, *self.set.sides), self.campaign.rules))
        pair = select.pair(*self.set.sides, results, self.campaign.releases)
        return comparisons.between(Question(pair.before, pair.after, self.campaign.rules))

    def _looked_at(self, results: Path) -> Comparison:
        """Return what the looks of a measurement say that took these launches."""
        paths, seen = sorted(results.glob("*/*.json")), self.folder / "seen" / "box"
        seen.mkdir(parents=True)

        def take(look: int, _: object) -> bool:
            for path in paths[:look]:
                (seen / path.name).write_bytes(path.read_bytes())
            return len(paths) >= look

        def compared() -> Comparison:
            before, after = launch_files.load(seen.parent, *self.set.sides)
            return comparisons.between(Question(before, after, self.campaign.rules, planned_looks=len(looks)))

        looks = (*(look for look in now.LOOKS if look < len(paths)), len(paths))
        comparison = now.judge(looks, take, compared)
        assert comparison
        return comparison

    @cached_property
    def names(self) -> dict[str, Change]:
        """The change of each case by name."""
        return {case.name: change for case, change in self.comparison.changes.items()}

    @cached_property
    def content(self) -> Content:
        """The content of the site."""
        return render.content(self.campaign, reader.load_results(self.folder / "results", self.campaign.releases).results)

    @cached_property
    def templates(self) -> Any:
        """Those of the site."""
        return render.templates_of(self.content)

    @cached_property
    def machine(self) -> Any:
        """The one of the newer side."""
        return self.content.machine_of(self.after)

    @property
    def sides(self) -> tuple[Any, Any]:
        """Both sides, the earlier first."""
        return self.comparison.before, self.comparison.after

    @property
    def after(self) -> Any:
        """The newer side, as the site has it."""
        return next(each for each in self.content.machines[0].results if each.place == self.comparison.after.place)

    @cached_property
    def followed(self) -> dict[str, Case]:
        """The timed cases whose history compares the same two sides, by name: between them it may have a release that others lack."""
        followed = {}
        for case, history in self.machine.history.items():
            index = history.releases.index(self.after.version) if self.after.version in history.releases else 0
            is_measured = case.spec.timed and index and history.values[index] is not None and any(history.values[:index])
            if is_measured and [side.place for side in history.sides(index)] == [side.place for side in self.sides]:
                followed[case.name] = case
        return followed

    def by_link(self) -> dict[str, str]:
        """Return the name of the case of each address of a history."""
        return {self.machine.case_address(case): case.name for case in self.comparison.changes}


Run = Callable[..., tuple[int, str]]


def compare(made: Made, run: Run, *options: str) -> tuple[int, str]:
    """Return the exit code and the output of `tensorcopy compare`."""
    return run("compare", *made.set.sides, *options)


def level_is_named(made: Made, text: str) -> None:
    """Assert that a text names the level of its intervals where it is not the usual one."""
    note = f"{100 * (1 - made.comparison.question.alpha):.1f} % intervals: several looks at the launches share the 5 %"
    assert (note in text) is made.set.looks


def terminal(made: Made, run: Run) -> Output:
    """Read `compare`."""
    code, text = compare(made, run, "--fail-on", "slower")
    level_is_named(made, text)
    return Output(_lines_of(text), (*CHANGED, *LIKELY), headline_of(text), code == 1)


def every_case(made: Made, run: Run) -> Output:
    """Read `compare --all`."""
    code, text = compare(made, run, "--fail-on", "slower", "--all")
    return Output(_lines_of(text), (), headline_of(text), code == 1)


def _lines_of(text: str) -> dict[str, Said]:
    """Return the cases of a text for the terminal: on a line with a sign, and on the next one or behind the name the figures."""
    said, lines = {}, text.splitlines()
    for place, line in enumerate(lines):
        found = re.match(r"([▲▼=?△▽]) (\S+(?: [\w=]+)*)(?:   +(.*))?$", line)
        if found:
            said[found[2]] = of_figures(found[1], found[3] or lines[place + 1])
    return said


def explain(made: Made, run: Run) -> Output:
    """Read `compare --explain` of every case."""
    said = {}
    for name, change in made.names.items():
        text = compare(made, run, "--explain", name)[1]
        assert text.splitlines()[0] == name
        said[name] = of_sentence(text.splitlines()[2])
        if found := re.search(r"^ratio      ([\d.]+) \(", text, re.MULTILINE):
            assert number(found[1]) == change.ratio
        if found := re.search(r"^interval   ([\d.]+) to ([\d.]+) \(([\d.]+) %\)", text, re.MULTILINE):
            assert (number(found[1]), number(found[2])) == change.interval
            assert number(found[3], 0.01) == 1 - made.comparison.question.alpha
        else:
            assert not (change.timed and change.interval)
    return Output(said)


def markdown(made: Made, run: Run) -> Output:
    """Read `compare --format markdown`."""
    code, text = compare(made, run, "--format", "markdown", "--fail-on", "slower")
    return replace(_of_markdown(made, text), fails=code == 1)


def _of_markdown(made: Made, text: str) -> Output:
    """Read the tables of a comment, and the numbers of its headline and of its folds."""
    text = text.replace("&nbsp;", " ")
    level_is_named(made, text)
    said = {}
    for sign, name, ratio, sentence in re.findall(r"^\| (🔴 |🟢 |)`(.*?)` \|.*\|\s(\S*?) ?\| ([^|]*) \|$", text, re.MULTILINE):
        each = of_sentence(re.sub(r"\\|`", "", sentence))
        to_look_at = [verdict for verdict in each.verdicts if verdict in ("slower", "faster") and not each.accepted]
        assert [*filter(None, [{"🔴 ": "slower", "🟢 ": "faster"}.get(sign, "")])] == to_look_at
        printed = number(ratio.removesuffix("×")) if ratio else None
        said[name] = replace(each, ratio=printed if made.names[name].timed else NOT_PRINTED)
    folds = {title.split(" (")[0]: int(figure) for figure, title in re.findall(r"<summary>(\d+) (.*?)</summary>", text)}
    assert sum(folds.values()) + sum(set(each.verdicts) <= set(CHANGED) for each in said.values()) == len(said)
    counts = headline_of(text)
    assert folds.get("unchanged", 0) == counts["unchanged"]
    assert folds.get("failed", 0) == counts["failed"]
    assert folds.get("unknown", 0) + folds.get("not compared", 0) == counts["unknown"]
    return Output(said, (), counts)


def as_json(made: Made, run: Run) -> Output:
    """Read `compare --format json`."""
    code, text = compare(made, run, "--format", "json", "--fail-on", "slower")
    document, alpha = json.loads(text), made.comparison.question.alpha
    assert (document["alpha"], document["looks"]) == (pytest.approx(alpha), 3 if made.set.looks else 1)
    assert all(six(1 - alpha) == row["level"] for row in document["changes"] if row["time_low"])
    return Output({row["case"]: _of_row(row) for row in document["changes"]}, (), +Counter(document["counts"]), code == 1)


def _of_row(row: Mapping[str, Any]) -> Said:
    """Read a row of the JSON."""
    timed, count = row["metric"] == "time", row["count"]
    if not timed:
        interval = tuple(map(six, count["interval"])) if count and "interval" in count else None
        difference = Number(abs(count["after"] - count["before"]), 1e-5 * abs(count["after"])) if count else NOT_PRINTED
        return Said((_word_of(row, row["work_verdict"]),), interval=interval, difference=difference)
    interval = None if row["time_low"] is None else (six(row["time_low"]), six(row["time_high"]))
    work = ""
    if row["work_verdict"]:
        size = abs(row["instructions_ratio"] - 1)
        work = row["work_verdict"] if row["work_verdict"] == "equal" else f"{100 * size:.1f} % {row['work_verdict']}"
    return Said((_word_of(row, row["time_verdict"]),), six(row["time_ratio"]), interval, work=work, accepted=row["accepted"])


def _word_of(row: Mapping[str, Any], verdict: str) -> str:
    """Return the word of a row: its verdict, or what is likely where that is unknown."""
    assert verdict == "unknown" or not row["likely"]
    return f"likely {row['likely']}" if row["likely"] else verdict


def as_csv(made: Made, run: Run) -> Output:
    """Read `compare --format csv`: the columns of numbers, and the sentence."""
    text, said = compare(made, run, "--format", "csv")[1], {}
    for row in csv.DictReader(StringIO(text)):
        in_words = of_sentence(row["text"])
        if row["metric"] != "time":
            assert in_words.verdicts == (_word_of(row, row["work_verdict"]),)
            said[row["case"]] = in_words
            continue
        numbers = {name: float(row[name]) if row[name] else None for name in ("time_ratio", "time_low", "time_high")}
        interval = None if numbers["time_low"] is None else (six(numbers["time_low"]), six(numbers["time_high"]))
        assert in_words.verdicts == (_word_of(row, row["time_verdict"]),)
        assert in_words.work.split(" ")[-1] == row["work_verdict"]
        said[row["case"]] = replace(in_words, ratio=six(numbers["time_ratio"]), interval=interval)
    return Output(said)


def comment(made: Made, run: Run) -> Output:
    """Read the section of a pull request's comment."""
    comparison = made.comparison
    old, new = (made.campaign.releases.of(side.sha) for side in (comparison.before, comparison.after))
    assert old
    assert new
    names = [f"{each.version}" for each in (old, new)] if old != new else ["base", "head"]
    shas = ["f" * 40] * 2 if old != new else ["1" * 40, "f" * 40]
    sides = [revisions.Revision(release, "3.11", commit=sha, name=name) for release, sha, name in zip((old, new), shas, names, strict=True)]
    pair = RevisionPair(sides[0], sides[1], comparison)
    written = pull_request.document(PullRequest("1" * 40, "f" * 40, 8), [pair])
    folder = made.folder / "artifact"
    folder.mkdir(exist_ok=True)
    (folder / pr_comment.FILE).write_bytes(msgspec.json.encode(written))
    output = _of_markdown(made, pr_comment.section(folder, "", "cpu"))
    said = {name: replace(each, work=NOT_PRINTED) for name, each in output.cases.items()}  # nothing is counted for a pull request
    return replace(output, cases=said, fails=pull_request.exit_code([pair]) == 1)


def asv_compare(made: Made, run: Run) -> Output:
    """Read the table of `asv compare`, with the margin of `compare`."""
    values = {"version": 1, "project": "tensorcopy", "repo": "releases.toml", "dvcs": "torch-releases", "branches": ["releases"]}
    names = {"revision1": made.set.sides[0], "revision2": made.set.sides[1], "machine": None, "env_spec": None}
    text = run(lambda: comparing.compare(Config.from_json({**values, "environment_type": "release"}), Namespace(**names, **ASV)))[1]
    return Output(_of_asv(made, text))


ASV = {"factor": 1.03, "use_stats": True, "only_changed": False, "split": False, "sort": "default"}


def asv_continuous(made: Made, run: Run) -> Output:
    """Read the table of `asv continuous`, and what its exit code follows from."""
    launches = reader.load_results(made.folder / "results", made.campaign.releases).launches
    rows = comparing._lines(made.comparison, launches, "", Namespace(**ASV), "")
    text = run(lambda: comparing._print_changes(rows, (("a" * 40, "A"), ("b" * 40, "B")), Namespace(**ASV)))[1]
    fails_now = any(row.mark == "!" for row in rows)
    return Output(_of_asv(made, text), fails=None if fails_now else comparing._summary(rows)[0])


MARKS = {
    **{"+": ("slower",), "-": ("faster",), "!": ("unknown",), "?": ("unknown", *LIKELY)},
    **{" ": ("unchanged", "equal"), "^": ("higher",), "v": ("lower",)},
}


def _of_asv(made: Made, text: str) -> dict[str, Said]:
    """Read asv's table."""
    launches = reader.load_results(made.folder / "results", made.campaign.releases).launches
    names, said = {text: case.name for case, text in projection.names(launches).items()}, {}
    level = f"{100 * (1 - made.comparison.question.alpha):.3g} % interval"
    assert (f"Ratio ({level})" in text) is any(change.interval for change in made.names.values())
    for mark, ratio, last in re.findall(r"^\| ([+!?^v -]) +\|[^|]*\|[^|]*\| ~?(\S.*?) +\| (\S.*?) +\|$", text, re.MULTILINE):
        name, _, accepted = last.partition("; accepted: ")
        verdicts = MARKS[mark]
        found = re.fullmatch(r"([\d.]+)(?: \(([\d.]+) to ([\d.]+)\))?", ratio)
        interval = (number(found[2]), number(found[3])) if found and found[2] else None
        is_timed = made.names[names[name]].timed
        ratio = number(found[1]) if found else None
        said[names[name]] = Said(verdicts, ratio, interval if is_timed else NOT_PRINTED, accepted=accepted)
    return said


def page(made: Made, run: Run) -> Output:
    """Read the page of the comparison: its headline, its table of changes and that of every case."""
    address = made.content.comparison_address(
        *(next(each for each in made.content.machines[0].results if each.place == side.place) for side in made.sides)
    )
    assert address
    html = Html(render.text_of(made.templates, release_pairs._comparison_page(made.content, address)))
    by_link, said = made.by_link(), dict[str, Said]()
    counts = headline_of(" ".join(text for kind, text, _ in html.parts if kind in ("p lead", "p")))
    assert any("Intervals are at 98.3 %" in text for _, text, _ in html.parts) is made.set.looks
    tally = [cells for kind, cells in html.rows if kind.startswith("tally")]
    if tally:
        words = [text.partition(" ")[2] for text, _ in tally[1]]
        totals = {each: int(text.split(" ")[0]) for each, (text, _) in zip(words, tally[-1][1:]) if each not in ("more", "fewer", "equal")}
        timed = Counter(word(change) for change in made.names.values() if change.timed and change.reason not in release_pairs.APART)
        assert totals == {each: timed[each] for each in totals.keys() | timed.keys()}
    for kind, cells in html.rows:
        name = by_link.get(cells[0][1]) if cells else None
        if kind == "cells fit" and name:
            (text,) = [text for text, _ in cells[1:] if text]  # every method of a set has one size
            said[name] = _of_cell(text)
        elif kind == "judged" and name and made.names[name].timed:
            (_, _), (verdict, _), (change, _), (interval, _), *_ = cells
            low, high = interval.removesuffix(" %").split(" to ")
            said.setdefault(name, Said((verdict,)))
            listed = Said((verdict,), share(change.removesuffix(" %")), shares(low, high))
            agree(name, listed, made.names[name], "")
        elif kind == "judged" and name:
            said[name] = of_sentence(cells[4][0])
            assert cells[1][0].split(" ")[1] == said[name].verdicts[0]
    return Output(said, (), counts)


def _of_cell(text: str) -> Said:
    """Read a cell of the table of every case: "▲ +25.0 ±0.6 △ +20.0"."""
    found = re.fullmatch(rf"([▲▼?]?) ?(?:({SIGNED})(?: ± ?([\d.]+))?)?(?: ([△▽]) ({SIGNED}))?", text)
    assert found, text
    verdicts = SIGNS[found[1]] if found[1] else ("unchanged",)
    ratio = share(found[2]) if found[2] else NOT_PRINTED
    return Said(verdicts, ratio, NOT_PRINTED if found[3] else None, difference=number(found[3], 0.01) if found[3] else NOT_PRINTED)


def history(made: Made, run: Run) -> Output:
    """Read the changes of a release in `history --all`."""
    text = run("history", "--all")[1]
    part = text.partition(f"\ntorch {made.comparison.after.version}\n")[2].partition("\ntorch ")[0]
    said = {}
    for size, low, high, name in re.findall(rf"^    ({SIGNED}) % \(({SIGNED}) to ({SIGNED}) %\) +(\S.*)$", part, re.MULTILINE):
        said[name] = Said(("slower" if not size.startswith("−") else "faster",), share(size), shares(low, high))
    for size, name in re.findall(r"^    ([+−][\d.]+)(?: GB/s)?  +(several\S+)$", part, re.MULTILINE):
        said[name] = Said(("higher" if size.startswith("+") else "lower",), difference=number(size.strip("+−")))
    return Output({name: each for name, each in said.items() if name in made.names}, CHANGED)


def history_page(made: Made, run: Run) -> Output:
    """Read the row of the release on the page of each case: its change and its interval."""
    said = {}
    for name, case in made.followed.items():
        html = Html(render.text_of(made.templates, histories._case_page(made.content, made.machine, (), case)))
        row = next(
            (cells for kind, cells in html.rows if kind.startswith("releases") and cells[0][0] == made.comparison.after.version), None
        )
        found = row and re.match(rf"([▲▼]?) ?(?:slower |faster )?({SIGNED}) %(?: against [\d.]+)? ({SIGNED}) to ({SIGNED}) %", row[3][0])
        if found:
            verdicts = SIGNS[found[1]] if found[1] else ("unchanged", "unknown", *LIKELY)
            said[name] = Said(verdicts, share(found[2]), shares(found[3], found[4]))
            lead = " ".join(text for kind, text, _ in html.parts if kind.startswith(("p", "li")))
            in_words = re.search(rf"torch {re.escape(made.comparison.after.version)}: ({DECIDED.pattern})", lead)
            assert bool(in_words) is bool(found[1]), lead
            if in_words:
                agree(name, replace(of_sentence(in_words[1]), work=NOT_PRINTED, accepted=NOT_PRINTED), made.names[name], "")
    assert said.keys() == {name for name in made.followed if made.names[name].interval}
    return Output(said, lists=("none",))


def data(made: Made, run: Run) -> Output:
    """Read the row of the release of each case in the CSV of the machine."""
    said, after = {}, made.comparison.after
    for row in csv.DictReader(StringIO(data_files.machine_csv(made.machine))):
        if (row["torch"], row["environment"]) == (after.version, after.environment) and row["case"] in made.followed:
            assert six(float(row["value"])) == made.names[row["case"]].after
            verdicts = (row["time_verdict"],) if row["time_verdict"] else ("unchanged", "unknown", *LIKELY)
            ends = (number(row["time_low"]), number(row["time_high"])) if row["time_low"] else NOT_PRINTED
            ratio = Number(float(row["time_ratio"]), 0.0005) if row["time_ratio"] else NOT_PRINTED
            ends = tuple(Number(end.value, 0.0005) for end in ends) if ends is not NOT_PRINTED else ends
            of_counts = float(row["instructions_ratio"] or 1)
            work = f"{100 * abs(of_counts - 1):.1f} % {'more' if of_counts > 1 else 'fewer'}" if of_counts != 1 else "equal"
            said[row["case"]] = Said(verdicts, ratio, ends, work=work if row["instructions"] else "")
    assert said.keys() == made.followed.keys()
    return Output(said, lists=("none",))


def feed(made: Made, run: Run) -> Output:
    """Read the entries of a release in the feed of changes, with the largest changes of each."""
    version, said = made.comparison.after.version, {}
    names = {
        f"{made.machine.case_code(case)}, {circumstances(case)}": case.name
        for case, change in made.comparison.changes.items()
        if change.timed
    }
    number_of = Counter[str]()
    for entry in feedparser.parse(dict(feeds.feeds(made.content))[addresses.FEED].encode()).entries:
        begins = re.match(rf"torch {re.escape(version)} on \w+: ", entry.title)
        if not begins:
            continue
        verdict = next((word for word in ("slower", "faster") if f" {word}" in entry.title), "")
        if verdict:
            number_of[verdict] += int(entry.title.removeprefix(begins[0]).split(" ")[0])
        largest = entry.summary.partition("; largest: ")[2]
        for text, size, low, high in re.findall(rf"([^;]+) ({SIGNED}) % \(({SIGNED}) to ({SIGNED}) %\)(?:; |$)", largest):
            said[names[text]] = Said((verdict,), share(size), shares(low, high))
    assert number_of == Counter(each.verdicts[0] for each in said.values())
    return Output(said, CHANGED[:2])


def badge(made: Made, run: Run) -> Output:
    """Read the badge of open regressions."""
    text = data_files.badge(data_files.OPEN_LABEL, data_files.open_message(made.content.devices))
    found = re.findall(rf"(\d+) (?:method|benchmark)s? on torch {re.escape(made.comparison.after.version)} \(\w+\)[,<]", text)
    assert found, text
    return Output(lists=("none",), methods=sum(map(int, found)))


OUTPUTS: dict[str, Callable[[Made, Run], Output]] = {
    "terminal": terminal,
    "every case": every_case,
    "explain": explain,
    "markdown": markdown,
    "json": as_json,
    "csv": as_csv,
    "comment": comment,
    "asv compare": asv_compare,
    "asv continuous": asv_continuous,
    "page": page,
    "history": history,
    "history page": history_page,
    "data": data,
    "feed": feed,
    "badge": badge,
}


# The claim


def agree(name: str, said: Said, change: Change, accepted: str) -> None:
    """Assert that an output says of a case what the judge says; `accepted` : why its slowdown is known."""
    assert word(change) in said.verdicts, name
    if said.ratio is not NOT_PRINTED:
        assert (said.ratio is None) is (change.ratio is None), name
        assert said.ratio is None or said.ratio == change.ratio, name
    interval = change.interval if change.timed else change.count.interval if change.count else None
    if said.interval is not NOT_PRINTED:
        assert (said.interval is None) is (interval is None), name
        assert said.interval is None or said.interval == interval, name
    if said.within is not NOT_PRINTED:
        assert interval, name
        assert said.within == max(interval[1], 1 / interval[0]), name
    if said.difference is not NOT_PRINTED:
        if change.timed:
            assert interval, name
            assert said.difference == (interval[1] - interval[0]) / 2, name
        else:
            assert change.count, name
            assert said.difference == abs(change.count.after - change.count.before), name
    if said.work is not NOT_PRINTED:
        assert said.work == (sentences.count_text(change.count).removesuffix(" instructions") if change.count and change.timed else ""), (
            name
        )
    if said.accepted is not NOT_PRINTED:
        assert said.accepted == accepted, name


def counted(changes: Iterable[Change]) -> Counter[str]:
    """Return the numbers of cases by word, as a reader counts them: a failed case is not unknown, nor one on one side only."""
    words = {"failed_before": "failed", "failed_after": "failed", "only_before": "only before", "only_after": "only after"}
    return Counter(words.get(change.reason.value, word(change)) for change in changes)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Made]:
    """Return the function that makes a set, once."""
    known: dict[str, Made] = {}

    def make(name: str) -> Made:
        if name not in known:
            known[name] = Made(tmp_path_factory.mktemp("set"), SETS[name])
        return known[name]

    return make


def _pairs() -> Iterator[Any]:
    """Yield each set with each output that exists of it."""
    for name, launch_set in SETS.items():
        for output in OUTPUTS:
            if output not in launch_set.without:
                yield pytest.param(name, output, id=f"{name}-{output}")


@pytest.mark.parametrize(("name", "output"), [*_pairs()])
def test_every_output_says_the_same_of_the_same_launches(made, name, output, campaign_of_asv, monkeypatch, capsys):
    """The verdict, the size and the interval of each case, and the number of cases of each verdict."""
    one = made(name)
    monkeypatch.chdir(one.folder)
    monkeypatch.setenv("COLUMNS", "140")

    def run(*words: Any) -> tuple[int, str]:
        capsys.readouterr()
        code = words[0]() if callable(words[0]) else main(words)
        return code, capsys.readouterr().out

    read = OUTPUTS[output](one, run)
    accepted = one.set.accepted
    for case, said in read.cases.items():
        agree(case, said, one.names[case], next((why for part, why in accepted.items() if part in case), ""))
    if "none" not in read.lists:
        wanted = [case for case, change in one.names.items() if not read.lists or word(change) in read.lists]
        assert sorted(read.cases) == sorted(wanted)
    if read.counts is not None:
        assert read.counts == counted(one.names.values())
    slower = [case for case, change in one.comparison.changes.items() if change.verdict is Verdict.SLOWER]
    unknown = [case for case in slower if not any(part in case.name for part in accepted)]
    if read.fails is not None:
        assert read.fails is bool(unknown)
    if read.methods is not None:
        assert read.methods == len({(dict(case.parameters)["method"], case.device) for case in unknown})


@pytest.mark.parametrize("name", SETS)
def test_the_sets_are_what_their_names_say(made, name):
    """Each case has the verdict that its launches were made for."""
    one, expected = made(name), dict[str, str]()
    for case in one.names:
        part = next((part for part in SETS[name].verdicts if f" {part} " in f" {case.replace('numel=', '')} "), None)
        expected[case] = SETS[name].verdicts[part] if part else "unchanged"
    assert {case: word(change) for case, change in one.names.items()} == expected


def test_the_data_of_a_python_have_no_change_of_another(tmp_path):
    """What is slower on the newer Python alone has no verdict in the row of the older one with the same release."""
    cases = {"copies.BySize.time_copy tensor 16": {"2.4.1@3.9": 1.0, "2.8.0@3.9": 1.0, "2.4.1": 1.0, "2.8.0": 1.4}}
    launch_files.write(tmp_path, cases)
    (machine,) = render.content(of_folder(tmp_path), reader.load_results(tmp_path).results).machines
    rows = {(row["environment"], row["torch"]): row["time_verdict"] for row in csv.DictReader(StringIO(data_files.machine_csv(machine)))}
    assert rows == {("py3.11-cuda", "2.8.0"): "slower"} | dict.fromkeys(
        [("py3.11-cuda", "2.4.1"), ("py3.9-cuda", "2.4.1"), ("py3.9-cuda", "2.8.0")], ""
    )
