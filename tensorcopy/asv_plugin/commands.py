"""asv's own commands: what they read here, and the arguments and environments that they take."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from os.path import relpath
from pathlib import Path
from typing import Any, NoReturn

from asv import environment
from asv.commands.asv_profiling import Profile
from asv.commands.publish import Publish
from asv.commands.rm import Rm
from asv.commands.setup import Setup
from asv.commands.show import Show
from asv.commands.update import Update
from asv.console import log
from asv.plugins.github import GithubPages
from asv.repo import get_repo
from asv.util import UserError

from tensorcopy import configuration
from tensorcopy.asv_plugin import projection
from tensorcopy.asv_plugin.ending import end_with, exit_on_error
from tensorcopy.campaign import Campaign
from tensorcopy.configuration import Paths
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import plan, revisions
from tensorcopy.results import reader

READERS = (GithubPages, Profile, Publish, Show, Update)  # commands that read results
KINDS = ("release", "interpreter")
ALLOWED = "release:N.N, interpreter:PYTHON, or a name that `asv setup` prints"


_read: Callable[[Path], Campaign]  # the campaign of a folder; asv makes the objects that need it, and passes none on


def campaign() -> Campaign:
    """Return the campaign of the folder in which asv runs, which makes its objects itself. Ends asv for an invalid one.

    Logs a warning for each operation that it leaves out.
    """
    with exit_on_error():
        own = _read(Path.cwd())
    for error in own.left_out.values():
        _warn(str(error))
    return own


@cache
def _warn(text: str) -> None:
    """Log a warning once: asv asks for the campaign whenever it makes an object."""
    log.warning(text)


def paths_of(conf: Any) -> Paths:
    """Return the folders of asv's configuration; that of results is the one with launches. Ends asv where it is damaged."""
    with exit_on_error():
        return configuration.paths({**vars(conf), "results_dir": getattr(conf, "launches_dir", conf.results_dir)})


def project(conf: Any, *, with_revisions: bool = False) -> None:
    """Let asv read a projection of the launches, and log a warning for each that cannot be read."""
    paths, releases = paths_of(conf), campaign().releases
    with exit_on_error():
        folders = [paths.results, *([revisions.results_of(paths)] if with_revisions else [])]
        conf.launches_dir, conf.results_dir = str(paths.results), str(projection.folder_of(folders, paths.projection, releases))
        for folder in folders:
            for problem in reader.load_results(folder, releases).problems:
                log.warning(str(problem))


def prepare(read_campaign: Callable[[Path], Campaign]) -> None:
    """Let asv's commands read launches, and end with exit code 2, before they do anything, where they do not suit them.

    read_campaign : returns the campaign of a folder
    """
    global _read
    _read = read_campaign
    for command in READERS:

        def read(conf: Any, options: Any, command: Any = command, run: Any = command.run_from_conf_args) -> Any:
            project(conf, with_revisions=command is Show)
            return _profile(conf, options, run) if command is Profile else run(conf, options)

        command.run_from_conf_args = read
    Rm.run_from_conf_args = _refuse_rm
    Setup.run_from_conf_args = _setup
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


def _refuse_rm(conf: Any, options: Any) -> NoReturn:
    launches = sorted(paths_of(conf).results.glob("*/*.json"), key=lambda path: path.name)
    following = f"rm {relpath(launches[-1])} removes the newest launch" if launches else "nothing: there is no launch"
    end_with(
        TensorcopyError(
            "asv rm cannot take a result out of a launch",
            got=f"asv rm {' '.join(options.patterns)}",
            allowed="whole launches: each holds several releases, and is never changed",
            next=following,
        )
    )


def _profile(conf: Any, options: Any, run: Any) -> Any:
    """Profile a benchmark: asv asks for a regular expression on its name with parameters, and compare and asv print other names."""
    _select_profiled(conf, options)
    asked = options.benchmark
    if asked:
        stored = reader.load_results(paths_of(conf).results, campaign().releases).results
        named = [case for result in stored for case in (*result.timings, *result.counts) if case.name == asked]
        names = [rf"{re.escape(asked)}(\(.*\))?", *(plan.expression_of([case]) for case in named[:1])]
        with suppress(re.error):
            names.append(re.compile(asked).pattern)
        options.benchmark = f"(?:{'|'.join(names)})"
    try:
        return run(conf, options)
    except UserError as error:
        raise UserError(str(error).replace(str(options.benchmark), str(asked))) from error


def _select_profiled(conf: Any, options: Any) -> None:
    """Let `asv profile` take an environment that has the release, and of a git revision its suites: asv takes its last environment."""
    commit = get_repo(conf).get_hash_from_name(options.revision)
    own, paths = campaign(), paths_of(conf)
    release = own.releases.of(commit)
    with exit_on_error():
        if release is None:
            (revision,) = revisions.under_newest({commit[:8]: commit}, own, paths)
            conf.benchmark_dir = str(revision.side(revision.opened(own, paths), own, paths).suites)
            release = revision.release
        measurement, _ = plan.installable(release, paths.pythons)
    if measurement and not options.env_spec:
        options.env_spec = [f"release:{measurement.python}"]


def _setup(conf: Any, options: Any) -> int:
    """Print the names of the environments and return 0; asv prints objects, and exits with 1."""
    environments = Setup.run(conf=conf, parallel=options.parallel, env_spec=options.env_spec)
    for each in environments:
        log.info(each.name)
    if not environments:
        log.error("No environments selected")
    return 0 if environments else 1
