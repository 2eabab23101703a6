"""An environment matches its release, or is refused."""

import ast
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pynvml
import pytest

from tensorcopy import campaign
from tensorcopy.configuration import Paths
from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import DiskError, TensorcopyError
from tensorcopy.measure import sides
from tensorcopy.releases import environments, interpreters, release_table, uv
from tensorcopy.worker import nvidia
from tests.conftest import NEW, ROOT

TAKEN = {"2.8.0": 6.8, "2.14.1": 5.7, "2.15.0": 5.6}  # GB, as `du` shows it of an environment on Python 3.11 with CUDA
GOOD = {"torch": "2.0.0+cu117", "torch_sha": NEW.sha, "build": "cuda", "numpy": "1.26.4", "asv_runner": environments.RUNNER}
FOLDER = f"{NEW.version}-py3.11-cuda"


def verify(**provenance):
    environments.verify({**GOOD, **provenance}, NEW, "3.11", "cuda", shipped(), Path("/place"))


@pytest.mark.parametrize(
    ("field", "installed"),
    [("torch", "2.0.1"), ("torch_sha", NEW.sha[:-1] + "c"), ("build", "cpu"), ("numpy", "2.1.0"), ("asv_runner", "0.2.5")],
)
def test_a_differing_environment_is_refused(field, installed):
    """The message has the installed value, the expected one and the remedies. The wheel's local version need not match."""
    verify()
    got = rf"its {field} differs from the table of releases: got {installed} in .*; allowed: {GOOD[field].split('+')[0]}"
    with pytest.raises(TensorcopyError, match=rf"{got}; next: remove /place and repeat, set UV_TORCH_BACKEND .*, or correct the row"):
        verify(**{field: installed})


def test_a_torch_that_is_not_in_the_table_is_refused(monkeypatch):
    """Such as the build of a container."""
    told = {"torch": "2.9.0a0+nv25", "torch_sha": "0" * 40}
    monkeypatch.setattr(interpreters, "run_probe", lambda *_: {"provenance": told})
    with pytest.raises(TensorcopyError, match=r"this torch is not in the table of releases: got 2.9.0a0\+nv25 built from 0000"):
        sides.in_interpreters(["same"], shipped())


@pytest.mark.parametrize(("backend", "build"), [("cpu", "cpu"), ("cu126", "cuda"), ("rocm6.4", "rocm"), ("xpu", "xpu")])
def test_the_expected_build_follows_uv_s_setting(monkeypatch, backend, build):
    """UV_TORCH_BACKEND selects the kind of wheel."""
    monkeypatch.setenv("UV_TORCH_BACKEND", backend)
    assert environments.expected_build() == build


def test_a_package_that_cannot_be_built_is_named_with_the_reason(monkeypatch):
    """However much its compiler says in between."""
    monkeypatch.setattr(uv, "find_uv_bin", lambda: sys.executable)
    with pytest.raises(TensorcopyError, match=r"got Failed to build lab: compiling .* … .* no compiler; allowed: what uv "):
        uv._run("-c", "raise SystemExit('Failed to build lab: ' + 'compiling ' * 999 + 'no compiler')")


@pytest.mark.slow
def test_a_package_is_built_anew_when_its_files_change(monkeypatch, tmp_path):
    """Not when a build, a measurement or an environment has written beside them. The provenance tells which files were installed."""
    (tmp_path / "tensorcopy.toml").write_text('[project]\nname = "lab"\nrequires = ["."]\n')
    built = '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
    (tmp_path / "pyproject.toml").write_text(f'[project]\nname = "lab"\nversion = "1"\n{built}')
    module = tmp_path / "lab.py"
    environment = tmp_path / ".asv" / "env"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(type(NEW), "requirements", lambda *_: [])
    monkeypatch.setattr(uv, "find_python", lambda *_: Path(sys.executable))
    seen = []
    for value, written in ((1, "results/box/1.json"), (1, "build/lib/other.py"), (22, "lab.egg-info/PKG-INFO"), (22, "site/index.html")):
        module.write_text(f"VALUE = {value}")
        environments.install(environment, NEW, "3.11", campaign.read(tmp_path))
        program = f"from tensorcopy.worker import packages; import lab; print(lab.VALUE, packages.installed({[str(tmp_path)]}))"
        command = [uv.interpreter(environment), "-c", program]
        variables = {**os.environ, "PYTHONPATH": str(interpreters.folders(tmp_path / ".asv")[0])}
        printed = subprocess.run(command, cwd=tmp_path / ".asv", check=True, capture_output=True, text=True, env=variables).stdout
        value, _, provenance = printed.strip().partition(" ")
        seen.append((int(value), (environment / "complete").stat().st_mtime_ns, ast.literal_eval(provenance)["requires"]["lab"]))
        (tmp_path / written).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / written).touch()
    assert [value for value, *_ in seen] == [1, 1, 22, 22]  # of another length: Python compares it, and the second, with a .pyc
    assert len({built for _, built, _ in seen}) == 2
    digests = [re.fullmatch(r"1 ([0-9a-f]{12})", text)[1] for *_, text in seen]
    assert (digests[0], digests[2]) == (digests[1], digests[3])
    assert digests[0] != digests[2]


def interpreter(path: Path, command: str) -> Path:
    path.write_text(f"#!/bin/sh\n{command}\n")
    path.chmod(0o755)
    return path


def test_a_relative_path_of_an_interpreter_is_that_of_the_current_folder(tmp_path, monkeypatch):
    """Its process starts in another one."""
    monkeypatch.chdir(tmp_path)
    python = interpreter(tmp_path / "python", f'exec {sys.executable} "$@"')
    assert interpreters.executable("./python") == python


def test_environments_that_open_at_once_share_a_folder(tmp_path):
    """Each of them makes the links that are missing."""
    others = tmp_path / "tensorcopy" / "tensorcopy"
    others.parent.mkdir()
    others.symlink_to("removed")
    with ThreadPoolExecutor(16) as pool:
        made = list(pool.map(lambda _: interpreters.folders(tmp_path), range(64)))
    assert made == [[others.parent]] * 64
    assert others.readlink() == interpreters.PACKAGE
    assert [path.name for path in others.parent.iterdir() if path.name.startswith(".")] == []


def test_progress_and_result_are_read_among_other_output(tmp_path):
    """What a probe runs may print, too."""
    lines = ["a line of text", '{"share": 0.5, "doing": "round 1 of 2"}', "[1]", '{"torch": "2.0.0"}']
    python = interpreter(tmp_path / "python", "\n".join(f"echo '{line}'" for line in lines))
    reports = []
    result = interpreters.run_probe(python, "probe", report_progress=lambda share, doing: reports.append((share, doing)))
    assert reports == [(0.5, "round 1 of 2")]
    assert result == {"torch": "2.0.0"}


def test_an_interrupted_probe_ends_with_what_it_has_started(tmp_path):
    """A signal to the program alone reaches neither."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    command = f'sleep 60 & echo $! > {tmp_path}/started; echo \'{{"share": 0.5, "doing": ""}}\'; wait'
    with pytest.raises(KeyboardInterrupt):
        interpreters.run_probe(interpreter(tmp_path / "python", command), "probe", report_progress=interrupt)
    number, end = int((tmp_path / "started").read_text()), time.monotonic() + 5

    def runs() -> bool:
        with suppress(psutil.NoSuchProcess):
            return psutil.Process(number).status() != psutil.STATUS_ZOMBIE
        return False

    while runs() and time.monotonic() < end:
        time.sleep(0.01)
    assert not runs()


ADVICE = (
    "printf 'Traceback (most recent call last):\\n  File x\\ntorch.AcceleratorError: CUDA error: unspecified launch failure\\n"
    "CUDA kernel errors might be reported at some other call.\\nConsider passing CUDA_LAUNCH_BLOCKING=1\\n' >&2; exit 1"
)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            f'exec {sys.executable} -S "$@"',
            r"there is no torch: got .*python.* without it; .* uv pip install --python /.*/python torch",
        ),
        ("echo 'ImportError: no libcudart' >&2; exit 1", "provenance failed in .*python: got ImportError: no libcudart"),
        ("kill -9 $$", "provenance failed in .*python: got no output, exit status -9"),
        (ADVICE, "got .*AcceleratorError: CUDA error: unspecified launch failure; allowed"),
    ],
    ids=["without torch", "a library", "a signal", "CUDA, and not the advice below it"],
)
def test_a_probe_that_fails_says_why(tmp_path, command, message):
    """Python finds no installed package with the option -S."""
    with pytest.raises(TensorcopyError, match=message):
        interpreters.run_probe(interpreter(tmp_path / "python", command), "tensorcopy.worker.provenance")


def test_an_environment_without_pynvml_uses_the_programs():
    """No release's environment has it. Python finds no installed package with the option -S."""
    file = pynvml.__file__
    code = "from tensorcopy.worker import nvidia; nvidia.driver(); print(nvidia._bindings().__file__)"
    variables = {**os.environ, "PYTHONPATH": str(ROOT), nvidia.BINDINGS: file}
    done = subprocess.run([sys.executable, "-S", "-c", code], env=variables, capture_output=True, text=True, check=True)
    assert done.stdout == f"{file}\n"
    code = "from tensorcopy.worker import nvidia; print(repr(nvidia.driver()))"  # of an interpreter that is asked for its torch
    del variables[nvidia.BINDINGS]
    done = subprocess.run([sys.executable, "-S", "-c", code], env=variables, capture_output=True, text=True, check=True)
    assert done.stdout == "''\n"


class Installations(list[Path]):
    """The environments that uv was asked for, each of which takes it some seconds."""

    seconds = 0.0


@pytest.fixture
def installed(every_python, monkeypatch, tmp_path):
    """An environment as uv installs it; the list of its installations."""
    installations = Installations()

    def make_environment(path: Path, python: Path, requirements: list[str]) -> None:
        time.sleep(installations.seconds)
        installations.append(path)
        (path / "bin").mkdir(parents=True, exist_ok=True)
        interpreter(path / "bin" / "python", "echo 'ImportError: libtorch.so' >&2; exit 1")

    monkeypatch.setattr(uv, "make_environment", make_environment)
    environments.install(tmp_path / FOLDER, NEW, "3.11", shipped())
    return installations


def test_an_environment_is_installed_anew_where_something_else_is_asked_for(installed, tmp_path, monkeypatch):
    """cu126 and cu130 are both "cuda": an environment has the kind that was asked for, whatever it had before; so with requirements."""
    for wheel, requires, count in (("", "", 1), ("cu126", "", 2), ("cu126", "", 2), ("", "", 3), ("", "einops", 4), ("", "einops", 4)):
        monkeypatch.setenv(environments.BACKEND, wheel)
        environments.install(tmp_path / FOLDER, NEW, "3.11", replace(shipped(), requires=tuple(requires.split())))
        assert len(installed) == count


def test_a_full_disk_leaves_no_half_environment(installed, tmp_path, monkeypatch):
    """It would take the space that something else needs."""
    (path,) = installed
    monkeypatch.setattr(uv, "find_uv_bin", lambda: interpreter(tmp_path / "uv", "echo 'failed (os error 28)' >&2; exit 2"))
    monkeypatch.setattr(uv, "make_environment", lambda *_: uv._run("pip"))
    monkeypatch.setenv(environments.BACKEND, "cu126")  # another one than it has
    with pytest.raises(DiskError, match="a disk with free space"):
        environments.install(tmp_path / FOLDER, NEW, "3.11", shipped())
    assert not path.exists()


def test_two_programs_install_an_environment_once(installed, tmp_path):
    """The other one waits: uv would remove what the first has installed."""
    (path,) = installed
    (path / environments.COMPLETE).unlink()
    installed.seconds = 0.1
    with ThreadPoolExecutor() as programs:
        for _ in range(2):
            programs.submit(environments.install, tmp_path / FOLDER, NEW, "3.11", shipped())
    assert len(installed) == 2


@pytest.mark.parametrize("is_there", [True, False])
def test_a_damaged_environment_is_named_with_the_folder_to_remove(installed, tmp_path, monkeypatch, is_there):
    (path,) = installed
    monkeypatch.chdir(tmp_path)
    if not is_there:
        (path / "bin" / "python").unlink()
    paths = Paths(tmp_path, tmp_path, tmp_path, ("3.11",))
    got = "ImportError: libtorch.so" if is_there else "No such file or directory"
    with pytest.raises(
        TensorcopyError, match=rf"the process of py3.11-cuda does not start: got .*{got}.*; next: remove {path}, it is built anew"
    ):
        sides.opened(sides.Side(NEW, "3.11", "cuda"), shipped(), paths)
    assert len(installed) == 1


@pytest.mark.slow
def test_a_side_tells_what_it_is_and_why_it_cannot_use_a_device(tmp_path):
    """Its own process does, which has imported torch; the suites are those of the campaign."""
    (side,) = sides.in_interpreters(["same"], shipped())
    paths = Paths(tmp_path, tmp_path, tmp_path / "env", ("3.11",))
    opened = sides.opened(side, shipped(), paths)
    assert opened.provenance["torch_sha"] == side.release.sha
    assert (opened.torch.name, opened.specs) == ("torch", shipped().specs)
    assert "copies.BySize.time_copy" in {each["name"] for each in opened.benchmarks}
    assert (opened.broken, "clone_detach" in opened.observed["methods"]) == ({}, True)
    if "xpu" not in opened.provenance["accelerators"]:
        with pytest.raises(TensorcopyError, match="xpu"):
            sides.opened(side, shipped(), paths, "xpu")


@pytest.mark.parametrize(("version", "taken"), TAKEN.items())
def test_an_environment_takes_no_more_than_is_announced(version, taken, monkeypatch):
    """Without CUDA a tenth, which is not announced."""
    release = release_table.load().find(version)
    monkeypatch.setenv(environments.BACKEND, "cu126")
    assert taken <= environments.gigabytes(release) <= taken + 1.5
    monkeypatch.setenv(environments.BACKEND, "cpu")
    assert environments.gigabytes(release) == 0
