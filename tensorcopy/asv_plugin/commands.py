"""asv's commands: which of them mean something here, and which of their options."""

from __future__ import annotations

import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any

from asv.commands import Command, make_argparser
from asv.console import log
from asv.machine import Machine, MachineCollection
from asv.util import UserError, iter_subclasses

from tensorcopy.asv_plugin.repository import TorchReleases
from tensorcopy.campaign import Campaign
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import settings
from tensorcopy.worker.processes import ReportProgress

Act = Callable[[TorchReleases, Any, Namespace], int]  # of the releases, asv's configuration, and the options of a command

OF_ASV = ("machine", "quickstart")  # its own; the second reads no configuration, and so no plugin
NEXT = {  # what to type in place of a command without a meaning
    "check": "asv run --quick, which keeps no launch",
    "profile": "tensorcopy why CASE A B, which counts the functions that a case calls",
    "rm": "rm results/HISTORY/LAUNCH.json, a whole launch",
    "setup": "asv run, which installs what it needs",
    "update": "asv show: launches are never changed",
}
USED = {  # options that mean here what asv says, by command
    "run": {"range", "bench", "attribute", "machine", "env_spec", "quick", "dry_run", "skip_existing", "skip_existing_commits"},
    "continuous": {"base", "branch", "bench", "attribute", "machine", "env_spec", "quick", "factor", "split", "only_changed", "sort"},
    "compare": {"revision1", "revision2", "machine", "factor", "split", "only_changed", "sort"},
    "find": {"range", "bench", "machine", "invert"},
    "show": {"commit", "bench", "machine"},
    "publish": {"html_dir"},
    "gh-pages": {"no_push", "rewrite"},
    "preview": {"port", "browser", "html_dir"},
}
# options that change nothing: launches have every sample, in turns, and the table of releases is in this checkout
IDLE = {"record_samples", "append_samples", "interleave_rounds", "no_pull", "show_stderr", "verbose", "config", "skip_save", "details"}
INSTEAD = {
    "profile": "tensorcopy why CASE A B",
    "set_commit_hash": "-E interpreter:same",
    "attribute": "-a rounds=N, the number of launches",
    "skip_existing_successful": "--skip-existing-commits",
    "skip_existing_failed": "--skip-existing-commits",
}
NEEDED = {"compare": ["a", "b"], "continuous": ["a"], "find": ["a", "b"]}  # words that a command asks for


def own(read: Callable[[Path], Campaign], acts: Mapping[str, Act]) -> None:
    """Let commands of asv do what `acts` says by their names, and refuse the others; read : returns the campaign of a folder."""
    for command in iter_subclasses(Command):
        name = {"GithubPages": "gh-pages"}.get(command.__name__, command.__name__.lower())
        if name not in OF_ASV:
            command.run_from_conf_args = partial(_run, name, acts.get(name), read)


def _run(name: str, act: Act | None, read: Callable[[Path], Campaign], conf: Any, options: Namespace, **_: Any) -> int:
    """Do what a command means here.

    Raises TensorcopyError for a command or an option without a meaning, by comparing with asv's own defaults.
    """
    if act is None:
        allowed = ", ".join([*USED, "machine"])
        raise TensorcopyError(
            f"asv {name} has no meaning for launches", got=f"asv {name}", allowed=allowed, next=NEXT.get(name, "asv show")
        )
    usual = vars(make_argparser()[0].parse_args([name, *NEEDED.get(name, [])]))
    others = {each: value for each, value in vars(options).items() if each not in {*USED[name], *IDLE} and value != usual.get(each)}
    if attributes := {key: value for key, value in (getattr(options, "attribute", None) or {}).items() if key != "rounds"}:
        others["attribute"] = attributes
    if others:
        raise TensorcopyError(
            f"asv {name} has no such option for launches",
            got=", ".join(f"--{each.replace('_', '-')}{'' if value is True else f' {value}'}" for each, value in others.items()),
            allowed=", ".join(sorted(USED[name])).replace("_", "-").replace("env-spec", "environment"),
            next=INSTEAD.get(next(iter(others)), "leave it out"),
        )
    factor = getattr(options, "factor", 2.0)
    if not 1 < factor < inf:
        got, following = f"--factor {factor:g}", "leave --factor out: 1.1"
        raise TensorcopyError("no change is of this factor", got=got, allowed="more than 1, and finite", next=following)
    return act(TorchReleases(read(Path.cwd())), conf, options)


def fields(options: Namespace, folder: Path | None) -> dict[str, Any]:
    """Return the fields of a request that asv's options, its file of machines and the environment say. Raises TensorcopyError."""
    try:
        name = str(MachineCollection.load(Machine.get_unique_machine_name())["machine"])
        machine = settings.checked("the name in ~/.asv-machine.json", settings.machine_name, name)
    except (UserError, KeyError):
        machine = ""
    device = settings.variable("TENSORCOPY_DEVICE", settings.device_name, "")
    return {
        "selection": selection(options),
        "history": history(options),
        "machine": machine,
        "folder": folder,
        "device": device,
        "needs": settings.variable("TENSORCOPY_NEEDS", settings.device_name, device),
        "until": monotonic() + settings.variable("TENSORCOPY_FOR", settings.duration, inf),
    }


def selection(options: Namespace) -> str:
    """Return a regular expression on asv's names for the benchmarks that --bench selects. Raises TensorcopyError for an invalid one."""
    named = options.bench if isinstance(options.bench, list) else [options.bench] if options.bench else []
    return "|".join(f"(?:{settings.checked('--bench', settings.expression, each)})" for each in named)


def history(options: Namespace) -> str:
    """Return the history that --machine names; "" for none. Raises TensorcopyError."""
    return "" if options.machine is None else settings.checked("--machine", settings.machine_name, options.machine)


def rounds(options: Namespace, usual: int) -> int:
    """Return the number of launches. Raises TensorcopyError."""
    number = 1 if options.quick else (options.attribute or {}).get("rounds", usual)
    return settings.checked("-a rounds", settings.launch_count, str(number))


@contextmanager
def kept(options: Namespace, folder: Path | None) -> Iterator[Path | None]:
    """Yield the folder of launches, which is removed afterwards where they are not kept."""
    if options.quick or getattr(options, "dry_run", False):
        with tempfile.TemporaryDirectory() as temporary:
            yield Path(temporary)
    else:
        yield folder


def logged() -> ReportProgress:
    """Return a function that logs each new stage of a run."""
    stages = set[str]()

    def report_progress(done: float, doing: str) -> None:
        stage = doing.partition(": ")[0]
        if stage not in stages:
            stages.add(stage)
            log.info(stage)

    return report_progress
