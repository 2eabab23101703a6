"""Read and write asv's configuration and its list of machines."""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass
from pathlib import Path

from asv import util
from asv.config import Config
from asv.machine import Machine, MachineCollection

from tensorcopy.errors import TensorcopyError


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
            "this is not a checkout of tensorcopy",
            got=f"{Path.cwd().name}: {error}",
            allowed="a folder with asv.conf.json, benchmarks and results",
            next="git clone tensorcopy and run it there",
        ) from error
    results, html, environments = (Path(folder).absolute() for folder in (conf.results_dir, conf.html_dir, conf.env_dir))
    return Paths(results, html, environments, tuple(conf.pythons))


def web_addresses() -> tuple[str, str]:
    """Return the addresses of the repository and of the site in asv.conf.json; "" for a missing one."""
    conf = Config.load()
    return str(getattr(conf, "source_url", "")), str(getattr(conf, "site_url", ""))


def write_staging(folder: Path) -> Path:
    """Write a copy of asv.conf.json into `folder`, and return its path.

    With this copy, asv writes its results into the same folder.
    """
    conf = Config.load()
    document = util.load_json("asv.conf.json", js_comments=True)
    document["results_dir"] = str(folder.absolute() / "results")
    for name in ("repo", "benchmark_dir", "env_dir", "html_dir"):
        document[name] = str(Path(getattr(conf, name)).absolute())
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "asv.conf.json"
    path.write_text(json.dumps(document, indent=4), encoding="utf-8")
    return path


def register_machine(name: str) -> None:
    """Add this machine to asv's list of machines, unless it is listed.

    `asv machine --yes --machine NAME` would save the name only.
    """
    try:
        if MachineCollection.load(name)["machine"] == name:  # for an unlisted host asv returns the only machine in its list
            return
    except util.UserError:
        pass  # not in the list
    defaults = Machine.get_defaults()
    fields = {
        "machine": name,
        "os": platform.system(),  # without the kernel's version: asv's graphs begin a new line at any change
        "arch": defaults["arch"],
        "cpu": defaults["cpu"],
        "num_cpu": defaults["num_cpu"],
        "ram": defaults["ram"],
    }
    MachineCollection.save(name, fields)
