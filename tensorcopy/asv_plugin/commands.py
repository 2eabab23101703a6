"""asv's own commands: what they read here, and the arguments and environments that they take."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from itertools import chain
from os.path import relpath
from pathlib import Path
from typing import Any, NoReturn

from asv import environment
from asv.commands.asv_profiling import Profile
from asv.commands.check import Check
from asv.commands.rm import Rm
from asv.commands.setup import Setup
from asv.commands.show import Show
from asv.commands.update import Update
from asv.console import log

from tensorcopy import configuration
from tensorcopy.asv_plugin import projection
from tensorcopy.asv_plugin.ending import end_with, exit_on_error, let
from tensorcopy.campaign import Campaign
from tensorcopy.configuration import Paths
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import revisions
from tensorcopy.results import reader

KINDS = ("release", "interpreter")
ALLOWED = "release:N.N, interpreter:PYTHON, or a name that `asv setup` prints"


_read: Callable[[Path], Campaign]  # the campaign of a folder; asv makes the objects that need it, and passes none on


def campaign() -> Campaign:
    """Return the campaign of the folder in which asv runs, which makes its objects itself. Ends asv for an invalid one."""
    with exit_on_error():
        return _read(Path.cwd())


@cache
def _warn(text: str) -> None:
    """Log a warning once: asv asks for the campaign whenever it makes an object."""
    log.warning(text)


def paths_of(conf: Any) -> Paths:
    """Return the folders of asv's configuration. Ends asv where it is damaged."""
    with exit_on_error():
        return configuration.paths(vars(conf))


def prepare(read_campaign: Callable[[Path], Campaign]) -> None:
    """Let asv's commands read launches, and end with exit code 2, before they do anything, where releases do not suit them.

    read_campaign : returns the campaign of a folder
    """
    global _read
    _read = read_campaign
    for command, refused in REFUSED.items():

        def refuse(conf: Any, options: Any, refused: Any = refused) -> NoReturn:
            raise refused(conf, options)

        let(command, refuse)
    let(Setup, _setup)
    let(Show, _show)
    class_by_name = environment.get_environment_class_by_name

    def of_torch(kind: str) -> Any:
        if kind not in KINDS:  # such an environment would hold the project, and torch at no particular release
            _refuse_environment(kind)
        return class_by_name(kind)

    environment.get_environment_class_by_name = of_torch
    environment.ExistingEnvironment.__init__ = lambda *_: _refuse_environment("existing")


def _refuse_environment(kind: str) -> NoReturn:
    end_with(
        TensorcopyError(
            "torch releases cannot be measured in such an environment",
            got=f"-E {kind}",
            allowed=ALLOWED,
            next="leave -E out, or -E interpreter:same, which needs only torch and numpy",
        )
    )


def _refused_rm(conf: Any, options: Any) -> TensorcopyError:
    launches = sorted(paths_of(conf).results.glob("*/*.json"), key=lambda path: path.name)
    following = f"rm {relpath(launches[-1])} removes the newest launch" if launches else "nothing: there is no launch"
    return TensorcopyError(
        "asv rm cannot take a result out of a launch",
        got=f"asv rm {' '.join(options.patterns)}",
        allowed="whole launches: each holds several releases, and is never changed",
        next=following,
    )


def _refused_profile(conf: Any, options: Any) -> TensorcopyError:
    return TensorcopyError(
        "asv cannot profile a torch release",
        got=f"asv profile {options.benchmark}",
        allowed="the functions that a case calls, counted in two releases",
        next="tensorcopy why CASE BEFORE AFTER",
    )


def _refused_check(conf: Any, options: Any) -> TensorcopyError:
    return TensorcopyError(
        "asv cannot check suites without a torch release",
        got="asv check",
        allowed="suites that are imported in each release's environment when it is measured",
        next="asv run --quick --bench REGEX, which keeps no launch, or tensorcopy measure --bench REGEX",
    )


def _refused_update(conf: Any, options: Any) -> TensorcopyError:
    return TensorcopyError(
        "asv update has nothing to convert",
        got="asv update",
        allowed="launches, which are never changed",
        next="asv show prints the results",
    )


REFUSED = {Rm: _refused_rm, Profile: _refused_profile, Check: _refused_check, Update: _refused_update}  # by command of asv


def _setup(conf: Any, options: Any) -> int:
    """Print the names of the environments and return 0; asv prints objects, and exits with 1."""
    environments = Setup.run(conf=conf, parallel=options.parallel, env_spec=options.env_spec)
    for each in environments:
        log.info(each.name)
    if not environments:
        log.error("No environments selected")
    return 0 if environments else 1


def _show(conf: Any, options: Any, show: Any = Show.run_from_conf_args) -> int:
    """Let `asv show` read a projection of the launches of releases and git revisions, and log a warning for each that cannot be read."""
    own, paths = campaign(), paths_of(conf)
    loaded = [reader.load_results(folder, own.releases) for folder in (paths.results, revisions.results_of(paths))]
    for problem in chain(*(each.problems for each in loaded)):
        log.warning(str(problem))
    with tempfile.TemporaryDirectory() as folder:
        projection.write(projection.documents(chain(*(each.histories for each in loaded))), Path(folder))
        conf.results_dir = folder
        show(conf, options)
    return 0
