"""What the workflows call, and any other forge can: `tensorcopy ci …`. Arguments, printing, exit codes."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from tensorcopy.ci.runners import DEVICES
from tensorcopy.cli.arguments import bar, expression, positive

ARTIFACT = Path("comparison")
RUNNERS = Path(".github/runners.toml")
PASSES = 10  # of either side of a pull request, which somebody waits for; what they flag is measured again


def add(commands: Any) -> None:
    """These commands, beside the others'."""
    family = commands.add_parser("ci", help="what the workflows call: measure a pull request, comment on it, open one, list the runners")
    actions = family.add_subparsers(required=True, metavar="ACTION")

    pull = actions.add_parser(
        "pull-request",
        help="measure two commits of this repository against each other; exit 1: slower, 2: a side failed, 3: nothing was compared",
    )
    pull.add_argument("--base", default="main", metavar="COMMIT", help="where the pull request goes; main by default")
    pull.add_argument("--head", default="HEAD", metavar="COMMIT", help="what it brings; HEAD by default")
    pull.add_argument("--release", default="", metavar="RELEASE", help="2.15.0; the newest that both know by default")
    pull.add_argument("--interpreter", default="", metavar="PYTHON", help='measure the torch that an interpreter has: "same", or a program')
    pull.add_argument("--device", choices=DEVICES, default="cpu", help="cpu by default; else only cases there")
    pull.add_argument("--passes", type=positive, default=PASSES, metavar="N", help=f"of either side; {PASSES} by default")
    pull.add_argument("--bench", type=expression, default="", metavar="REGEX", help="suites; all that are timed by default")
    pull.add_argument("--out", type=Path, default=ARTIFACT, metavar="FOLDER", help=f"for what was found; {ARTIFACT}/ by default")
    pull.set_defaults(command=_pull_request)

    say = actions.add_parser("comment", help="what is said under a pull request, from what pull-request has left in a folder")
    say.add_argument("artifact", type=Path, metavar="FOLDER", help="that folder, or the one it lies in; it is read as a stranger's")
    say.add_argument("--device", choices=DEVICES, default="cpu", help="on which was to be measured; cpu by default")
    say.add_argument("--post", action="store_true", help="say it on GitHub, in the place of what was said before (in comment.yml)")
    say.set_defaults(command=_comment)

    propose = actions.add_parser("propose", help="open a pull request with the files that changed, or let the one that is open grow")
    propose.add_argument("paths", nargs="+", metavar="PATH", help="what may have changed")
    propose.add_argument("--branch", required=True, metavar="NAME", help="its branch, begun anew at the present commit")
    propose.add_argument("--title", required=True, metavar="TEXT", help="of the commit and the pull request")
    propose.add_argument("--start", default="", metavar="WORKFLOW", help="start this workflow on it, such as pull-request.yml")
    propose.set_defaults(command=_propose)

    machines = actions.add_parser("runners", help=f"{RUNNERS} as the matrix of a job")
    machines.add_argument("--device", default="", metavar="DEVICE", help="only those with it")
    machines.set_defaults(command=_runners)


def _pull_request(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.asv_plugin import configuration
    from tensorcopy.ci import git, pull_request
    from tensorcopy.report.comparison import formats

    head = git.commit(options.head)
    request = pull_request.Request(
        base=git.fork_point(git.commit(options.base), head),
        head=head,
        passes=options.passes,
        suites=options.bench,
        release=options.release,
        interpreter=options.interpreter,
        device=options.device,
    )
    paths, outcomes = configuration.paths(), []
    with bar(Console(stderr=True, highlight=False)) as tell:
        for outcome in pull_request.run(request, paths, tell):
            outcomes.append(outcome)
            _keep(options.out, pull_request.document(request, outcomes))  # whatever happens to the next
    for outcome in outcomes:
        if outcome.comparison is not None:
            console.print(formats.terminal(outcome.comparison), soft_wrap=not console.is_terminal)
        for name, lines in outcome.failures.items():
            console.print(Text(f"{name} failed:"), *(Text(f"  {line}") for line in lines), sep="\n", soft_wrap=True)
    if not outcomes or not all(outcome.compared for outcome in outcomes):
        print("tensorcopy: nothing was compared: no case has enough passes on both sides", file=sys.stderr)
    return pull_request.exit_code(outcomes)


def _keep(folder: Path, document: dict[str, Any]) -> None:
    from tensorcopy.report.comparison import pr_comment
    from tensorcopy.results import files

    files.put(folder / pr_comment.FILE, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def _comment(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.report.comparison import pr_comment

    if not options.post:
        sys.stdout.write(pr_comment.body(options.device, pr_comment.section(options.artifact, "", options.device)) + "\n")
        return 0
    from tensorcopy.ci import github

    run = github.measured()
    text = pr_comment.section(options.artifact, run.address, options.device)
    console.print(github.comment(run, pr_comment.MARKER, lambda before: pr_comment.body(options.device, text, before)), soft_wrap=True)
    return 0


def _propose(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.ci import git, github

    if not git.publish(options.branch, options.title, options.paths):
        console.print(f"Nothing changed in {', '.join(options.paths)}")
        return 0
    text = "Made by a workflow of this repository. What it changes is produced by one command and checked by the tests."
    console.print(github.propose(options.branch, options.title, text, options.start), soft_wrap=True)
    return 0


def _runners(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.ci import runners

    matrix = json.dumps({"include": runners.matrix(runners.load(RUNNERS), options.device)})
    output = os.environ.get("GITHUB_OUTPUT")
    if output:
        with Path(output).open("a", encoding="utf-8") as file:
            file.write(f"matrix={matrix}\n")
    sys.stdout.write(matrix + "\n")
    return 0
