"""Commands for workflows: ci pull-request, runners and collect."""

from __future__ import annotations

import argparse
import json
import os
import secrets
import sys
from pathlib import Path
from time import monotonic
from typing import Any

from tensorcopy.cli import output
from tensorcopy.cli.arguments import add_command, campaign, results_folder
from tensorcopy.measure.settings import ENOUGH, duration
from tensorcopy.worker.devices import DEVICES

BUDGET = "12m"  # people wait for the answer


def add(commands: Any) -> None:
    """Add these commands to the parser."""
    text = "compare a pull request, list the machines that measure, collect what they have measured"
    actions = add_command(commands, "ci", text).add_subparsers(required=True, metavar="ACTION")
    text = "let two commits take turns and print how they compare; exit 1: slower or fails, 2: a commit failed, 3: nothing was compared"
    pull = add_command(actions, "pull-request", text, _pull_request)
    pull.add_argument("--base", default="main", metavar="COMMIT", help="the commit to merge into; default: main")
    pull.add_argument("--head", default="HEAD", metavar="COMMIT", help="the commit to merge; default: HEAD")
    pull.add_argument("--interpreter", default="", metavar="PYTHON", help='measure the torch of this Python: "same", a program or a path')
    pull.add_argument("--device", choices=DEVICES, default="cpu", help="only cases on this device; default: cpu, which measures all")
    budget = f"begin no launch after this time, and compare by what there is; default: {BUDGET}"
    pull.add_argument("--for", type=duration, default=duration(BUDGET), dest="budget", metavar="TIME", help=budget)

    add_command(actions, "runners", "print .github/runners.toml as the matrix of a job", _runners)

    collect = add_command(actions, "collect", "add the launches below a folder to the histories that they belong to", _collect)
    collect.add_argument("folder", type=Path, metavar="FOLDER", help="with folders of histories at any depth")
    collect.add_argument("--branch", default="", metavar="NAME", help="also add those of this branch of origin, if there is one")


def _pull_request(options: argparse.Namespace) -> int:
    from tensorcopy import configuration
    from tensorcopy.ci import pull_request
    from tensorcopy.measure import git
    from tensorcopy.measure.plan import Request
    from tensorcopy.report import table

    own, paths, start = campaign(), configuration.paths(), monotonic()
    head = git.commit(options.head)
    base = git.fork_point(git.commit(options.base), head)
    print(f"base {base[:8]}: the last commit that {options.head[:12]} has in common with {options.base[:12]}")
    device, answers = options.device.removeprefix("cpu"), list[tuple[str, int]]()
    with output.progress_bar(output.console()) as report_progress:
        pairs = pull_request.pairs(base, head, own, paths, options.interpreter)
        for number, pair in enumerate(pairs, 1):
            until = start + options.budget * number / len(pairs)
            asked = Request(pair, device=device, needs=device, most=ENOUGH, until=until)
            answers.append(pull_request.compared(asked, own, paths, report_progress))
    marker = f"<!-- tensorcopy {options.device} -->"  # by which the comment of a device is found again
    texts = [text for text, _ in answers] or ["### No file that is measured differs from the base\n"]
    text = table.cut("\n".join([marker, *texts]), table.LONGEST)
    sys.stdout.write(text)
    _append("GITHUB_STEP_SUMMARY", text)
    if answers:  # a comment that nothing has changed would be no news
        end = secrets.token_hex()  # unlike a fixed one, no line of the text can be it
        _append("GITHUB_OUTPUT", f"text<<{end}\n{text}\n{end}\n")
    return min((code for _, code in answers if code), default=0)  # a case that is slower or fails says most


def _append(variable: str, text: str) -> None:
    """Append to the file that GitHub names in an environment variable; to none elsewhere."""
    if os.environ.get(variable):
        with Path(os.environ[variable]).open("a", encoding="utf-8") as file:
            file.write(text)


def _runners(_: argparse.Namespace) -> int:
    from tensorcopy.ci import runners

    matrix = json.dumps({"include": runners.matrix()})
    _append("GITHUB_OUTPUT", f"matrix={matrix}\n")
    print(matrix)
    return 0


def _collect(options: argparse.Namespace) -> int:
    from tensorcopy.ci import new_results
    from tensorcopy.numbers import counted

    number = new_results.collect(options.folder, results_folder(), options.branch)
    print(f"{counted(number, 'file')} added to {os.path.relpath(results_folder())}")
    return 0
