"""The command that measures the steps of a history again: confirm-history."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensorcopy.cli.arguments import pass_count, print_errors, print_wait, progress_bar

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from tensorcopy.errors import TensorcopyError
    from tensorcopy.measure.confirm_history import Confirmed
    from tensorcopy.results.confirmations import ReleasePair

FEWEST, AT_MOST = 3, 16  # passes of each release; `analysis.two_sample` and `analysis.confirmation` have the reasons


@dataclass(frozen=True)
class Selection:
    """The steps to confirm.

    machine : its name in results; "" for the one that is this host, or else for the one that measured last
    python : such as "3.11"; "" for all
    ranges : of the releases at which the steps are, such as "2.10.."; all if empty
    passes : the most to take of each release
    """

    machine: str = ""
    python: str = ""
    ranges: Sequence[str] = ()
    passes: int = AT_MOST


def add(commands: Any) -> None:
    """Add this command to the parser."""
    confirm = commands.add_parser(
        "confirm-history",
        help="measure each step of the history again, the release before and after in turns; resumes where it stopped",
    )
    confirm.add_argument(
        "releases", nargs="*", metavar="RANGE", help="only steps at 2.15.0, 2.10.., ..2.0.1 or 2.5.1..2.9.1; default: all releases"
    )
    confirm.add_argument("--machine", default="", metavar="NAME", help="its name in results; default: the one that is this host")
    confirm.add_argument("--python", default="", metavar="N.N", help="such as 3.11; default: all that were measured")
    confirm.add_argument(
        "--passes",
        type=partial(pass_count, fewest=FEWEST),
        default=AT_MOST,
        metavar="N",
        help=f"take at most N passes of each release; more than before also continues open steps; default: {AT_MOST}",
    )
    confirm.add_argument("--dry-run", action="store_true", help="only list the steps that are not confirmed")
    confirm.set_defaults(command=_confirm)


def _confirm(options: argparse.Namespace, console: Console) -> int:
    return confirm(Selection(options.machine, options.python, options.releases, options.passes), console, dry_run=options.dry_run)


def confirm(selection: Selection, console: Console, *, dry_run: bool = False, until: float = inf) -> int:
    """Measure the selected steps again, print the outcomes, and return the exit code.

    `measure` can end with it.

    until : when no further pair of releases begins, on the clock of `time.monotonic`

    Raises TensorcopyError.
    """
    from tensorcopy.analysis import confirmation
    from tensorcopy.asv_plugin import configuration
    from tensorcopy.measure import confirm_history

    paths = configuration.paths()
    pairs, problems = pending(paths.results, selection)
    print_errors(problems)
    if not pairs:
        console.print("no step is left to confirm")
        return 2 if problems else 0
    duration = sum(confirm_history.seconds(pair, paths) for pair in pairs)
    console.print(f"{_summary(pairs)} not confirmed yet (about {max(1, round(duration / 60))} min)", soft_wrap=True)
    if dry_run:
        console.print(_plan_table(pairs), soft_wrap=not console.is_terminal)
        return 2 if problems else 0
    confirm_history.require_host(pairs)
    with progress_bar() as report_progress:
        confirmed = confirm_history.confirm(
            pairs, paths, partial(confirmation.confirm, passes=selection.passes), report_progress, until, print_wait
        )
    print_errors(confirmed.problems)
    if confirmed.left:
        console.print(f"stopped at the end of its time: {_counted(confirmed.left, 'release pair')} of {len(pairs)} left to confirm")
    if confirmed.by_pair:
        console.print(_outcome_table(confirmed), soft_wrap=not console.is_terminal)
    return 2 if problems or confirmed.problems else 0


def pending(directory: Path, selection: Selection) -> tuple[list[ReleasePair], list[TensorcopyError]]:
    """Return the pairs of releases with steps to measure again, and an error for each damaged line or result that could have some.

    directory : of the results

    Raises TensorcopyError for a selection that matches no result.
    """
    from tensorcopy.analysis import confirmation
    from tensorcopy.measure import confirm_history
    from tensorcopy.releases import release_table
    from tensorcopy.results import confirmations, reader, select

    shas = {release.sha for text in selection.ranges or [".."] for release in release_table.select(text)}
    loaded = reader.load_results(directory)
    if not loaded.results and loaded.problems:
        raise loaded.problems[0]
    results = loaded.results
    machine = selection.machine or confirm_history.machine_here(results)
    newest = select.newest(results, machine=machine, python=selection.python)
    of_machine = [each for each in results if each.machine == newest.machine and selection.python in ("", each.python)]
    stored = confirmations.load(directory)
    pairs = confirmation.pending(of_machine, confirmations.latest(stored.confirmations), selection.passes)
    damaged = reader.concerning(loaded.problems, [newest.machine], [selection.python] if selection.python else [])
    return [pair for pair in pairs if pair.after.sha in shas], [*damaged, *stored.problems]


def _summary(pairs: Sequence[ReleasePair]) -> str:
    steps = sum(len(pair.expected) for pair in pairs)
    verb = "is" if steps == 1 else "are"
    return f"{_counted(steps, 'step')} of {_counted(len(pairs), 'release pair')} {verb}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _plan_table(pairs: Sequence[ReleasePair]) -> Table:
    from tensorcopy.report.tables import terminal_table

    rows = [[*_where(pair), str(len(pair.expected))] for pair in pairs]
    return terminal_table(["release", "previous", "Python", "cases"], rows, "lllr")


def _outcome_table(confirmed: Confirmed) -> Table:
    from tensorcopy.report.tables import terminal_table
    from tensorcopy.results.confirmations import Outcome

    rows = []
    for pair, outcomes in confirmed.by_pair:
        counts = Counter(each.outcome for each in outcomes)
        rows.append([*_where(pair), str(len(outcomes)), *(str(counts[outcome]) for outcome in Outcome)])
    return terminal_table(["release", "previous", "Python", "cases", *(outcome.value for outcome in Outcome)], rows, "lllrrrr")


def _where(pair: ReleasePair) -> tuple[str, str, str]:
    before, after = pair.releases
    return after, before, pair.after.python
