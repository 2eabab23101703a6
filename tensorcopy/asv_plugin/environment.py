"""asv's environments: one per release and Python, or an interpreter's own.

asv has an environment install a "commit". Here the environment then switches to the virtual environment of that release.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar
from weakref import WeakSet

from asv import environment, util
from asv.commands.common_args import add_environment
from asv.console import log

from tensorcopy.asv_plugin.commands import exit_on_error
from tensorcopy.asv_plugin.repository import TorchReleases
from tensorcopy.asv_plugin.stamp import journal_mark, stamp_at_exit
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import environments, interpreters, release_table, uv
from tensorcopy.releases.interpreters import SEARCH_PATHS, TorchProcess, without_search_paths
from tensorcopy.releases.release_table import Release, minor
from tensorcopy.worker import declarations

JOURNAL, COMMIT = "TENSORCOPY_JOURNAL", "TENSORCOPY_COMMIT"  # read by benchmarks/cases.py
DEVICE = "TENSORCOPY_DEVICE"  # the environment variable with a device that must be measured


class _MeasuringEnvironment(environment.Environment):  # type: ignore[misc]
    """Base of both environments, with names in results like "py3.11-cuda"."""

    _torch: TorchProcess | None = None  # for the probe, asv's list of suites and asv's fork server

    def __init__(self, conf: Any, python: str, build: str, tagged_env_vars: Any) -> None:
        self._python, self._requirements = python, {"build": build}
        self._interpreter: Path | None = None
        self._own: Mapping[str, str] = {}  # environment variables that the installed torch needs
        self._commit: str | None = None
        super().__init__(conf, python, self._requirements, tagged_env_vars)
        with exit_on_error():
            declared = declarations.project()
            if declared:  # asv shall read the suites that it declares; without a project, those of asv.conf.json
                conf.benchmark_dir = str(interpreters.suites_folder(declared, Path(conf.env_dir).absolute().parent))
        self._journal: Path = Path(conf.env_dir).absolute().parent / "journal" / self.name  # of control readings, for all releases

    @property
    def name(self) -> str:
        return environments.name(self._python, self._requirements["build"])

    @property
    def dir_name(self) -> str:
        return self.name

    @property
    def installed_commit_hash(self) -> str | None:
        return self._commit

    def check_presence(self) -> bool:
        return True

    def create(self) -> None:
        """Do nothing: a virtual environment is built when asv installs its release."""

    def run(self, args: list[str], **kwargs: Any) -> Any:
        assert self._interpreter is not None  # `commands.arguments` refuses --parallel, which would install in another process
        log.debug(f"Running '{' '.join(args)}' in {self.name}")
        variables = self._variables(kwargs.get("env"))
        shared = self._shared(args, variables, kwargs.get("cwd") or Path.cwd())
        return util.check_output([str(self._interpreter), *args], **{**kwargs, "env": variables}) if shared is None else shared

    def _shared(self, args: Sequence[str], variables: Mapping[str, str], folder: str | Path) -> Any:
        """Run a job of asv in the process that has imported torch; None where the job needs a process of its own."""
        process, self._torch = self._torch, None
        if process is None:
            return None
        script, job, *arguments = args
        with suppress(OSError):  # the process has ended
            if job == "run_server" and process.can_run(variables):
                return process.become([script], [job, *arguments], variables)
            if job == "discover" and process.can_run(variables):
                finished = process.run([script], [job, *arguments], variables, Path(folder))
                if finished.returncode == 0:
                    self._torch = process
                    return finished.stdout
        process.close()
        return None

    def _run_probe(self, python: Path, module: str, *arguments: str, variables: dict[str, str]) -> dict[str, Any]:
        """Run a probe in the process that also has the next jobs of asv."""
        if self._torch is not None:
            self._torch.close()
        self._torch = TorchProcess.started(python, {**without_search_paths(variables), **self._search_path(python)})
        run = self._torch.run_probe if self._torch else interpreters.run_probe
        return run(python, module, *arguments, variables=variables)

    def _search_path(self, python: Path) -> dict[str, str]:
        """Return the variables with the folders to import packages from, beside those that are installed."""
        return {}

    def _variables(self, from_asv: dict[str, str] | None) -> dict[str, str]:
        """Return the environment variables of a process in this environment.

        The caller's search paths are removed: they would mix asv's packages with the release's.
        """
        variables = {
            **environments.steady(),
            **declarations.variables(),
            **(from_asv or os.environ),
            **self._global_env_vars,
            **self._own,
            JOURNAL: str(self._journal),
            COMMIT: journal_mark(self._commit or "-"),
        }
        return {**without_search_paths(variables), **self._search_path(self._interpreter or Path(sys.executable))}

    def _use(self, release: Release, built: environments.Environment, conf: Any) -> None:
        """Measure in this environment.

        Raises TensorcopyError where it lacks the device that must be measured.
        """
        environments.require(built, os.environ.get(DEVICE) or "cpu")
        for device, reason in built.report["ledger"].get("unsupported", {}).items():
            log.warning(f"torch {release.version} is not measured on {device}: {reason}")
        self._interpreter, self._own, self._commit = built.python, built.own, release.sha
        self._set_commit_hash(release.sha)
        with exit_on_error():
            self._journal.parent.mkdir(parents=True, exist_ok=True)
            stamp_at_exit(conf, release.sha, self.name, built.report, self._journal)


class ReleaseEnvironment(_MeasuringEnvironment):
    """A virtual environment per release, built once by uv.

    It is the default of `asv run`; asv.conf.json lists its Pythons.
    """

    tool_name = "release"
    # asv also constructs the configuration's environments when -E names others, and drops them again: the live ones are this run's
    _live: ClassVar[WeakSet[ReleaseEnvironment]] = WeakSet()

    def __init__(self, conf: Any, python: str, requirements: Any, tagged_env_vars: Any) -> None:
        if not _is_used(python, sys.argv[1:]):
            raise environment.EnvironmentUnavailable(f"Python {python} of asv.conf.json is not used: -E names others")  # without asking uv
        if uv.find_python(python) is None:
            missing = TensorcopyError(
                f"no Python {python} on this machine",
                got="none that uv finds",
                allowed=f"CPython {python}",
                next=f"uv python install {python}",
            )
            is_named = python not in conf.pythons or f"release:{python}" in _named(sys.argv[1:])
            if is_named or (python == conf.pythons[-1] and not self._live):
                with exit_on_error():  # asv would go on without a repository
                    raise missing
            raise environment.EnvironmentUnavailable(str(missing))
        super().__init__(conf, python, environments.expected_build(), tagged_env_vars)
        self._directory = Path(conf.env_dir).absolute()
        self._absent = ""
        ReleaseEnvironment._live.add(self)
        TorchReleases.why_not_here = staticmethod(lambda release: environments.why_not(release, ReleaseEnvironment._pythons()))

    @classmethod
    def _pythons(cls) -> list[str]:
        """Return the Pythons of this run, newest first."""
        return sorted({live.python for live in cls._live}, key=minor, reverse=True)

    def install_project(self, conf: Any, repo: Any, commit_hash: str) -> None:
        if commit_hash == self._commit:
            return
        release, python, build = release_table.find(commit_hash), self._python, self._requirements["build"]
        self._absent = "" if release.runs_on(python) else environments.why_not(release, [python])
        with exit_on_error():
            if self._absent:
                # asv installs every release in every environment; where there is no wheel, TENSORCOPY_ABSENT makes the suites skip
                log.warning(f"torch {release.version} is skipped on Python {python}: {self._absent}")
                usable = [other for other in self._pythons() if release.runs_on(other)]
                if not usable:
                    raise TensorcopyError(
                        f"torch {release.version} cannot be measured here",
                        got=f"Python {', '.join(self._pythons())}",
                        allowed=f"Python {release.pythons[0]} to {release.pythons[1]}",
                        next=f"-E release:{release.pythons[1]}",
                    )
                python = usable[0]  # asv must import the suites
            if not environments.is_complete(environments.path_of(self._directory, release, python, build)):
                log.info(f"Installing torch {release.version} on Python {python}")
            self._use(release, environments.build(self._directory, release, python, build, self._run_probe), conf)

    def _variables(self, from_asv: dict[str, str] | None) -> dict[str, str]:
        absent = {"TENSORCOPY_ABSENT": self._absent} if self._absent else {}
        return {**super()._variables(from_asv), **absent}


class InterpreterEnvironment(_MeasuringEnvironment):
    """An interpreter with its own torch: `asv run -E interpreter:same v2.11.0`.

    It needs no installation, as in a container or without a network. "same" is the running interpreter; a path names another. The git SHA
    of its torch identifies the release.
    """

    tool_name = "interpreter"

    def __init__(self, conf: Any, python: str, requirements: Any, tagged_env_vars: Any) -> None:
        self._folder = Path(conf.env_dir)
        with exit_on_error():
            if python in conf.pythons and f"interpreter:{python}" not in _named(sys.argv[1:]):  # asv passes the configuration's Pythons
                raise TensorcopyError(
                    "-E interpreter names no Python",
                    got="-E interpreter",
                    allowed="interpreter:same, or interpreter:PYTHON with a program on the PATH or its path",
                    next="-E interpreter:same",
                )
            executable = interpreters.executable(python)
            self._installed = environments.inspected(executable, run_probe=self._run_probe)
            provenance = self._installed.report["ledger"]
            self._release = environments.released_as(provenance)
        provenance["asv_runner"] = environments.runner()  # from `runner_folder`
        super().__init__(conf, ".".join(provenance["python"].split(".")[:2]), provenance["build"], tagged_env_vars)
        TorchReleases.why_not_here = staticmethod(
            lambda release: "" if release == self._release else f"{executable.name} has torch {self._release.version}"
        )

    @property
    def name(self) -> str:
        """Return a name such as "py3.12-cuda-interpreter".

        Its results must not join those of uv's environments: numpy or the wheel may differ.
        """
        return f"{super().name}-{self.tool_name}"

    def install_project(self, conf: Any, repo: Any, commit_hash: str) -> None:
        if commit_hash != self._release.sha:
            with exit_on_error():
                raise TensorcopyError(
                    "this interpreter has another torch",
                    got=release_table.find(commit_hash).version,
                    allowed=self._release.version,
                    next=f"asv run -E interpreter:same {self._release.tag}",
                )
        with exit_on_error():
            self._use(self._release, self._installed, conf)

    def _search_path(self, python: Path) -> dict[str, str]:
        """Return this checkout and asv_runner, which are not installed there."""
        return dict.fromkeys(
            SEARCH_PATHS,
            interpreters.search_path([interpreters.package_folder(self._folder), interpreters.runner_folder(self._folder)], python),
        )


def _named(arguments: Sequence[str]) -> list[str]:
    """Return the environments that -E names in asv's arguments, such as "release:3.11"."""
    options = ArgumentParser(add_help=False)
    add_environment(options)
    named: list[str] = options.parse_known_args(arguments)[0].env_spec
    return named


def _is_used(python: str, arguments: Sequence[str]) -> bool:
    """Return whether asv's arguments name the release environment of a Python, or no environment.

    asv also constructs the configuration's environments where -E names others. uv takes up to a second to find a Python, and an interpreter
    that has everything needs neither uv nor the configuration's Pythons.
    """
    named = [name for name in _named(arguments) if name.partition(":")[0] in ("interpreter", "release")]
    return not named or "release" in named or f"release:{python}" in named
