"""asv's commands: which of them mean something here, and which of their options."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from functools import partial
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any

from asv.commands import Command, make_argparser
from asv.machine import Machine, MachineCollection
from asv.util import UserError, iter_subclasses

from tensorcopy import configuration
from tensorcopy.campaign import Campaign
from tensorcopy.configuration import Paths
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import settings
from tensorcopy.results import launches

Act = Callable[[Campaign, Paths, Namespace], int]  # of the options of a command

NEXT = {  # what to type in place of a command without a meaning
    "check": "asv run --quick, which adds nothing to a history",
    "profile": "tensorcopy why CASE A B, which counts the functions that a case calls",
    "rm": "rm results/HISTORY/LAUNCH.json, a whole launch",
    "setup": "asv run, which installs what it needs",
}
USED = {  # options that mean here what asv says, by command
    "run": {"range", "bench", "attribute", "machine", "env_spec", "quick"},
    "continuous": {"base", "branch", "bench", "attribute", "machine", "env_spec", "quick", "factor", "split", "only_changed", "sort"},
    "compare": {"revision1", "revision2", "machine", "factor", "split", "only_changed", "sort"},
    "find": {"range", "bench", "machine", "invert"},
    "show": {"commit", "bench", "machine"},
    "publish": {"html_dir"},
    "gh-pages": {"no_push", "rewrite"},
    "preview": {"port", "browser", "html_dir"},
}
OF_ALL = {"verbose", "config", "interleave_rounds"}  # sides take turns in any case
BETWEEN = {"factor": (1, inf), "port": (-1, 2**16)}  # numbers between which an option lies


def own(read: Callable[[Path], Campaign], acts: Mapping[str, Act]) -> None:
    """Let commands of asv do what `acts` says by their names, and refuse the others; read : returns the campaign of a folder."""
    for command in iter_subclasses(Command):
        name = {"GithubPages": "gh-pages"}.get(command.__name__, command.__name__.lower())
        if name != "machine":  # which is asv's own
            command.run_from_conf_args = partial(_run, name, acts.get(name), read)


def _run(name: str, act: Act | None, read: Callable[[Path], Campaign], conf: Any, options: Namespace, **_: Any) -> int:
    """Do what a command means here. Raises TensorcopyError for a command or an option without a meaning."""
    if act is None:
        what, allowed = f"asv {name} has no meaning for launches", ", ".join([*USED, "machine"])
        raise TensorcopyError(what, got=f"asv {name}", allowed=allowed, next=NEXT.get(name, "asv show"))
    usual, used = make_argparser()[1].choices[name].get_default, USED[name] | OF_ALL
    others = {each: value for each, value in vars(options).items() if each not in used and value != usual(each)}
    if attributes := {key: value for key, value in (getattr(options, "attribute", None) or {}).items() if key != "rounds"}:
        others["attribute"] = attributes
    if others:
        got = ", ".join(f"--{each.replace('_', '-')}{'' if value is True else f' {value}'}" for each, value in others.items())
        allowed = ", ".join(sorted(USED[name])).replace("attribute", "-a rounds=N").replace("env_spec", "-E").replace("_", "-")
        raise TensorcopyError(f"asv {name} has no such option for launches", got=got, allowed=allowed, next="leave it out")
    for each, (low, high) in BETWEEN.items():
        if each in used and not low < getattr(options, each) < high:
            got, allowed = f"--{each} {getattr(options, each)}", f"more than {low}, less than {high}"
            raise TensorcopyError(f"invalid --{each}", got=got, allowed=allowed, next=f"leave --{each} out")
    if getattr(options, "machine", None):
        settings.checked("--machine", settings.machine_name, options.machine)
    html_dir = getattr(options, "html_dir", None) or conf.html_dir
    return act(read(Path.cwd()), configuration.paths({**vars(conf), "html_dir": html_dir}), options)


def fields(options: Namespace, paths: Paths) -> dict[str, Any]:
    """Return the fields of a request that asv's options, its file of machines and the environment say. Raises TensorcopyError."""
    try:
        name = str(MachineCollection.load(Machine.get_unique_machine_name())["machine"])
        machine = settings.checked("the name in ~/.asv-machine.json", settings.machine_name, name)
    except (UserError, KeyError):
        machine = ""
    device = settings.variable("TENSORCOPY_DEVICE", settings.device_name, "")
    return {
        "selection": selection(options),
        "history": options.machine or "",
        "machine": machine,
        # the launches of a quick answer are no part of a history
        "folder": paths.environments.parent / "now" / launches.new_id() if options.quick else None,
        "device": device,
        "needs": settings.variable("TENSORCOPY_NEEDS", settings.device_name, device),
        "until": monotonic() + settings.variable("TENSORCOPY_FOR", settings.duration, inf),
    }


def selection(options: Namespace) -> str:
    """Return a regular expression on asv's names for the benchmarks that --bench selects. Raises TensorcopyError for an invalid one."""
    named = options.bench if isinstance(options.bench, list) else [options.bench] if options.bench else []
    return "|".join(f"(?:{settings.checked('--bench', settings.expression, each)})" for each in named)


def rounds(options: Namespace, usual: int) -> int:
    """Return the number of launches. Raises TensorcopyError."""
    number = 1 if options.quick else (options.attribute or {}).get("rounds", usual)
    return settings.checked("-a rounds", settings.launch_count, str(number))
