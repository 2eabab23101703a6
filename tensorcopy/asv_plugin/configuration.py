"""asv's configuration and its list of machines, for the dashboard."""

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
    """What asv.conf.json says of where things lie and which Pythons serve."""

    results: Path
    html: Path
    environments: Path
    pythons: tuple[str, ...]


def paths() -> Paths:
    """asv.conf.json of the current folder. Raises TensorcopyError where there is none."""
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


def aside(folder: Path) -> Path:
    """asv.conf.json of the current folder, but with its results in `folder`; the path of that file, which lies there too."""
    conf = Config.load()
    document = util.load_json("asv.conf.json", js_comments=True)
    document["results_dir"] = str(folder.absolute() / "results")
    for name in ("repo", "benchmark_dir", "env_dir", "html_dir"):
        document[name] = str(Path(getattr(conf, name)).absolute())
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "asv.conf.json"
    path.write_text(json.dumps(document, indent=4), encoding="utf-8")
    return path


def register(name: str) -> None:
    """Make asv know this machine as `name`, with every field, unless it does: `asv machine --yes --machine NAME` saves the name only."""
    try:
        if MachineCollection.load(name)["machine"] == name:  # a host asv does not know is given the only machine it does
            return
    except util.UserError:
        pass  # not known yet
    found = Machine.get_defaults()
    fields = {
        "machine": name,
        "os": platform.system(),  # without the kernel's version: any change would begin a new line on asv's graphs
        "arch": found["arch"],
        "cpu": found["cpu"],
        "num_cpu": found["num_cpu"],
        "ram": found["ram"],
    }
    MachineCollection.save(name, fields)
