"""asv's environments: a Python with the releases that uv installs for it, or an interpreter's own torch.

asv installs nothing in them and runs nothing: its commands take from them which measurements are meant.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar
from weakref import WeakSet

from asv import environment
from asv.commands.common_args import add_environment

from tensorcopy.asv_plugin.commands import campaign
from tensorcopy.asv_plugin.ending import exit_on_error
from tensorcopy.asv_plugin.repository import TorchReleases
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import plan
from tensorcopy.measure.plan import Measurement
from tensorcopy.releases import environments, uv
from tensorcopy.releases.release_table import Release, minor


class MeasuringEnvironment(environment.Environment):  # type: ignore[misc]
    """Base of both environments, with names in results like "py3.11-cuda"."""

    interpreter = ""  # whose torch is measured; "" where uv installs it

    def __init__(self, conf: Any, python: str, build: str, tagged_env_vars: Any) -> None:
        self._python, self._requirements = python, {"build": build}
        super().__init__(conf, python, self._requirements, tagged_env_vars)

    @property
    def name(self) -> str:
        return environments.name(self._python, self._requirements["build"])

    def create(self) -> None:
        """Do nothing: a virtual environment is built when its release is needed."""

    def why_not(self, release: Release) -> str:
        """Return why a release cannot be measured in it; "" where it can."""
        raise NotImplementedError

    def measurement(self, release: Release) -> Measurement:
        """Return the measurement of a release in it."""
        raise NotImplementedError


class ReleaseEnvironment(MeasuringEnvironment):
    """A Python with a virtual environment per release, each built once by uv.

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
        ReleaseEnvironment._live.add(self)
        TorchReleases.why_not_here = staticmethod(lambda release: environments.why_not(release, ReleaseEnvironment._pythons()))

    @classmethod
    def _pythons(cls) -> list[str]:
        """Return the Pythons of this run, newest first."""
        return sorted({live.python for live in cls._live}, key=minor, reverse=True)

    def why_not(self, release: Release) -> str:
        return environments.why_not(release, [self._python])

    def measurement(self, release: Release) -> Measurement:
        return Measurement(release, self._python)


class InterpreterEnvironment(MeasuringEnvironment):
    """An interpreter with its own torch: `asv run -E interpreter:same v2.11.0`.

    It needs no installation, as in a container or without a network. "same" is the running interpreter; a path names another. The git SHA
    of its torch identifies the release. Several are sides of the same launches.
    """

    tool_name = "interpreter"
    _live: ClassVar[WeakSet[InterpreterEnvironment]] = WeakSet()

    def __init__(self, conf: Any, python: str, requirements: Any, tagged_env_vars: Any) -> None:
        with exit_on_error():
            if python in conf.pythons and f"interpreter:{python}" not in _named(sys.argv[1:]):  # asv passes the configuration's Pythons
                raise TensorcopyError(
                    "-E interpreter names no Python",
                    got="-E interpreter",
                    allowed="interpreter:same, or interpreter:PYTHON with a program on the PATH or its path",
                    next="-E interpreter:same",
                )
            others = [name.partition(":")[2] for name in _named(sys.argv[1:]) if name.startswith("interpreter:")]
            measurements = plan.in_interpreters([python, *others], campaign())  # asks all at the same time, once
            self.interpreter, self._measurement = python, measurements[0]
        super().__init__(conf, self._measurement.python, self._measurement.build, tagged_env_vars)
        InterpreterEnvironment._live.add(self)
        TorchReleases.why_not_here = staticmethod(InterpreterEnvironment._why_none)

    @classmethod
    def _why_none(cls, release: Release) -> str:
        """Return why no interpreter of this run has a release; "" where one has."""
        reasons = [live.why_not(release) for live in cls._live]
        return ("no interpreter has it" if len(reasons) > 1 else reasons[0]) if all(reasons) else ""

    @property
    def name(self) -> str:
        """Return a name such as "py3.12-cuda-interpreter".

        Its results must not join those of uv's environments: numpy or the wheel may differ.
        """
        return self._measurement.environment

    def why_not(self, release: Release) -> str:
        own = self._measurement.release
        return "" if release == own else f"{Path(self._measurement.interpreter).name} has torch {own.version}"

    def measurement(self, release: Release) -> Measurement:
        return self._measurement


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
