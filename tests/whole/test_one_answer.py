"""One comparison, one answer: every output says the same of the same launches.

Every output of `OUTPUTS` is produced by the real commands, for the questions that `tests/fixed_folder.py` asks, and read back as text: its
verdicts, sizes and intervals are those of the judge, to the digits that are printed, and so are its numbers of cases by verdict.
`judge/test_recomputed.py` recomputes what the judge says.
"""

from __future__ import annotations

import csv
import json
import re
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from io import StringIO
from typing import Any

import pytest

from tensorcopy import configuration
from tensorcopy.asv_plugin import reading
from tensorcopy.ci import pull_request
from tensorcopy.cli import main
from tensorcopy.copying.shipped import of_folder
from tensorcopy.judge import comparisons
from tensorcopy.judge.comparisons import Question, word
from tensorcopy.judge.paired import ALPHA, Change, Reason, Verdict
from tensorcopy.numbers import quantity, signed_interval, signed_percent, tracked_difference
from tensorcopy.results import reader, select
from tests.fixed_folder import FIXED, QUESTIONS, A, B

BACK_AT = "copies.BySize new_tensor numel=256"  # of the fixed folder: the case that is back at an earlier level


class Asked:
    """A question about the launches of the fixed folder, and what the judge answers."""

    def __init__(self, name: str) -> None:
        self.words, _ = QUESTIONS[name]
        self.back = BACK_AT if name == "neighbours" else ""
        self.campaign = of_folder(FIXED)
        before, after, *options = self.words
        loaded, named = reader.load_results(FIXED / "results", self.campaign), dict(zip(options[::2], options[1::2]))
        history, device = named.get("--history", ""), named.get("--device", "")
        pair = select.pair(before, after, loaded, self.campaign.releases, history, device, command="tensorcopy compare")
        self.comparison = comparisons.between(Question(pair.before, pair.after, self.campaign.rules)).selected(device=pair.device)
        self.changes = {case.name: change for case, change in self.comparison.changes.items()}


# What is read back

Said = Mapping[str, Any]  # of a case, by a part of `expected`: those that an output has


@dataclass(frozen=True)
class Output:
    """What an output says of launches."""

    cases: Mapping[str, Said] = field(default_factory=dict)  # by name
    lists: tuple[str, ...] = ()  # the verdicts that it lists; all where empty
    counts: Counter[str] | None = None  # its numbers of cases by word; None where it has none
    fails: bool | None = None  # whether a slowdown makes it fail; None where it does not tell


def expected(change: Change) -> Said:
    """Return what is to be said of a case: the texts of a table, then the numbers of a document; "" and None where there is none."""
    size = interval = ""
    if change.timed:
        size = signed_percent(change.ratio) if change.ratio else ""
        interval = signed_interval(change.interval) if change.interval else ""
    elif change.counted:
        size = tracked_difference(change.after - change.before, change.unit)
        interval = " to ".join(tracked_difference(end, change.unit) for end in change.difference or ())
    texts = {
        "verdict": word(change),
        "before": "" if change.before is None else quantity(change.before, change.unit),
        "after": "" if change.after is None else quantity(change.after, change.unit),
        "change": size,
        "interval": interval,
        "instr.": "" if not change.count else signed_percent(change.count.ratio) if change.count.changed else "=",
        "accepted": change.accepted,
        "count_verdict": change.count.verdict.value if change.count else "",
    }
    numbers = {
        "from": change.before,
        "to": change.after,
        "ratio": change.ratio,
        "count_ratio": change.count.ratio if change.count else None,
        **dict(zip(("low", "high"), change.interval or change.difference or (None, None))),
    }
    return texts | {part: None if value is None else pytest.approx(value, rel=1e-5) for part, value in numbers.items()}


CHANGED = ("slower", "faster", "higher", "lower")
LIKELY = tuple(f"likely {verdict}" for verdict in CHANGED)
APART = ("failed", "only before", "only after")
SIGNS = {"▲": "slower", "▴": "slower", "▼": "faster", "=": "unchanged", "△": "higher", "▽": "lower", "?": "unknown", "✗": "unknown"}


def of_cells(verdict: str, cells: Mapping[str, str], change: Change) -> Said:
    """Return what the cells of a row say of a case, by the titles of their columns; that without a title is a note."""
    note, said = cells.get("", ""), {title: cells.get(title, "") for title in ("before", "after", "change")}
    likely = re.match(r"likely \w+", note)
    said["interval"] = next((cell for title, cell in cells.items() if title.endswith(" interval")), "")
    said["accepted"] = note.removeprefix("accepted: ") if note.startswith("accepted") else ""
    if change.timed:
        said["instr."] = cells.get("instr.", "")
    elif verdict == "unchanged":
        verdict = "equal"  # which have one sign
    return {**said, "verdict": likely[0] if verdict == "unknown" and likely else verdict}


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

Run = Callable[..., tuple[int, str]]


def terminal(asked: Asked, run: Run, *options: str) -> Output:
    """Read `compare`, where a row has its whole name; with --all every case, and then the interval of each that has one."""
    code, text = run("compare", *asked.words, "--fail-on", "slower", *options, columns=1000)
    assert not options or ("95 % interval" in text) is any(change.interval or change.difference for change in asked.changes.values())
    return Output(_lines_of(asked, text), () if options else (*CHANGED, *LIKELY, *APART), counts_of(text), code == 1)


def narrow_terminal(asked: Asked, run: Run) -> Output:
    """Read `compare` in 80 columns, where names have what they share above them."""
    columns = 80 if all(change.timed for change in asked.changes.values()) else 88  # an interval of a tracked value is wide
    text = run("compare", *asked.words, columns=columns)[1]
    assert [line for line in text.splitlines() if len(line) > columns] == []
    return Output(_lines_of(asked, text), (*CHANGED, *LIKELY, *APART))


TOKEN = re.compile(r"\S+(?: \S+)*")  # cells have two spaces between them


def _lines_of(asked: Asked, text: str) -> dict[str, Said]:
    """Return the cases of a text for the terminal: a sign, the name below what it shares with others, cells, and a note.

    A cell ends where its title does; a long name and a long note have lines of their own.
    """
    names = {frozenset(name.split()): name for name in asked.changes}
    _, header, table = re.split(r"^(  case\b.*)$", text, maxsplit=1, flags=re.MULTILINE) if "\n  case" in text else ("", "", "")
    ends = {token.end(): token[0] for token in TOKEN.finditer(header) if token[0] != "case"}
    rows: list[tuple[str, str, dict[str, str]]] = []
    above, is_row = "", False
    for line in table.splitlines():
        is_named = bool(re.match(r"\S ", line)) and line[0] in SIGNS
        tokens = [*TOKEN.finditer(line, 2)]
        is_cell = [token.end() in ends and token[0][0] in "=+−0123456789" for token in tokens]
        cells = {ends[token.end()]: token[0] for token, fits in [*zip(tokens, is_cell)][is_named:] if fits}
        others = [token[0] for token, fits in [*zip(tokens, is_cell)][is_named:] if not fits]
        if is_named:
            is_row = True
            rows.append((line[0], f"{above if line[2:4] == '  ' else ''} {tokens[0][0]}", {**cells, "": " ".join(others)}))
        elif is_row and line.startswith("    ") and (cells or line.startswith("      ")):
            rows[-1][2].update(cells)
            rows[-1][2][""] = " ".join(filter(None, [rows[-1][2][""], *others]))
        else:
            is_row, above = False, line.partition(": ")[0]
    found = [(sign, names.get(frozenset(name.split()), ""), cells) for sign, name, cells in rows]
    assert all(name for _, name, _ in found)
    alarms = {name for sign, name, _ in found if sign == "▲"}
    assert [name for name in alarms if (name == asked.back and BACK in text) or asked.changes[name].accepted] == []
    return {name: of_cells(SIGNS[sign], cells, asked.changes[name]) for sign, name, cells in found}


def explain(asked: Asked, run: Run) -> Output:
    """Read `compare --explain` of every case: the lines of its numbers are those of the judge's."""
    said = {}
    for name, change in asked.changes.items():
        text = run("compare", *asked.words, "--explain", f"^{re.escape(name)}$", columns=1000)[1]
        first, _, *lines = text.split("\n\n")[0].splitlines()
        wanted, numbers = expected(change), list[str]()
        if change.timed and change.ratio:
            numbers.append(f"  ratio {change.ratio:.4g} ({wanted['before']} → {wanted['after']}), {wanted['change']}")
        if change.timed and change.interval:
            numbers.append("  95 % interval {:.3f} to {:.3f}, {}".format(*change.interval, wanted["interval"]))
        if wanted["change"] and not change.timed:
            between = f", 95 % interval {wanted['interval']}" if wanted["interval"] else ""
            numbers.append(f"  {wanted['before']} → {wanted['after']}, {wanted['change']}{between}")
        assert [line for line in lines if re.match(r"  (ratio|95 %|[^a-z].* → )", line)] == numbers
        verdict, _, is_back = first.removeprefix(f"{name}: ").partition(", ")
        assert is_back == (BACK if name == asked.back else "")
        work = re.search(r"^  instructions .* \((.*)\), beside the verdict", text, re.MULTILINE)
        note = next((line.strip() for line in lines if re.match(r"  (accepted|likely)", line)), "")
        cells = {"": note, "instr.": work[1] if work else ""}
        said[name] = {part: each for part, each in of_cells(verdict, cells, change).items() if part in ("verdict", "accepted", "instr.")}
    return Output(said)


def markdown(asked: Asked, run: Run) -> Output:
    """Read `compare --format markdown`."""
    code, text = run("compare", *asked.words, "--format", "markdown", "--fail-on", "slower")
    assert ("95 % interval" in text.replace("&nbsp;", " ")) is any(
        change.interval or change.difference for change in asked.changes.values()
    )
    return replace(_of_markdown(text, asked.changes), fails=code == 1)


EMOJI = {"🔴": "slower", "🟢": "faster", "❌": "unknown"}
FOLDS = {"back": "slower", "undecided": "unknown", "not": "unknown", "unchanged": "unchanged", "equal": "equal", "likely": "unknown"}


def _of_markdown(text: str, changes: Mapping[str, Change]) -> Output:
    """Read the tables of a comment: by their titles, and by the emoji of their rows."""
    text = text.replace("&nbsp;", " ").replace("&#62;", ">").replace("&#96;", "`").replace("\\|", "¦").replace("\\", "")
    said, titles, title = {}, list[str](), ""
    for line in text.splitlines():
        if found := re.match(r"\*\*(.*)\*\*$|<details><summary>(.*)</summary>", line):
            title = found[1] or found[2]
        cells = [cell.strip() for cell in line.split("|")[1:-1]] if line.startswith("|") else []
        if cells and cells[0] == "case":
            titles = cells
        elif cells and "`" in cells[0]:
            emoji, name, _ = cells[0].split("`")
            by_title = dict(zip(titles[1:], cells[1:], strict=True))
            kind = next((verdict for word, verdict in FOLDS.items() if word in title.split()[:2]), "unknown" if title else "")
            if not title:
                rises = "slower" if changes[name].timed else "higher"
                kind = EMOJI.get(emoji.strip()) or (rises if by_title.get("change", "").startswith("+") else "lower")
                is_quiet = by_title.get("", "").startswith("accepted") or not changes[name].timed
                assert bool(emoji) is not is_quiet, line
            assert not (title and emoji), line  # what is folded is no alarm
            said[name] = of_cells(kind, by_title, changes[name])
    folds = {fold: int(many) for many, fold in re.findall(r"<summary>(\d+) (\w+)", text)}
    counts = counts_of(text)
    assert folds.get("unchanged", 0) == counts["unchanged"]
    assert folds.get("undecided", 0) + folds.get("not", 0) == counts["unknown"]
    return Output(said, (), counts)


def as_json(asked: Asked, run: Run) -> Output:
    """Read `compare --format json`."""
    code, text = run("compare", *asked.words, "--format", "json", "--fail-on", "slower")
    document = json.loads(text)
    assert document["alpha"] == ALPHA
    assert all(row["level"] == 1 - ALPHA for row in document["rows"] if row["low"])
    assert document["counts"] == Counter(row["verdict"] for row in document["rows"])
    assert [row["case"] for row in document["rows"] if row["back"]] == [asked.back] * document["back"] == [asked.back] * bool(asked.back)
    return Output({row["case"]: _of_row(row) for row in document["rows"]}, (), None, code == 1)


def _of_row(row: Mapping[str, Any]) -> Said:
    """Read a row of the JSON."""
    assert row["verdict"] == "unknown" or not row["likely"]
    said = {"verdict": f"likely {row['likely']}" if row["likely"] else row["verdict"], "from": row["before"], "to": row["after"]}
    if row["metric"] == "time":
        said["count_verdict"] = row["count_verdict"] or ""  # CSV has no null
        return said | {part: row[part] for part in ("ratio", "low", "high", "accepted", "count_ratio")}
    return said | dict(zip(("low", "high"), row["count_interval"] or (None, None)))


NUMBERS = ("before", "after", "ratio", "low", "high", "count_before", "count_after", "count_ratio")


def as_csv(asked: Asked, run: Run) -> Output:
    """Read `compare --format csv`, whose cells are those of the JSON."""
    said = {}
    for row in csv.DictReader(StringIO(run("compare", *asked.words, "--format", "csv")[1])):
        values = {name: float(row[name]) if row[name] else None for name in NUMBERS}
        said[row["case"]] = _of_row({**row, **values, "count_interval": json.loads(row["count_interval"] or "null")})
    return Output(said)


def comment(asked: Asked, run: Run) -> Output:
    """Read the summary of a pull request's job, which is also its comment."""
    text, code = pull_request.answer(asked.comparison)
    return replace(_of_markdown(text, asked.changes), fails=_fails(asked, code))


def _fails(asked: Asked, code: int) -> bool | None:
    """Return whether an exit code tells of a slowdown; None where it tells that a case fails now."""
    return None if any(change.reason is Reason.FAILED_AFTER for change in asked.changes.values()) else code == 1


ASV = {"factor": 1.03, "only_changed": False, "split": False, "sort": "default"}


def asv_compare(asked: Asked, run: Run) -> Output:
    """Read the table of `asv compare`, with the margin of `compare`."""
    names = {"revision1": asked.words[0], "revision2": asked.words[1], "machine": None}
    text = run(lambda: reading.compare(asked.campaign, configuration.paths({}), Namespace(**names, **ASV)))[1]
    return Output(_lines_of(asked, text), (), counts_of(text))


def asv_continuous(asked: Asked, run: Run) -> Output:
    """Read the table of `asv continuous`, and its exit code."""
    code, text = run(lambda: reading.print_comparison(asked.comparison, Namespace(**ASV)))
    return Output(_lines_of(asked, text), (), counts_of(text), _fails(asked, code))


SIGNED = r"[+−]?\d+\.\d"


def history(asked: Asked, run: Run) -> Output:
    """Read the changes of a release in `history --all`, and those of each of its cases in the history of the case."""
    released = asked.comparison.after.version
    part = run("history", "--all")[1].partition(f"\ntorch {released}\n")[2].partition("\n\n")[0]
    said = {}
    row = rf"^  (\S.*?)  +({'|'.join(CHANGED)})  +([+−][\d.]+(?: %| GB/s| nats)?)(?:  +({SIGNED} to {SIGNED} %))?(?:  .*)?$"
    for name, verdict, size, interval in re.findall(row, part, re.MULTILINE):
        if name in asked.changes:
            said[name] = {"verdict": verdict, "change": size} | ({"interval": interval} if asked.changes[name].timed else {})
        if name in asked.changes and asked.changes[name].timed:
            of_case = run("history", f"^{re.escape(name)}$")[1]
            (again,) = re.findall(rf"^{re.escape(released)} .* [▲▴▼] (\S+ %) +(\S+ to \S+ %)", of_case, re.MULTILINE)
            assert again == (size, interval), name
    return Output(said, CHANGED)


OUTPUTS: dict[str, Callable[[Asked, Run], Output]] = {
    "terminal": terminal,
    "narrow terminal": narrow_terminal,
    "every case": lambda asked, run: terminal(asked, run, "--all"),
    "explain": explain,
    "markdown": markdown,
    "json": as_json,
    "csv": as_csv,
    "comment": comment,
    "asv compare": asv_compare,
    "asv continuous": asv_continuous,
    "history": history,
}
OF_RELEASES = ("terminal", "narrow terminal", "every case", "markdown", "json", "csv")
OF_CASES = (*OF_RELEASES, "explain")  # which takes a command for each case
OF_SIDES = (*OF_CASES, "comment", "asv continuous")  # which are told two sides, and so no release before them
ONLY = {"neighbours": tuple(OUTPUTS), "by way of others": OF_CASES, "never met": OF_SIDES, "a device": OF_SIDES}  # others: OF_RELEASES
PAIRS = [(name, output) for name in QUESTIONS for output in ONLY.get(name, OF_RELEASES)]
ask = cache(Asked)


# The claim


WORDS = {"failed_before": "failed", "failed_after": "failed", "only_before": "only before", "only_after": "only after"}


@pytest.mark.parametrize(("name", "output"), PAIRS, ids=lambda value: value)
def test_every_output_says_the_same_of_the_same_launches(fixed, name, output, monkeypatch, capsys):
    """The verdict, the size and the interval of each case, and the number of cases of each verdict."""
    asked = ask(name)

    def run(*words: Any, columns: int = 140) -> tuple[int, str]:
        monkeypatch.setenv("COLUMNS", str(columns))
        capsys.readouterr()
        code = words[0]() if callable(words[0]) else main(words)
        return code, capsys.readouterr().out

    read = OUTPUTS[output](asked, run)
    for case, said in read.cases.items():
        wanted = expected(asked.changes[case])
        assert said == {part: wanted[part] for part in said}, case
    words = {case: WORDS.get(change.reason.value, word(change)) for case, change in asked.changes.items()}
    assert sorted(read.cases) == sorted(case for case, each in words.items() if not read.lists or each in read.lists)
    assert read.counts in (None, Counter(words.values()))
    news = [
        case for case, change in asked.changes.items() if change.verdict is Verdict.SLOWER and not change.accepted and case != asked.back
    ]
    assert read.fails in (None, bool(news))


@pytest.fixture
def fixed(monkeypatch):
    """The fixed folder as the current one."""
    monkeypatch.chdir(FIXED)
    monkeypatch.setenv("COLUMNS", "1000")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((A, B), 2),  # a case fails with the newer one
        ((A, B, "--case", "numel=16$"), 0),
        ((A, B, "--case", "numel=16$", "--fail-on", "slower"), 1),
        ((A, B, "--case", "empty_like_copy numel=16$", "--fail-on", "slower"), 0),  # accepted
        ((A, B, "--case", BACK_AT, "--fail-on", "slower"), 0),  # no news
        ((A, B, "--case", "track_loss", "--fail-on", "slower"), 0),  # a value is neither slower nor faster
        ((A, B, "--case", "track_varies"), 0),  # undecided, and compared
        ((A, B, "--case", "track_once"), 3),  # of one launch: nothing was compared
        (("2.11.0", B, "--case", "copies.BySize tensor numel=16$"), 3),  # which never met
        ((A, B, "--device", "cuda", "--case", "new_tensor", "--fail-on", "slower"), 0),
        ((A, "2.12.1"), 2),  # which was not measured
        ((f"{A}@mars", B), 2),
        ((f"nowhere:{A}", B), 2),
        ((A, B, "--device", "mps"), 2),
    ],
)
def test_the_exit_code_of_compare(fixed, capsys, words, code):
    """2: an error, also one of a case; 1: a case is slower, and that is news; 3: nothing was compared. Of both a line says why."""
    assert main(["compare", *words]) == code
    assert capsys.readouterr().err.startswith("tensorcopy: ") is (code in (2, 3) and words != (A, B))


def test_a_filter_selects_what_is_shown_and_not_what_is_judged(fixed, capsys):
    """One case has one verdict, however it is asked for: its p is adjusted for all cases of its device."""
    rows = []
    for options in ([], ["--case", "numel=16$"], ["--case", BACK_AT], ["--device", "cpu"]):
        main(["compare", A, B, "--format", "json", *options])
        rows.append({row["case"]: row for row in json.loads(capsys.readouterr().out)["rows"]})
    every, *selections = rows
    assert [len(each) > 0 and each == {name: every[name] for name in each} for each in selections] == [True] * 3


@pytest.mark.parametrize("form", ["text", "markdown", "json", "csv", "history"])
def test_a_case_that_fails_is_named_with_its_error(fixed, capsys, form):
    """In every answer; in Markdown nothing of it is markup."""
    main(["history", "detach_clone numel=1048576"] if form == "history" else ["compare", A, B, "--format", form])
    said = "RuntimeError: no kernel \\| &#60;b&#62;" if form == "markdown" else "RuntimeError: no kernel | <b>"
    assert said in capsys.readouterr().out.replace("&nbsp;", " ")


def test_an_open_slowdown_is_accepted_by_the_release_since_which_it_is(fixed, capsys):
    """Whatever the newest one is."""
    assert main(["history", "--open", "--format", "json"]) == 0
    accepted = {row["case"]: row["accepted"] for row in json.loads(capsys.readouterr().out)["rows"] if row["accepted"]}
    assert accepted == {
        "copies.BySize empty_like_copy numel=16": "the price of a check",
        "conversions.BySize clone_detach_numpy numel=16": "it is slower since that one, and is to stay",
    }


def test_what_could_not_be_decided_is_not_called_no_change(fixed, capsys):
    """In the histories of one case and of all."""
    assert main(["history"]) == 0
    assert re.search(r"^\d+ of \d+ cases could not be decided with some release\.$", capsys.readouterr().out, re.MULTILINE)
    for name, said in (("detach_clone_numpy numel=16", False), ("tensor numel=1048576", True)):
        assert main(["history", f"BySize {name}$"]) == 0
        assert ("could not be decided" in capsys.readouterr().out) is said
