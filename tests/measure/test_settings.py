"""What `measure` takes as options, prints before it measures, and does with damaged environments."""

import argparse
import json
import re
import shutil
import sys
import time
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
from tensorcopy.measure.taking import Sides

from tensorcopy.configuration import Paths
from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import plan, settings
from tensorcopy.measure.plan import Measurement
from tensorcopy.releases import environments, release_table, uv
from tests.conftest import NEW

FIVE = [Measurement(release, "3.11") for release in release_table.load()[-5:]]
TAKEN = {"2.8.0": 6.8, "2.14.1": 5.7, "2.15.0": 5.6}  # GB, as `du` shows it of an environment on Python 3.11 with CUDA


DURATIONS = {"5h": 18000, "90m": 5400, "30s": 30, "1h30m": 5400, "2h5s": 7205}
NO_DURATIONS = ("", "5", "0h", "-5h", "5d", "h", "1.5h", "5 h", "30m1h", "nan", "٥h", "9" * 5000 + "h")
NO_NAMES = ("", ".", "..", "../box", "a/b", "a\\b", "a:b", "-box", ".box", "box.", "a b", "a\nb", "a\x00b", "\x1b[31m", "x" * 65, "\udcff")


def test_a_duration_has_units_and_a_machine_a_name_that_may_be_a_folder():
    """Of other texts, the error says what is allowed."""
    assert {text: settings.duration(text) for text in DURATIONS} == DURATIONS
    for text in NO_DURATIONS:
        with pytest.raises(argparse.ArgumentTypeError, match="allowed: hours, minutes or seconds, such as 5h, 90m or 1h30m"):
            settings.duration(text)
    for name in ("xeon-2core", "h200", "a", "a.b_c+d", "機械", "x" * 64):
        assert settings.machine_name(name) == name
    for name in NO_NAMES:
        with pytest.raises(argparse.ArgumentTypeError, match="allowed: up to 64 letters, digits and"):
            settings.machine_name(name)


def test_a_number_may_be_the_first_or_the_last_that_is_allowed():
    for read, least, most in ((settings.launch_count, 1, 1000), (settings.two_or_more, 2, 999999), (settings.port, 1, 65535)):
        assert [read(str(number)) for number in (least, most)] == [least, most]
        for text in (str(least - 1), str(most + 1), "", "-1", "1.5", "٥"):
            with pytest.raises(argparse.ArgumentTypeError, match="; allowed: "):
                read(text)


Usage = namedtuple("Usage", "total used free")


@pytest.mark.parametrize(
    ("free", "most", "answer", "expected"),
    [
        (100e9, 5, "y", ""),
        *((100e9, 5, answer, "nothing was installed: got ''; allowed: y") for answer in ("", EOFError)),  # of Ctrl-D
        (100e9, 2, None, ""),
        (14e9, 5, None, "the disk is too small: got 5 environments are to be installed: about 35 GB, and 14 GB are free"),
        (3e9, 1, None, ""),
    ],
)
def test_many_environments_are_installed_only_where_there_is_room_and_the_user_agrees(monkeypatch, tmp_path, free, most, answer, expected):
    """The question is asked at a terminal only; --environments limits how many there are at once; one or two are announced."""
    monkeypatch.setattr(plan.shutil, "disk_usage", lambda path: Usage(1e12, 1e12 - free, free))
    monkeypatch.setenv(environments.BACKEND, "cu126")
    monkeypatch.setattr(uv, "has_cached", lambda *arguments: False)
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr("builtins.input", Mock(side_effect=[answer]))
    paths, said = Paths(tmp_path, tmp_path, tmp_path / "env", ()), []
    with pytest.raises(TensorcopyError, match=re.escape(expected)) if expected else nullcontext():
        plan.confirm_installing(FIVE, paths, most, said.append)
    assert len(said) == 1
    assert f"{most} environment" in said[0]


def test_an_environment_takes_no_more_than_is_announced(monkeypatch, tmp_path):
    """Of a release whose files uv would have to fetch; those that are in its cache are linked, and take nothing more."""
    monkeypatch.setenv(environments.BACKEND, "cu126")
    for is_cached, most in ((True, 0.0), (False, 1.5)):
        monkeypatch.setattr(uv, "has_cached", lambda *arguments, is_cached=is_cached: is_cached)
        for version, taken in TAKEN.items():
            announced = environments.gigabytes(tmp_path, release_table.load().find(version), "3.11")
            assert announced == 0 if is_cached else taken <= announced <= taken + most


class Installations(list[Path]):
    """The environments that uv was asked for, each of which takes it some seconds."""

    seconds = 0.0


@pytest.fixture
def installed(every_python, monkeypatch, tmp_path):
    """An environment as uv installs it, whose Python reports what the table of releases says; the list of its installations."""
    installations = Installations()
    good = {"torch": "2.0.0+cu117", "torch_sha": NEW.sha, "build": "cuda", "numpy": "1.26.4", "asv_runner": environments.runner()}

    def make_environment(path: Path, python: Path, requirements: list[str], index: str) -> None:
        time.sleep(installations.seconds)
        installations.append(path)
        (path / "lib" / "python3.11" / "site-packages").mkdir(parents=True, exist_ok=True)
        (path / "bin").mkdir(exist_ok=True)
        (path / "bin" / "python").write_text(f"#!/bin/sh\necho '{json.dumps({'provenance': good, 'torch_folder': ''})}'\n")
        (path / "bin" / "python").chmod(0o755)

    monkeypatch.setattr(uv, "make_environment", make_environment)
    environments.build(tmp_path, NEW, "3.11", "cuda", shipped())
    return installations


def test_another_kind_of_wheel_is_installed_anew(installed, tmp_path, monkeypatch):
    """cu126 and cu130 are both "cuda": an environment has the kind that was asked for, whatever it had before."""
    for wheel, count in (("", 1), ("cu126", 2), ("cu126", 2), ("", 3), ("", 3)):
        monkeypatch.setenv(environments.BACKEND, wheel)
        environments.build(tmp_path, NEW, "3.11", "cuda", shipped())
        assert len(installed) == count


@pytest.mark.parametrize(("requires", "said"), [((), ""), (("einops",), ", installing 1 of them anew")], ids=["same", "changed"])
def test_the_progress_says_which_environments_are_installed_anew(installed, tmp_path, requires, said):
    """Those for which the project requires something else than before."""
    lines = []
    sides = Sides(replace(shipped(), requires=requires), Paths(tmp_path, tmp_path, tmp_path, ("3.11",)))
    sides.open([Measurement(NEW, "3.11", build="cuda")], lambda _, text: lines.append(text))
    assert lines == [f"checking 1 environment{said}"]
    assert len(installed) == (2 if said else 1)


def test_a_commit_whose_project_is_invalid_fails_alone_where_environments_are_checked(installed, tmp_path):
    """It fails when it is opened, which names the reason; the others are measured."""

    class Invalid(Measurement):
        def is_outdated(self, campaign, paths):
            return bool(self.opened(campaign, paths))

        def opened(self, campaign, paths):
            raise TensorcopyError("the operation cut is left out", got="x +", allowed="an expression", next="correct it")

    good, invalid = (kind(NEW, "3.11", build="cuda") for kind in (Measurement, Invalid))
    sides = Sides(shipped(), Paths(tmp_path, tmp_path, tmp_path, ("3.11",)))
    sides.open([good, invalid], lambda *_: None)
    assert [*sides.opened] == [good]
    assert [error.got for error in sides.failed.values()] == ["x +"]


def test_two_programs_install_an_environment_once(installed, tmp_path):
    """The other one waits: uv would remove what the first has installed."""
    (path,) = installed
    (path / environments.COMPLETE).unlink()
    installed.seconds = 0.5
    with ThreadPoolExecutor() as programs:
        for _ in range(2):
            programs.submit(environments.build, tmp_path, NEW, "3.11", "cuda", shipped())
    assert len(installed) == 2


@pytest.mark.parametrize("lost", ["bin/python", "lib/python3.11", "torch"])
def test_an_environment_that_lost_a_file_is_named_and_can_be_built_anew(installed, tmp_path, lost):
    """The message has the folder to remove."""
    (path,) = installed
    if lost == "torch":
        (path / "bin" / "python").write_text("#!/bin/sh\necho 'ImportError: libtorch.so' >&2; exit 1\n")
    else:
        (path / lost).rename(path / "lost")
    with pytest.raises(
        TensorcopyError, match=rf"the environment {path.name} is damaged: a file is missing: .*; next: remove {path}, it is built anew"
    ):
        environments.build(tmp_path, NEW, "3.11", "cuda", shipped())
    assert len(installed) == 1
    shutil.rmtree(path)
    environments.build(tmp_path, NEW, "3.11", "cuda", shipped())
    assert len(installed) == 2


def test_an_environment_with_another_torch_is_refused_whenever_it_is_used(installed, tmp_path):
    with pytest.raises(TensorcopyError, match="its torch_sha differs from the table of releases"):
        environments.build(tmp_path, replace(NEW, sha="0" * 40), "3.11", "cuda", shipped())


@pytest.mark.parametrize("what", ["cuda is there and fails", "mine.through_numpy(x) cannot be run"])
def test_a_fault_that_is_not_the_environments_is_named_and_nothing_is_built_anew(installed, tmp_path, what):
    """A GPU that fails, or an own operation, fails in the next environment too."""
    (path,) = installed
    document = {"error": {"what": what, "got": "no memory", "allowed": "cpu", "next": "free it"}}
    (path / "bin" / "python").write_text(f"#!/bin/sh\necho '{json.dumps(document)}'; exit 2\n")
    with pytest.raises(TensorcopyError, match=re.escape(f"{what}: got no memory")):
        environments.build(tmp_path, NEW, "3.11", "cuda", shipped())
    assert len(installed) == 1
