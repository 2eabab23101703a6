"""asv's environments: one per (release, Python, build), or the torch that an interpreter already has.

asv asks an environment to install a "commit", which here means: be the place where that release is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, NoReturn
from weakref import WeakSet

from asv import environment, util
from asv.console import log

from tensorcopy.asv_plugin.exits import clearly
from tensorcopy.asv_plugin.repository import TorchReleases
from tensorcopy.asv_plugin.stamp import stamp_at_exit
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import environments, interpreters, release_table, uv
from tensorcopy.releases.interpreters import CHECKOUT
from tensorcopy.releases.release_table import Release, minor
from tensorcopy.worker.registry import operations

JOURNAL, COMMIT = "TENSORCOPY_JOURNAL", "TENSORCOPY_COMMIT"  # read by benchmarks/control.py


class _MeasuringEnvironment(environment.Environment):  # type: ignore[misc]
    """What both kinds have in common: nothing to create before a release is known, and a name in results like "py3.11-cuda"."""

    def __init__(self, conf: Any, python: str, build: str, tagged_env_vars: Any) -> None:
        self._python, self._requirements = python, {"build": build}
        self._interpreter: Path | None = None
        self._own: Mapping[str, str] = {}  # variables of what is installed
        self._commit: str | None = None
        super().__init__(conf, python, self._requirements, tagged_env_vars)
        self._journal: Path = Path(conf.env_dir).absolute().parent / "journal" / self.name  # of the control, which knows no release

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
        """Nothing: an environment is built when its release is asked for."""

    def run(self, args: list[str], **kwargs: Any) -> Any:
        if self._interpreter is None:
            with clearly():
                raise TensorcopyError(
                    "nothing was installed here",
                    got="asv --parallel",
                    allowed="one environment after the other",
                    next="leave --parallel out",
                )
        log.debug(f"Running '{' '.join(args)}' in {self.name}")
        return util.check_output([str(self._interpreter), *args], **{**kwargs, "env": self._variables(kwargs.get("env"))})

    def _variables(self, given: dict[str, str] | None) -> dict[str, str]:
        """The process's environment: asv's own variables, and no PYTHONPATH that would mix two worlds."""
        variables = {
            **environments.STEADY,
            **operations.variables(),
            **(given or os.environ),
            **self._global_env_vars,
            **self._own,
            JOURNAL: str(self._journal),
            COMMIT: (self._commit or "-")[:8],
        }
        variables.pop("PYTHONPATH", None)
        return variables

    def _ready(self, release: Release, built: environments.Environment, conf: Any) -> None:
        self._interpreter, self._own, self._commit = built.python, built.own, release.sha
        self._set_commit_hash(release.sha)
        self._journal.parent.mkdir(parents=True, exist_ok=True)
        stamp_at_exit(conf.results_dir, release.sha, self.name, built.report, self._journal)


class ReleaseEnvironment(_MeasuringEnvironment):
    """A fresh virtual environment per release, made by uv and kept. `asv run` uses it; its Python is one of asv.conf.json's."""

    tool_name = "release"
    # asv constructs the configuration's environments also when -E names others, and lets go of them again: those alive are meant
    _alive: ClassVar[WeakSet[ReleaseEnvironment]] = WeakSet()

    def __init__(self, conf: Any, python: str, requirements: Any, tagged_env_vars: Any) -> None:
        if uv.find_python(python) is None:
            self._unavailable(conf, python)
        super().__init__(conf, python, environments.expected_build(), tagged_env_vars)
        self._directory = Path(conf.env_dir).absolute()
        self._absent = ""
        ReleaseEnvironment._alive.add(self)
        TorchReleases.servable = staticmethod(lambda release: environments.why_not(release, ReleaseEnvironment._pythons()))

    def _unavailable(self, conf: Any, python: str) -> NoReturn:
        """Leave this Python out; where it was asked for by name or none else is left, end with 2: asv would go on without a repository."""
        missing = TensorcopyError(
            f"no Python {python} on this machine", got="none that uv finds", allowed=f"CPython {python}", next=f"uv python install {python}"
        )
        if python not in conf.pythons or (python == conf.pythons[-1] and not self._alive):
            with clearly():
                raise missing
        raise environment.EnvironmentUnavailable(str(missing))

    @classmethod
    def _pythons(cls) -> list[str]:
        """The Pythons of this run, the newest first."""
        return sorted({alive.python for alive in cls._alive}, key=minor, reverse=True)

    def install_project(self, conf: Any, repo: Any, commit_hash: str) -> None:
        if commit_hash == self._commit:
            return
        release, python, build = release_table.find(commit_hash), self._python, self._requirements["build"]
        self._absent = "" if release.runs_on(python) else environments.why_not(release, [python])
        with clearly():
            if self._absent:
                # asv asks every environment for every release; where there is no wheel, the suites are told to skip
                log.warning(f"torch {release.version} is skipped on Python {python}: {self._absent}")
                python = self._another_python(release)
            if not environments.is_complete(environments.path_of(self._directory, release, python, build)):
                log.info(f"Installing torch {release.version} on Python {python}")
            self._ready(release, environments.build(self._directory, release, python, build), conf)

    def _another_python(self, release: Release) -> str:
        """One of this run's Pythons that has a wheel, so that the suites can be imported at least."""
        for python in self._pythons():
            if release.runs_on(python):
                return python
        raise TensorcopyError(
            f"torch {release.version} cannot be measured here",
            got=f"Python {', '.join(self._pythons())}",
            allowed=f"Python {release.pythons[0]} to {release.pythons[1]}",
            next=f"-E release:{release.pythons[1]}",
        )

    def _variables(self, given: dict[str, str] | None) -> dict[str, str]:
        absent = {"TENSORCOPY_ABSENT": self._absent} if self._absent else {}
        return {**super()._variables(given), **absent}


class InterpreterEnvironment(_MeasuringEnvironment):
    """The torch that an interpreter already has: a container, a cluster node, no network. `asv run -E interpreter:same v2.11.0`.

    "same" is the running interpreter; a path leads to another. Its release is found by the git SHA of its torch.
    """

    tool_name = "interpreter"

    def __init__(self, conf: Any, python: str, requirements: Any, tagged_env_vars: Any) -> None:
        with clearly():
            executable = interpreters.executable(python)
            self._place = environments.inspected(executable)
            provenance = self._place.report["ledger"]
            self._release = environments.released_as(provenance)
        provenance["asv_runner"] = environments.runner()  # the one that is borrowed below
        super().__init__(conf, ".".join(provenance["python"].split(".")[:2]), provenance["build"], tagged_env_vars)
        TorchReleases.servable = staticmethod(
            lambda release: "" if release == self._release else f"{executable.name} has torch {self._release.version}"
        )

    @property
    def name(self) -> str:
        """Such as "py3.12-cuda-interpreter": its numpy and its wheel are its own, and so is its series."""
        return f"{super().name}-{self.tool_name}"

    def install_project(self, conf: Any, repo: Any, commit_hash: str) -> None:
        if commit_hash != self._release.sha:
            with clearly():
                raise TensorcopyError(
                    "this interpreter has another torch",
                    got=release_table.find(commit_hash).version,
                    allowed=self._release.version,
                    next=f"asv run -E interpreter:same {self._release.tag}",
                )
        self._ready(self._release, self._place, conf)

    def _variables(self, given: dict[str, str] | None) -> dict[str, str]:
        """asv_runner and the suites' imports come from beside asv: nothing needs to be installed where torch is."""
        return {**super()._variables(given), "PYTHONPATH": os.pathsep.join([str(CHECKOUT), str(self._borrowed())])}

    def _borrowed(self) -> Path:
        """A folder with asv_runner alone in it, which is pure Python."""
        import asv_runner

        folder = Path(self._env_dir).absolute() / "borrowed"
        folder.mkdir(parents=True, exist_ok=True)
        link = folder / "asv_runner"
        link.unlink(missing_ok=True)  # it may lead to an asv that is no longer there
        link.symlink_to(Path(asv_runner.__file__).parent)
        return folder


__all__ = ["InterpreterEnvironment", "ReleaseEnvironment"]
