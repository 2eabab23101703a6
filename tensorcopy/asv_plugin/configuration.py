"""Read and write asv's configuration and its list of machines."""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asv import util
from asv.config import Config
from asv.machine import Machine, MachineCollection
from filelock import FileLock

from tensorcopy.asv_plugin.commands import exit_on_error
from tensorcopy.errors import TensorcopyError
from tensorcopy.results import files, writing


@dataclass(frozen=True)
class Paths:
    """The folders and the Python versions that asv.conf.json names."""

    results: Path
    html: Path
    environments: Path
    pythons: tuple[str, ...]


def paths() -> Paths:
    """Read asv.conf.json of the current folder.

    Raises TensorcopyError where it is missing.
    """
    try:
        conf = Config.load()
    except util.UserError as error:
        raise TensorcopyError(
            "this is neither a project nor a checkout of tensorcopy",
            got=f"{Path.cwd().name}: {error}",
            allowed="a folder with asv.conf.json",
            next="tensorcopy init, or git clone tensorcopy and run it there",
        ) from error
    results, html, environments = (Path(folder).absolute() for folder in (conf.results_dir, conf.html_dir, conf.env_dir))
    return Paths(results, html, environments, tuple(conf.pythons))


def web_addresses() -> tuple[str, str]:
    """Return the addresses of the repository and of the site in asv.conf.json; "" for a missing one."""
    conf = Config.load()
    return str(getattr(conf, "source_url", "")), str(getattr(conf, "site_url", ""))


def write_configuration(folder: Path, results: Path, environments: Path | None = None) -> Path:
    """Write a copy of asv.conf.json into `folder`, and return its path.

    results : where asv, with this copy, stores its results
    environments : of the releases; None for the folder that asv.conf.json names
    """
    conf = Config.load()
    document = util.load_json("asv.conf.json", js_comments=True)
    document["results_dir"] = str(results.absolute())
    for name in ("repo", "benchmark_dir", "env_dir", "html_dir"):
        document[name] = str(Path(getattr(conf, name)).absolute())
    if environments:
        document["env_dir"] = str(environments.absolute())
    path = folder / "asv.conf.json"
    writing.replace(path, json.dumps(document, indent=4))
    return path


def write_machines_as_a_whole() -> None:
    """Let this process of asv replace machine.json and its list of machines as a whole, and only where they change.

    asv empties both before it writes them, at the start of every run: one that is killed would leave an empty file. machine.json is written
    as the one writer of the results, and what asv's list leaves open, as after `asv machine --yes`, stays in it.
    """

    def save(machine: Any, results_dir: str) -> None:
        path = Path(results_dir) / machine.machine / "machine.json"
        with exit_on_error(), writing.one_writer(Path(results_dir), print):
            known = files.read(path) if path.exists() else {}
            described = {field: value for field, value in vars(machine).items() if value}
            writing.write_readable(path, {**known, **described, "version": machine.api_version})

    def save_listed(name: str, description: dict[str, Any], _path: str | None = None) -> None:
        with exit_on_error():
            _list_machine(Path(_path or MachineCollection.get_machine_file_path()), name, description)

    Machine.save, MachineCollection.save = save, save_listed


def register_machine(name: str) -> None:
    """Add this machine to asv's list of machines, unless it is listed.

    `asv machine --yes --machine NAME` would save the name only. Raises TensorcopyError for a damaged list.
    """
    path = Path(MachineCollection.get_machine_file_path())
    if name not in _listed_machines(path):
        described = {field: Machine.get_defaults()[field] for field in ("arch", "cpu", "num_cpu", "ram")}
        # the system without the kernel's version: asv's graphs begin a new line at any change
        _list_machine(path, name, {"machine": name, "os": platform.system(), **described})


def _list_machine(path: Path, name: str, description: dict[str, Any]) -> None:
    """Write a machine into the list, beside those that another checkout may add."""
    if _listed_machines(path).get(name) != description:
        with FileLock(f"{path}.lock"):
            document = {**_listed_machines(path), name: description, "version": MachineCollection.api_version}
            writing.replace(path, json.dumps(document, indent=4, sort_keys=True))


def _listed_machines(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        return {**json.loads(text)} if text else {}  # an empty file is left by an asv without this plugin that was killed
    except (ValueError, TypeError, RecursionError) as error:
        raise TensorcopyError(
            "asv's list of machines cannot be read", got=f"{path}: {error}", allowed="the file as asv writes it", next=f"remove {path}"
        ) from error
