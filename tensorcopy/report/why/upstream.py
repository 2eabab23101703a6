"""A slowdown as an issue for PyTorch's tracker, in Markdown and in the order of its form.

Only a slowdown that an exact count or a repeat measurement shows is reported, and only with numbers of the results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tensorcopy.analysis import comparisons, confirmation
from tensorcopy.analysis.change_points import Step
from tensorcopy.analysis.confirmation import Status
from tensorcopy.analysis.series import CaseSeries
from tensorcopy.analysis.two_sample import CountPair, Verdict
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tensorcopy.report.numbers import duration, percent, signed_percent
from tensorcopy.report.sentences import BY_COUNT
from tensorcopy.report.tables import markdown_table
from tensorcopy.report.why import reproduction
from tensorcopy.report.why.cause import Cause
from tensorcopy.report.why.difference_text import case_text, named_text, number, sentence, signed, unique_names
from tensorcopy.results import related
from tensorcopy.results.confirmations import Confirmation, Key
from tensorcopy.results.passes import Case
from tensorcopy.results.profiles import profile_file
from tensorcopy.results.reader import Result

TRACKER = "https://github.com/pytorch/pytorch"
NEW_ISSUE = f"{TRACKER}/issues/new?template=bug-report.yml"
FUNCTIONS = 16  # rows of the table; the sentence below it has the share of all named ones


@dataclass(frozen=True)
class Slowdown:
    """A slowdown that may be reported.

    count : the instructions of both sides
    is_slower : whether the time is significantly slower too, and the count or a repeat measurement confirms it
    is_confirmed : whether a repeat measurement shows it
    series : the results of the same machine and Python, in order of release
    history : the full address of the page with the case's history; "" for none
    """

    cause: Cause
    count: CountPair
    is_slower: bool
    is_confirmed: bool
    series: tuple[Result, ...]
    history: str = ""


def slowdown(cause: Cause, results: Sequence[Result], by_key: Mapping[Key, Confirmation], history: str = "") -> Slowdown:
    """Return the change of a case as a slowdown. Raises TensorcopyError where it is none, or neither counted nor confirmed.

    results : all of them, which show how exact counts repeat
    by_key : the confirmations that count
    """
    change, case = cause.time, cause.case
    if change is None or case is None or change.count is None:
        raise _refused(cause, "no time and count of both sides")
    same = [result for result in results if result.series_key == cause.after.series_key]
    status = (
        confirmation.status_of(cause.before, cause.after, case, change.ratio, by_key, same) if change.ratio not in (None, 1.0) else None
    )
    is_counted = change.count.changed and change.count.ratio > 1
    is_confirmed = status is Status.CONFIRMED and (change.ratio or 1.0) > 1
    if status is Status.REJECTED:
        raise _refused(cause, "a step that fell when it was measured again")
    if not (is_counted or is_confirmed):
        raise _refused(cause, f"{signed_percent(change.count.ratio)} instructions, and a time that is {_time_word(cause)}")
    series = tuple(release_table.load().in_order(same))
    is_slower = _time_word(cause) == Verdict.SLOWER.value and status in (Status.CONFIRMED, Status.CONFIRMED_BY_COUNT)
    return Slowdown(cause, change.count, is_slower, is_confirmed, series, history)


def newest(by_case: Mapping[Case, CaseSeries], cases: Sequence[Case]) -> tuple[Result, Result] | None:
    """Return the sides of the newest step of these cases to more time or instructions; None without one.

    A step that later releases undid, by half or more, is left out. One whose functions were counted on both sides comes first.

    by_case : the history of each case, timed and counted
    cases : timed ones
    """
    counted = [count for case in cases if (count := related.counted_case(case))]
    histories = [by_case[case] for case in (*counted, *cases) if case in by_case]
    steps = [(history, step) for history in histories for step in history.steps if step.ratio > 1 and _stays(history, step)]
    releases = release_table.load()
    sides = [history.sides(step) for history, step in steps]

    def rank(pair: tuple[Result, Result]) -> tuple[bool, int, tuple[int, int]]:
        profiled = all(profile_file.path_of(side.path).exists() for side in pair)
        return profiled, releases.position(pair[1].sha), release_table.minor(pair[1].python)

    return max(sides, key=rank, default=None)


def _stays(history: CaseSeries, step: Step) -> bool:
    """Return whether more than half of an increase is left in the newest release."""
    newest_value = next(value for value in reversed(history.values) if value is not None)
    return newest_value**2 > step.before * step.after


def issue(report: Slowdown) -> str:
    """Return the issue in Markdown: its title, then the fields of the form."""
    cause = report.cause
    parts = [
        f"# {title(report)}",
        "### 🐛 Describe the bug",
        _what_changed(report),
        _releases(report),
        "#### Which functions",
        *_functions(cause),
        "#### To reproduce",
        f"```python\n{reproduction.script(cause).rstrip()}\n```",
        f"```sh\n{reproduction.command(cause.before)}\n{reproduction.command(cause.after)}\n```",
        _links(report),
        "### Versions",
        f"```\n{environment(cause.after)}\n```",
        "As recorded with the measurement, in the form of `python -m torch.utils.collect_env`.",
    ]
    return "\n\n".join(parts) + "\n"


def title(report: Slowdown) -> str:
    """Return the title: "`x.cpu()` takes 27 % more instructions since torch 2.10.0, and is 35 % slower"."""
    cause = report.cause
    since = f"since torch {comparisons.version(cause.after)}"
    slower = f"{_percent(cause.time.ratio)} slower" if cause.time and cause.time.ratio and report.is_slower else ""
    if report.count.changed and report.count.ratio > 1:
        return f"`{cause.code}` takes {_percent(report.count.ratio)} more instructions {since}{f', and is {slower}' if slower else ''}"
    return f"`{cause.code}` is {slower or 'slower'} {since}"


def _percent(ratio: float) -> str:
    return percent(ratio - 1, 0 if ratio >= 1.1 else 1)


def _what_changed(report: Slowdown) -> str:
    """Return what changed in sentences, with how each is known."""
    cause, count = report.cause, report.count
    before, after = map(comparisons.version, (cause.before, cause.after))
    call = f"A call of `{cause.code}` on the CPU ({case_text(cause.name)})"
    counted = f"{number(count.after)} instructions with torch {after} and {number(count.before)} with {before}"
    sentences = [f"{call} takes {counted} ({signed_percent(count.ratio)}), counted by valgrind."]
    change = cause.time
    if change and change.before and change.after and change.ratio:
        times = f"{duration(change.before)} → {duration(change.after)} ({signed_percent(change.ratio)})"
        if report.is_slower:
            again = " Both releases were measured again in turns, and the difference held." if report.is_confirmed else ""
            sentences.append(f"Its time rose too: {times}.{again}")
        else:
            sentences.append(f"Its time: {times}; the change is {_time_word(cause)}.")
    sentences.append(f"Measured on {_line(cause.after.provenance['cpu'])}, Python {cause.after.python}, with the default wheels.")
    return " ".join(sentences)


def _time_word(cause: Cause) -> str:
    """Return what the time alone shows: a verdict may be that of the count."""
    if cause.time is None:
        return "not measured"
    return Verdict.INCONCLUSIVE.value if cause.time.reason in BY_COUNT else cause.time.verdict.value


def _releases(report: Slowdown) -> str:
    """Return a table of the releases, from the one before the change's first to the newest."""
    case, shas = report.cause.case, [result.sha for result in report.series]
    assert case is not None  # `slowdown` refuses it
    first = max(0, shas.index(report.cause.before.sha) - 1) if report.cause.before.sha in shas else 0
    rows = []
    for result in report.series[first:]:
        timing, count = result.timings.get(case), related.count_of(result, case)
        commit = f"[{result.sha[:10]}]({TRACKER}/commit/{result.sha})"
        times = duration(timing.median) if timing else ""
        rows.append([comparisons.version(result), commit, times, number(count.value) if count else ""])
    return markdown_table(["torch", "commit", "time of a call", "instructions"], rows, "llrr")


def _functions(cause: Cause) -> list[str]:
    """Return the difference in one sentence, a table of its largest functions, and how much is named."""
    difference = cause.difference
    names = unique_names(difference.functions)
    rows = []
    for change in difference.named[:FUNCTIONS]:
        sides = number(change.before.calls), number(change.after.calls)
        numbers = number(change.before.own), number(change.after.own), signed(change.difference)
        name = names[change.function].replace("|", "\\|")  # GitHub ends a cell there, even within code
        rows.append([f"`{name}`", change.group, *numbers, " → ".join(dict.fromkeys(sides))])
    table = markdown_table(["function, without its callees", "group", "before", "after", "change", "calls"], rows, "llrrrr")
    return [f"Counted again by function: {sentence(difference)}", table, named_text(difference)]


def _links(report: Slowdown) -> str:
    """Return the links to the commits between both releases, and to the history."""
    before, after = report.cause.before, report.cause.after
    compare = f"Commits in between: {compare_address(before.sha, after.sha)}"
    return f"{compare}\nHistory of this call over releases: {report.history}" if report.history else compare


def compare_address(before: str, after: str) -> str:
    """Return the page of PyTorch's repository that compares two commits."""
    return f"{TRACKER}/compare/{before}...{after}"


def environment(result: Result) -> str:
    """Return a result's environment in the order and with the names of torch.utils.collect_env; what was not recorded is left out."""
    provenance = result.provenance
    hardware = provenance.get("hardware", {})
    sections = [
        [("PyTorch version", provenance["torch"]), ("CUDA used to build PyTorch", provenance.get("cuda"))],
        [("OS", provenance.get("os")), ("Libc version", str(provenance.get("libc", "")).replace(" ", "-"))],
        [("Python version", provenance["python"]), ("Is CUDA available", str("cuda" in provenance.get("accelerators", {})))],
        [
            ("CPU", " "),
            ("Architecture", provenance.get("arch")),
            ("CPU(s)", provenance.get("cores")),
            ("Model name", provenance["cpu"]),
            ("CPU family", hardware.get("family")),
            ("Model", hardware.get("model")),
            ("Stepping", hardware.get("stepping")),
        ],
    ]
    blocks = ["\n".join(f"{name}: {_line(value)}".rstrip() for name, value in rows if value) for rows in sections]
    libraries = f"Versions of relevant libraries:\n[pip3] numpy=={provenance['numpy']}\n[pip3] torch=={provenance['torch']}"
    return "\n\n".join([*blocks, libraries])


def _line(value: object) -> str:
    """Return a value of the results as text of one line, which opens or ends no block of Markdown."""
    return " ".join(str(value).replace("`", "'").split())


def _refused(cause: Cause, got: str) -> TensorcopyError:
    before, after = map(comparisons.version, (cause.before, cause.after))
    return TensorcopyError(
        "nothing to report",
        got=f"{cause.name} from torch {before} to {after}: {got}",
        allowed="a case that became slower, by an exact count or confirmed by a repeat measurement",
        next="tensorcopy compare A B lists the cases that became slower",
    )
