"""Commands before and after measuring: init, machine and merge."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensorcopy.cli import output
from tensorcopy.cli.arguments import RESULTS, print_warnings
from tensorcopy.worker.devices import DEVICES

if TYPE_CHECKING:
    from rich.console import Console


def add(commands: Any) -> None:
    """Add these commands to the parser."""
    init = commands.add_parser("init", help="begin a dashboard of your own operations or asv suites in this folder")
    init.add_argument("--name", default="", help="the project's name; default: the folder's")
    init.add_argument("--title", default="", help='the heading of its landing page; default: "NAME over torch releases"')
    init.add_argument("--suites", default="", metavar="FOLDER", help="an asv suite to time over torch releases, unchanged")
    init.set_defaults(command=_init)

    machine = commands.add_parser("machine", help="check driver, clocks, load and memory before measuring; exit 1 if the machine is unfit")
    machine.add_argument("--device", choices=DEVICES, default="cpu", help="default: cpu; cuda also checks the GPUs")
    machine.add_argument("--strict", action="store_true", help="treat warnings as failures")
    machine.set_defaults(command=_machine)

    merge = commands.add_parser("merge", help="merge folders of results, in any order; each pass is kept once")
    folders = "a folder of results with benchmarks.json, or a folder of such folders"
    merge.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help=folders)
    merge.add_argument("--into", type=Path, default=RESULTS, metavar="FOLDER", help=f"default: {RESULTS}/")
    merge.add_argument("--also", default="", metavar="BRANCH", help="also merge FOLDER from this branch of origin, if there is one")
    merge.set_defaults(command=_merge)


def _init(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.measure import new_project

    project, written = new_project.new_project(Path.cwd(), options.name, options.title, options.suites)
    console.print(f"{project.title}: wrote {', '.join(written)}", soft_wrap=True, markup=False, highlight=False)
    if new_project.is_below_repository(Path.cwd()):
        console.print(
            "GitHub reads workflows at the top of a repository only: docs/own-operation.md says how to move them there", soft_wrap=True
        )
    console.print("Next: tensorcopy measure 2.5.1 2.15.0 --passes 3, then asv publish")
    return 0


def _machine(options: argparse.Namespace, console: Console) -> int:
    from rich.table import Table
    from rich.text import Text

    from tensorcopy.measure import readiness
    from tensorcopy.measure.readiness import Level
    from tensorcopy.releases import environments, release_table
    from tensorcopy.worker import nvidia

    releases = () if environments.backend() else release_table.load()  # the table has the default wheels
    findings = readiness.findings(readiness.host(Path(".asv")), *nvidia.visible_gpus(), options.device, releases)
    table = Table(box=None, pad_edge=False, show_header=False)
    signs = {Level.OK: Text("ok"), Level.WARNING: Text("warning", "yellow"), Level.REFUSED: Text("refused", "red")}
    for finding in findings:
        table.add_row(signs[finding.level], Text(finding.subject), Text(finding.observed), Text(finding.advice))
    console.print(table, soft_wrap=not console.is_terminal)
    failing = (Level.WARNING, Level.REFUSED) if options.strict else (Level.REFUSED,)
    failures = [finding for finding in findings if finding.level in failing]
    for finding in failures:
        print(
            f"tensorcopy: this machine is unfit for measuring, {finding.subject}: {finding.observed}; next: {finding.advice}",
            file=sys.stderr,
        )
    return 1 if failures else 0


def _merge(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.asv_plugin import stamp
    from tensorcopy.ci import git
    from tensorcopy.results import merge

    with tempfile.TemporaryDirectory() as temporary:
        folders = list(options.folders)
        sha = git.fetch_branch(options.also) if options.also else ""
        if sha:
            branch = Path(temporary) / "branch"
            git.export(sha, branch, only=options.into.as_posix())
            folders.append(branch / options.into)
        merged = merge.merge(folders, options.into, stamp.summary, output.print_line)
    print_warnings(merged.warnings)
    console.print(f"{options.into}: {merged.new} results added, {merged.grown} extended, {merged.unchanged} unchanged", soft_wrap=True)
    return 0
