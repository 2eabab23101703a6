"""Commands for workflows: ci pull-request, comment, unlabel, propose and runners."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from tensorcopy import files
from tensorcopy.cli import output
from tensorcopy.cli.arguments import campaign, path
from tensorcopy.cli.output import progress_bar
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure.settings import ENOUGH, duration, expression, launch_count
from tensorcopy.worker.devices import DEVICES

if TYPE_CHECKING:
    from rich.console import Console

    from tensorcopy.ci.pull_request import PullRequest, RevisionPair

ARTIFACT = Path("comparison")
SHA = re.compile(r"[0-9a-f]{40}")
BUDGET = "12m"  # people wait for the answer


def add(commands: Any) -> None:
    """Add these commands to the parser."""
    group = commands.add_parser("ci", help="measure a pull request, comment on it, open one, list the runners")
    actions = group.add_subparsers(required=True, metavar="ACTION")
    pull = actions.add_parser(
        "pull-request",
        help="measure two commits of this repository and compare them; exit 1: slower, 2: a commit failed, 3: nothing was compared",
    )
    pull.add_argument("--base", default="main", metavar="COMMIT", help="the commit to merge into; default: main")
    pull.add_argument("--head", default="HEAD", metavar="COMMIT", help="the commit to merge; default: HEAD")
    pull.add_argument("--release", default="", metavar="RELEASE", help="such as 2.15.0; default: the newest that both commits support here")
    pull.add_argument("--interpreter", default="", metavar="PYTHON", help='measure the torch of this Python: "same", a program or a path')
    pull.add_argument("--device", choices=DEVICES, default="cpu", help="measure only cases on this device; default: cpu")
    launches = f"at most N launches; they end as soon as every case is decided; default: {ENOUGH}"
    pull.add_argument("--launches", type=launch_count, default=ENOUGH, metavar="N", help=launches)
    budget = f"begin no launch after this time, and judge what there is; default: {BUDGET}"
    pull.add_argument("--for", type=duration, default=duration(BUDGET), dest="budget", metavar="TIME", help=budget)
    stored = "take no launch of base and head where some are stored, as by asv continuous"
    pull.add_argument("--stored", action="store_true", help=stored)
    pull.add_argument("--bench", type=expression, default="", metavar="REGEX", help="cases; default: every timed case")
    pull.add_argument("--out", type=path, default=ARTIFACT, metavar="FOLDER", help=f"folder for the results; default: {ARTIFACT}/")
    pull.set_defaults(command=_pull_request)

    comment = actions.add_parser("comment", help="write the comment for a pull request from the results of pull-request")
    comment.add_argument("artifact", type=path, metavar="FOLDER", help="the folder of results or its parent, read as untrusted")
    comment.add_argument("--device", choices=DEVICES, default="cpu", help="the measured device; default: cpu")
    comment.add_argument("--post", action="store_true", help="post the comment on GitHub, in place of the earlier one")
    comment.set_defaults(command=_comment)

    unlabel = actions.add_parser("unlabel", help="remove a label from the measured pull request")
    unlabel.add_argument("label", metavar="LABEL", help='such as "measure on gpu"')
    unlabel.set_defaults(command=_unlabel)

    propose = actions.add_parser("propose", help="open a pull request with the changed files, or update the open one")
    propose.add_argument("paths", nargs="+", metavar="PATH", help="files and folders that may have changed")
    propose.add_argument("--branch", required=True, metavar="NAME", help="the pull request's branch, replaced by a new one")
    propose.add_argument("--title", required=True, metavar="TEXT", help="title of the commit and the pull request")
    propose.add_argument("--push", action="store_true", help="push to the checked-out branch; a pull request only where that is refused")
    propose.add_argument("--start", default="", metavar="WORKFLOW", help="start this workflow on the branch, such as pull-request.yml")
    propose.set_defaults(command=_propose)

    runners = actions.add_parser("runners", help="print .github/runners.toml as the matrix of a job")
    runners.add_argument("--device", default="", metavar="DEVICE", help="only runners with this device")
    runners.set_defaults(command=_runners)


def _pull_request(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy import configuration
    from tensorcopy.ci import pull_request
    from tensorcopy.measure import git
    from tensorcopy.report import comparison

    start = monotonic()
    head = git.commit(options.head)
    request = pull_request.PullRequest(
        base=git.fork_point(git.commit(options.base), head),
        head=head,
        launches=options.launches,
        suites=options.bench,
        release=options.release,
        interpreter=options.interpreter,
        device=options.device,
    )
    named, of = (SHA.sub(lambda sha: sha[0][:8], name) for name in (options.head, options.base))
    console.print(f"base {request.base[:8]}: the last commit that {named} has in common with {of}", soft_wrap=True)
    with progress_bar() as report_progress:
        own, paths = campaign(), configuration.paths()
        pairs = pull_request.pairs(request, own, paths)
        measured: list[RevisionPair] = []
        _write(options.out, request, measured)
        for pair in pairs:
            is_stored = options.stored and pair.is_of_code
            until = start if is_stored else start + options.budget * (len(measured) + 1) / len(pairs)
            measured.append(pull_request.measured(pair, request, own, paths, until, report_progress))
            _write(options.out, request, measured)  # after each pair: a later one may fail
    for pair in measured:
        if pair.comparison is not None:
            report = comparison.report(pair.comparison)
            sections = [replace(each, limited=False) for each in report.sections if not each.folded]  # the comment has the others
            output.show(replace(report, sections=sections), console)
        if pair.note:
            console.print(pair.note, soft_wrap=True)
        for name, lines in pair.failures.items():
            console.print(f"{name} failed:", *(f"  {line}" for line in lines), sep="\n", soft_wrap=True)
    if not measured:
        console.print("nothing that is measured changed")
    elif not all(pair.compared for pair in measured):
        changes = [change for pair in measured if pair.comparison and not pair.compared for change in pair.comparison.changes.values()]
        output.print_line(f"nothing was compared: {comparison.reasons(changes) or 'a side has no result'}")
    return pull_request.exit_code(measured)


def _write(folder: Path, request: PullRequest, pairs: Sequence[RevisionPair]) -> None:
    import msgspec

    from tensorcopy.ci import pr_comment, pull_request

    text = msgspec.json.format(msgspec.json.encode(pull_request.document(request, pairs)), indent=1)
    files.replace(folder / pr_comment.FILE, text + b"\n")


def _comment(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.ci import pr_comment

    if not options.post:
        if not options.artifact.is_dir():
            following = "tensorcopy ci pull-request, which writes one"
            raise TensorcopyError("no such folder", got=str(options.artifact), allowed="a folder of results", next=following)
        sys.stdout.write(pr_comment.body(options.device, pr_comment.section(options.artifact, "", options.device)) + "\n")
        return 0
    from tensorcopy.ci import github

    run = github.measuring_run()
    failure: Exception | None = None
    try:
        section = pr_comment.section(options.artifact, run.address, options.device)
    except Exception as error:  # whatever it is, the comment of an earlier commit must not pass for this one's
        why = "The earlier comment is outdated: it belongs to another commit."
        section, failure = pr_comment.warning(f"The comment on {options.device} could not be made", why, run.address), error
    is_news = not section.startswith(pr_comment.NOTHING)
    sentence = github.comment(
        run, pr_comment.MARKER, lambda earlier: pr_comment.body(options.device, section, earlier) if earlier or is_news else ""
    )
    console.print(sentence, soft_wrap=True)
    if failure:
        raise failure
    return 0


def _unlabel(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.ci import github

    console.print(github.remove_label(github.measuring_run(), options.label), soft_wrap=True)
    return 0


def _propose(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.ci import github
    from tensorcopy.measure import git

    if not git.commit_changes(options.title, options.paths, "" if options.push else options.branch):
        console.print(f"Nothing changed in {', '.join(options.paths)}")
        return 0
    if options.push and (pushed := git.push()):
        console.print(f"pushed to {pushed}")
        return 0
    git.replace_branch(options.branch)
    text = "Opened by a workflow of this repository. The changes come from one command; the tests check them."
    console.print(github.propose(options.branch, options.title, text, options.start), soft_wrap=True)
    return 0


def _runners(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.projects import runners

    listed = runners.load() if files.is_there(runners.FILE) else [runners.Runner("github-hosted", ["ubuntu-24.04"])]
    matrix = json.dumps({"include": runners.matrix(listed, options.device)})
    output = os.environ.get("GITHUB_OUTPUT")
    if output:
        with Path(output).open("a", encoding="utf-8") as file:
            file.write(f"matrix={matrix}\n")
    sys.stdout.write(matrix + "\n")
    return 0
