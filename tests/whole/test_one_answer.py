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
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from asv.config import Config

from tensorcopy.asv_plugin import reading
from tensorcopy.campaign import Campaign
from tensorcopy.ci import pull_request
from tensorcopy.cli import main
from tensorcopy.copying.shipped import of_folder
from tensorcopy.judge import comparisons
from tensorcopy.judge.comparisons import Comparison, Question, word
from tensorcopy.judge.paired import ALPHA, Change, Reason, Verdict
from tensorcopy.results import reader, select
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


@dataclass(frozen=True)
class LaunchSet:
    """Launches, and the question that is asked of them.

    write : writes them into a folder of results
    verdicts : by method or name of the case, those that are not unchanged
    sides : as `tensorcopy compare` takes them
    without : outputs that do not exist of such a pair
    accepted : by a part of their names, why the slowdowns of cases are known
    back : the slower methods that are back to an earlier level, which fail nothing
    """

    write: Callable[[Path], None]
    verdicts: Mapping[str, str] = field(default_factory=dict)
    sides: tuple[str, str] = (A, B)
    without: tuple[str, ...] = ()
    accepted: Mapping[str, str] = field(default_factory=dict)
    back: tuple[str, ...] = ()


def _of_revisions(results: Path) -> None:
    """Write launches of two revisions under one torch, for which slowdowns of the newer one are accepted with that torch."""
    launch_files.write(results, copies(f"{B}#base", f"{B}#head", new_tensor=(2.0, 3.0)))
    rows = f'[[accepted]]\ncase = "new_tensor"\nuntil = "{B}"\nwhy = "a check"\n'
    (results.parent / "tensorcopy.toml").write_text(rows, encoding="utf-8")


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
        _declared(f'[[accepted]]\ncase = "new_tensor"\nuntil = "{B}"\nwhy = "a check"\n', copies(new_tensor=(2.0, 2.5))),
        {"new_tensor": SLOWER},
        accepted={"new_tensor": "a check"},
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
    "by way of the reference": LaunchSet(_by_way_of_others, {"new_tensor": SLOWER}, without=("badge",)),
    "counts": LaunchSet(_counted, {"new_tensor": SLOWER}),
    "a release between": LaunchSet(_gap, {"new_tensor": SLOWER}, (REFERENCE, A)),
    "back to an earlier level": LaunchSet(
        times({**copies(tensor=(2.0, 1.6)), f"{COPY} new_tensor 16": {BETWEEN: 2.08, A: 2.0, B: 2.08}}, noise=0.002),
        {"new_tensor": SLOWER, "tensor": FASTER},
        without=("comment", "asv continuous"),  # which measure two sides, and know no release before
        back=("new_tensor",),
    ),
    "two revisions": LaunchSet(
        _of_revisions,
        {"new_tensor": SLOWER},
        (f"{B}#base", f"{B}#head"),
        ("terminal", "narrow terminal", "every case", "explain", "markdown", "json", "csv", "asv compare", "page", *OF_SERIES),
    ),
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
    sides : the value before and after; None where it says that there is none
    """

    verdicts: tuple[str, ...]
    ratio: Number | None = NOT_PRINTED
    interval: tuple[Number, Number] | None = NOT_PRINTED
    within: Number = NOT_PRINTED
    difference: Number = NOT_PRINTED
    work: str = NOT_PRINTED
    accepted: str = NOT_PRINTED
    sides: tuple[Number | None, Number | None] = NOT_PRINTED


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
DECIDED = re.compile(r"(?P<verdict>slower|faster) by (?P<size>[\d.]+) %(?: \((?P<near>[\d.]+) to (?P<far>[\d.]+) %\))?")
CHANGED = ("slower", "faster", "higher", "lower")
LIKELY = tuple(f"likely {verdict}" for verdict in CHANGED)
UNITS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
SIGNS = {"▲": ("slower",), "▴": ("slower",), "▼": ("faster",), "=": ("unchanged", "equal"), "△": ("higher",), "▽": ("lower",)}
NOT_DECIDED = {"?": ("unknown",), "✗": ("unknown",)}


def amount(text: str, *, timed: bool) -> Number | None:
    """Return a printed quantity, in seconds if it is a time: "2.04 µs", "2.5 GB/s"; None for an empty text."""
    figure, _, unit = text.partition(" ")
    return number(figure, UNITS[unit] if timed else 1.0) if figure else None


def of_cells(verdicts: tuple[str, ...], cells: Mapping[str, str], change: Change) -> Said:
    """Return what the cells of a row say of a case, by the titles of their columns; that without a title is a note."""
    note, size = cells.get("", ""), cells.get("change", "")
    likely = re.match(r"likely \w+", note)
    between = next((cell for title, cell in cells.items() if title.endswith(" interval")), "")
    ends = re.findall(r"[+−]?\d[\d.]*", between)
    if verdicts == ("unknown",) and likely:
        verdicts = (likely[0],)
    rest: dict[str, Any] = {
        "accepted": note.removeprefix("accepted: ") if note.startswith("accepted") else "",
        "sides": tuple(amount(cells.get(side, ""), timed=change.timed) for side in ("before", "after")),
    }
    if not change.timed:
        difference = number(size.strip("+−").split(" ")[0]) if size else NOT_PRINTED
        return Said(verdicts, interval=tuple(map(number, ends)) if ends else None, difference=difference, **rest)
    work = cells.get("instr.", "")
    rest["work"] = "equal" if work == "=" else f"{work.strip('+−')} {'fewer' if work.startswith('−') else 'more'}" if work else ""
    return Said(verdicts, share(size.removesuffix(" %")) if size else None, shares(*ends) if ends else None, **rest)


BACK = "back to an earlier level"
KINDS = {  # of the words of a heading and of the line below it
    **{BACK: "slower", "undecided": "unknown", "not compared": "unknown", "fails": "failed", "fail": "failed", "failed before": "failed"},
    **{word: word for word in (*CHANGED, *LIKELY, "unchanged", "equal", "only before", "only after")},
}


def counts_of(text: str) -> Counter[str]:
    """Return the numbers of cases of a heading and of the line below it: "1 of 6 cases slower (25.0 %), 1 faster, 1 fails"."""
    heading, below = re.split(r"\n{1,2}", f"{text}\n\n\n")[:2]
    answer = re.sub(r"\(.*?\)|\*", "", f"{heading.rpartition(': ')[2]}, {re.split('[.] (?=[A-Z0-9])', below)[0].removesuffix('.')}")
    total, counts = re.search(r"of (\d+) cases?", answer), Counter[str]()
    for many, text_of in re.findall(r"(\d+|none)(?: of \d+ cases?)? ([a-z ]+)", answer):
        if text_of.strip() in KINDS:
            counts[KINDS[text_of.strip()]] += 0 if many == "none" else int(many)
    assert total
    assert counts.total() == int(total[1]), text
    return +counts


# The outputs


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
        if "#" in self.set.sides[0]:
            return comparisons.between(Question(*launch_files.load(results, *self.set.sides), self.campaign.rules))
        loaded = reader.load_results(results, self.campaign)
        pair = select.pair(*self.set.sides, loaded, self.campaign.releases, command="tensorcopy compare")
        return comparisons.between(Question(pair.before, pair.after, self.campaign.rules))

    @cached_property
    def names(self) -> dict[str, Change]:
        """The change of each case by name."""
        return {case.name: change for case, change in self.comparison.changes.items()}


Run = Callable[..., tuple[int, str]]


def compare(made: Made, run: Run, *options: str) -> tuple[int, str]:
    """Return the exit code and the output of `tensorcopy compare`."""
    return run("compare", *made.set.sides, *options)


def level_is_named(made: Made, text: str) -> None:
    """Assert that a text names the level of its intervals, and why it is not the usual one where it is not."""
    assert ("95 % interval" in text.replace("&nbsp;", " ")) is any(change.interval or change.difference for change in made.names.values())


def terminal(made: Made, run: Run) -> Output:
    """Read `compare`, where a row has its whole name."""
    code, text = compare(made, run, "--fail-on", "slower")
    return Output(_lines_of(made, text), (*CHANGED, *LIKELY, *APART), counts_of(text), code == 1)


def narrow_terminal(made: Made, run: Run) -> Output:
    """Read `compare` in 80 columns, where names have what they share above them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        code, text = compare(made, run, "--fail-on", "slower")
    assert [line for line in text.splitlines() if len(line) > 80] == []
    return Output(_lines_of(made, text), (*CHANGED, *LIKELY, *APART), None, code == 1)


def every_case(made: Made, run: Run) -> Output:
    """Read `compare --all`."""
    code, text = compare(made, run, "--fail-on", "slower", "--all")
    level_is_named(made, text)
    return Output(_lines_of(made, text), (), counts_of(text), code == 1)


APART = ("failed", "only before", "only after")
TOKEN = re.compile(r"\S+(?: \S+)*")  # cells have two spaces between them


def _lines_of(made: Made, text: str) -> dict[str, Said]:
    """Return the cases of a text for the terminal: a sign, the name below what it shares with others, cells, and a note.

    A cell ends where its title does; a long name and a long note have lines of their own.
    """
    names = {frozenset(name.split()): name for name in made.names}
    _, header, table = re.split(r"^(  case .*)$", text, maxsplit=1, flags=re.MULTILINE) if "\n  case " in text else ("", "", "")
    ends = {token.end(): token[0] for token in TOKEN.finditer(header) if token[0] != "case"}
    rows: list[tuple[str, str, dict[str, str]]] = []
    above, is_row = "", False
    for line in table.splitlines():
        is_named = bool(re.match(r"\S ", line)) and line[0] in {**SIGNS, **NOT_DECIDED}
        tokens = [*TOKEN.finditer(line, 2)]
        cells = {ends[token.end()]: token[0] for token in tokens[is_named:] if token.end() in ends}
        others = [token[0] for token in tokens[is_named:] if token.end() not in ends]
        if is_named:
            is_row = True
            rows.append((line[0], f"{above if line[2:4] == '  ' else ''} {tokens[0][0]}", {**cells, "": " ".join(others)}))
        elif is_row and line.startswith("    ") and (cells or line.startswith("      ")):
            rows[-1][2].update(cells)
            rows[-1][2][""] = " ".join(filter(None, [rows[-1][2][""], *others]))
        else:
            is_row, above = False, line.partition(": ")[0]
    found = [(sign, names.get(frozenset(name.split()), ""), cells) for sign, name, cells in rows]
    assert [cells for _, name, cells in found if not name and "before" in cells] == []  # a mean has no sides
    return {name: of_cells({**SIGNS, **NOT_DECIDED}[sign], cells, made.names[name]) for sign, name, cells in found if name}


def explain(made: Made, run: Run) -> Output:
    """Read `compare --explain` of every case."""
    said = {}
    for name, change in made.names.items():
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("COLUMNS", "1000")
            text = compare(made, run, "--explain", name)[1]
        first, *lines = text.split("\n\n")[0].splitlines()
        cells: dict[str, str] = {"": "; ".join(line.strip() for line in lines if re.match(r"  (accepted|likely)", line))}
        if found := re.search(r"^  ratio ([\d.]+) \((.*?) → (.*?)\), (.*)$", text, re.MULTILINE):
            assert number(found[1]) == change.ratio
            cells |= {"before": found[2], "after": found[3], "change": found[4]}
        if found := re.search(r"^  ([\d.]+) % interval ([\d.]+) to ([\d.]+), (.*)$", text, re.MULTILINE):
            assert (number(found[2]), number(found[3])) == change.interval
            assert number(found[1], 0.01) == 1 - ALPHA
            cells[" interval"] = found[4]
        of_value = re.search(r"^  (\S.*?) → (.*?), ([+−]?\d\S*(?: \S+)?)(?:, [\d.]+ % interval (.*))?$", "\n".join(lines[1:]), re.MULTILINE)
        if not change.timed and (found := of_value):
            cells |= {"before": found[1], "after": found[2], "change": found[3], " interval": found[4] or ""}
        if found := re.search(r"^  instructions .* \((.*)\), beside the verdict", text, re.MULTILINE):
            cells["instr."] = found[1]
        verdict, _, is_back = first.removeprefix(f"{name}: ").partition(", ")
        assert is_back == (BACK if any(part in name for part in made.set.back) else "")
        each = of_cells((verdict,), cells, change)
        said[name] = each if cells.get("before") else replace(each, sides=NOT_PRINTED)
    return Output(said)


def markdown(made: Made, run: Run) -> Output:
    """Read `compare --format markdown`."""
    code, text = compare(made, run, "--format", "markdown", "--fail-on", "slower")
    level_is_named(made, text)
    return replace(_of_markdown(text, {name: name for name in made.names}, made.names), fails=code == 1)


EMOJI = {"🔴": ("slower",), "🟢": ("faster",), "❌": ("unknown",)}
FOLDS = {
    "back": ("slower",),
    "undecided": ("unknown",),
    "not": ("unknown",),
    "unchanged": ("unchanged",),
    "equal": ("equal",),
    "likely": ("unknown",),
}


def _of_markdown(text: str, names: Mapping[str, str], changes: Mapping[str, Change]) -> Output:
    """Read the tables of a comment: by their titles, and by the emoji of their rows."""
    text = text.replace("&nbsp;", " ").replace("&#62;", ">").replace("&#96;", "`").replace("\\", "")
    said, titles, title = {}, list[str](), ""
    for line in text.splitlines():
        if found := re.match(r"\*\*(.*)\*\*$|<details><summary>(.*)</summary>", line):
            title = found[1] or found[2]
        cells = [cell.strip() for cell in line.split("|")[1:-1]] if line.startswith("|") else []
        if cells and cells[0] == "case":
            titles = cells
        elif cells and "`" in cells[0] and title != "geometric mean of all":
            emoji, shown, _ = cells[0].split("`")
            name, by_title = names[shown], dict(zip(titles[1:], cells[1:], strict=True))
            kind = next((verdicts for word, verdicts in FOLDS.items() if word in title.split()[:2]), ("unknown",) if title else ())
            if not title:
                size = by_title.get("change", "")
                rises = ("slower",) if changes[name].timed else ("higher",)
                kind = EMOJI.get(emoji.strip()) or (rises if size.startswith("+") else ("lower",))
                is_quiet = by_title.get("", "").startswith("accepted") or not changes[name].timed
                assert bool(emoji) is not is_quiet, line
            said[name] = of_cells(kind, by_title, changes[name])
    folds = {fold: int(many) for many, fold in re.findall(r"<summary>(\d+) (\w+)", text)}
    counts = counts_of(text)
    assert folds.get("unchanged", 0) == counts["unchanged"]
    assert folds.get("undecided", 0) + folds.get("not", 0) == counts["unknown"]
    return Output(said, (), counts)


def as_json(made: Made, run: Run) -> Output:
    """Read `compare --format json`."""
    code, text = compare(made, run, "--format", "json", "--fail-on", "slower")
    document = json.loads(text)
    assert document["alpha"] == ALPHA
    assert all(row["level"] == 1 - ALPHA for row in document["rows"] if row["low"])
    assert document["counts"] == Counter(row["verdict"] for row in document["rows"])
    assert {row["case"].split()[1] for row in document["rows"] if row["back"]} == {*made.set.back}
    assert document["back"] == len(made.set.back)
    return Output({row["case"]: _of_row(row) for row in document["rows"]}, (), None, code == 1)


def _of_row(row: Mapping[str, Any]) -> Said:
    """Read a row of the JSON."""
    assert row["verdict"] == "unknown" or not row["likely"]
    verdicts = (f"likely {row['likely']}" if row["likely"] else row["verdict"],)
    sides = six(row["before"]), six(row["after"])
    if row["metric"] != "time":
        interval = tuple(map(six, row["count_interval"])) if row["count_interval"] else None
        values = row["count_before"], row["count_after"]
        difference = Number(abs(values[1] - values[0]), 1e-5 * abs(values[1])) if row["count_unit"] else NOT_PRINTED
        return Said(verdicts, interval=interval, difference=difference, sides=sides)
    interval = None if row["low"] is None else (six(row["low"]), six(row["high"]))
    work = ""
    if row["count_unit"]:
        size = abs(row["count_ratio"] - 1)
        work = row["count_verdict"] if row["count_verdict"] == "equal" else f"{100 * size:.1f} % {row['count_verdict']}"
    return Said(verdicts, six(row["ratio"]), interval, work=work, accepted=row["accepted"], sides=sides)


NUMBERS = ("before", "after", "ratio", "low", "high", "count_before", "count_after", "count_ratio")


def as_csv(made: Made, run: Run) -> Output:
    """Read `compare --format csv`, whose cells are those of the JSON."""
    said = {}
    for row in csv.DictReader(StringIO(compare(made, run, "--format", "csv")[1])):
        values = {name: float(row[name]) if row[name] else None for name in NUMBERS}
        said[row["case"]] = _of_row({**row, **values, "count_interval": json.loads(row["count_interval"] or "null")})
    return Output(said)


def comment(made: Made, run: Run) -> Output:
    """Read the summary of a pull request's job, which is also its comment."""
    pair = pull_request.ComparedPair((), made.comparison, (), ())
    marker, _, text = pull_request.text([pair], "cpu").partition("\n")
    assert marker == "<!-- tensorcopy cpu -->"
    return replace(_of_markdown(text, {name: name for name in made.names}, made.names), fails=_fails(made, pull_request.exit_code([pair])))


def _fails(made: Made, code: int) -> bool | None:
    """Return whether an exit code tells of a slowdown; None where it tells that a case fails now."""
    return None if any(change.reason is Reason.FAILED_AFTER for change in made.names.values()) else code == 1


ASV = {"factor": 1.03, "only_changed": False, "split": False, "sort": "default"}


def asv_compare(made: Made, run: Run) -> Output:
    """Read the table of `asv compare`, with the margin of `compare`."""
    values = {"version": 1, "project": "tensorcopy", "repo": "releases.toml", "dvcs": "torch-releases", "branches": ["releases"]}
    names = {"revision1": made.set.sides[0], "revision2": made.set.sides[1], "machine": None}
    text = run(lambda: reading.compare(Config.from_json({**values, "environment_type": "release"}), Namespace(**names, **ASV)))[1]
    return Output(_lines_of(made, text), (), counts_of(text))


def asv_continuous(made: Made, run: Run) -> Output:
    """Read the table of `asv continuous`, and its exit code."""
    code, text = run(lambda: reading.print_comparison(made.comparison, Namespace(**ASV)))
    return Output(_lines_of(made, text), (), counts_of(text), _fails(made, code))


def history(made: Made, run: Run) -> Output:
    """Read the changes of a release in `history --all`."""
    text = run("history", "--all")[1]
    part = text.partition(f"\ntorch {made.comparison.after.version}\n")[2].partition("\n\n")[0]
    said = {}
    row = rf"^  (\S.*?)  +({'|'.join(CHANGED)})  +([+−][\d.]+)(?: %| GB/s)?(?:  +({SIGNED}) to ({SIGNED}) %)?(?:  .*)?$"
    for name, verdict, size, low, high in re.findall(row, part, re.MULTILINE):
        if name in made.names and made.names[name].timed:
            said[name] = Said((verdict,), share(size), shares(low, high))
        elif name in made.names:
            said[name] = Said((verdict,), difference=number(size.strip("+−")))
    return Output(said, CHANGED)


OUTPUTS: dict[str, Callable[[Made, Run], Output]] = {
    "terminal": terminal,
    "narrow terminal": narrow_terminal,
    "every case": every_case,
    "explain": explain,
    "markdown": markdown,
    "json": as_json,
    "csv": as_csv,
    "comment": comment,
    "asv compare": asv_compare,
    "asv continuous": asv_continuous,
    "history": history,
}


# The claim


def work_of(count: Change) -> str:
    """Return how a count changed: "20.0 % more", "equal"."""
    return f"{100 * abs(count.ratio - 1):.1f} % {count.verdict.value}" if count.changed else count.verdict.value


def agree(name: str, said: Said, change: Change, accepted: str) -> None:
    """Assert that an output says of a case what the judge says; `accepted` : why its slowdown is known."""
    assert word(change) in said.verdicts, name
    if said.ratio is not NOT_PRINTED:
        assert (said.ratio is None) is (change.ratio is None), name
        assert said.ratio is None or said.ratio == change.ratio, name
    interval = change.interval or change.difference
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
            assert change.counted, name
            assert said.difference == abs(change.after - change.before), name
    if said.work is not NOT_PRINTED:
        assert said.work == (work_of(change.count) if change.count else ""), name
    if said.sides is not NOT_PRINTED:
        assert said.sides == (change.before, change.after), name
    if said.accepted is not NOT_PRINTED:
        assert said.accepted == accepted, name


def counted(changes: Iterable[Change]) -> Counter[str]:
    """Return the numbers of cases by word, as a reader counts them: a failed case is not unknown, nor one on one side only."""
    return Counter(WORDS.get(change.reason.value, word(change)) for change in changes)


WORDS = {"failed_before": "failed", "failed_after": "failed", "only_before": "only before", "only_after": "only after"}


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
        words = {case: WORDS.get(change.reason.value, word(change)) for case, change in one.names.items()}
        wanted = [case for case, each in words.items() if not read.lists or each in read.lists]
        assert sorted(read.cases) == sorted(wanted)
    if read.counts is not None:
        assert read.counts == counted(one.names.values())
    slower = [case for case, change in one.comparison.changes.items() if change.verdict is Verdict.SLOWER]
    unknown = [case for case in slower if not any(part in case.name for part in (*accepted, *one.set.back))]
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
