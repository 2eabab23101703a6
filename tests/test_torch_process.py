"""A process that imports torch once and runs jobs in forks. Here torch is a module that counts its imports."""

from __future__ import annotations

import os
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tensorcopy.asv_plugin import environment
from tensorcopy.errors import CannotRun
from tensorcopy.releases.interpreters import TorchProcess
from tests.conftest import ROOT

JOB = """
import os, sys
import torch
print(os.environ["NAME"], os.getcwd(), *sys.argv[1:])
print("a warning", file=sys.stderr)
torch.seen += 1
sys.exit(torch.seen)
"""
PROBE = "def main(arguments, report_progress):\n    return {'arguments': list(arguments)}\n"


@pytest.fixture
def variables(tmp_path) -> dict[str, str]:
    """The variables of a Python whose torch writes a line into "imports"."""
    (tmp_path / "torch.py").write_text(f"seen = 2\nprint('not JSON')\nopen({str(tmp_path / 'imports')!r}, 'a').write('x')\n")
    (tmp_path / "job.py").write_text(JOB)
    (tmp_path / "probe_of_a_test.py").write_text(PROBE)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)]), "TENSORCOPY_NAME": "", "NAME": "first"}


@pytest.fixture
def process(variables):
    if sys.platform != "linux":
        pytest.skip("processes are forked on Linux only")
    process = TorchProcess.started(Path(sys.executable), variables)
    assert process is not None
    yield process
    process.close()


def test_torch_is_imported_once_for_all_jobs(process, variables, tmp_path):
    """Each job has its own variables, folder, output and exit status, and finds torch as it was imported."""
    (tmp_path / "folder").mkdir()
    for name, folder in (("one", tmp_path), ("two", tmp_path / "folder")):
        finished = process.run([str(tmp_path / "job.py")], ["a", "b"], {**variables, "NAME": name}, folder)
        assert (finished.returncode, finished.stdout, finished.stderr) == (3, f"{name} {folder} a b\n", "a warning\n")
    assert process.run_probe(Path("python"), "probe_of_a_test", "--all", variables=variables) == {"arguments": ["--all"]}
    server = process.become([str(tmp_path / "job.py")], ["last"], variables)
    assert server.stdout.read().decode() == f"first {Path.cwd()} last\na warning\n"
    assert server.wait() == 3
    assert (tmp_path / "imports").read_text() == "x"


def test_a_job_that_a_signal_ends_ends_alone(process, variables, tmp_path):
    """As one that crashes does; its process can run the next one."""
    (tmp_path / "crash.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    assert process.run([str(tmp_path / "crash.py")], [], variables, tmp_path).returncode == -11
    assert process.run([str(tmp_path / "job.py")], [], variables, tmp_path).returncode == 3
    with pytest.raises(CannotRun, match="No module named 'no_such_probe'"):
        process.run_probe(Path("python"), "no_such_probe", variables=variables)


def test_libraries_have_read_their_variables(process, variables):
    """A job with other values needs a process of its own; those of asv and tensorcopy are read by the job."""
    assert process.can_run({**variables, "TENSORCOPY_NAME": "x", "ASV_COMMIT": "y"})
    assert not process.can_run({**variables, "OMP_NUM_THREADS": "7"})
    assert not process.can_run({name: value for name, value in variables.items() if name != "NAME"})


def test_without_torch_there_is_no_process(variables, tmp_path):
    """A process for each job then reports why."""
    (tmp_path / "torch.py").write_text("raise ImportError('libcudart.so.11: no such file')\n")
    assert TorchProcess.started(Path(sys.executable), variables) is None
    assert TorchProcess.started(tmp_path / "no-python", variables) is None


def asv_environment(process: TorchProcess) -> Any:
    """Return an environment of asv with a process that has imported torch."""
    measuring = environment._MeasuringEnvironment.__new__(environment._MeasuringEnvironment)
    measuring._torch = process
    return measuring


def test_asv_lists_the_suites_and_measures_in_the_process(process, variables, tmp_path):
    """What fails is run again in a process of its own, which reports it."""
    (tmp_path / "ends.py").write_text("import sys\nprint(sys.argv[1])\nsys.exit(sys.argv[1] == 'run_server')\n")
    measuring = asv_environment(process)
    assert measuring._shared([str(tmp_path / "ends.py"), "discover", "suites"], variables, tmp_path) == "discover\n"
    server = measuring._shared([str(tmp_path / "ends.py"), "run_server", "suites"], variables, tmp_path)
    assert (server.stdout.read(), server.wait()) == (b"run_server\n", 1)
    assert measuring._shared([str(tmp_path / "ends.py"), "run_server", "suites"], variables, tmp_path) is None


@pytest.mark.parametrize(
    ("state", "job"), [*product(("other variables", "ended"), ("discover", "run_server", "run")), ("failing", "discover")]
)
def test_another_job_has_a_process_of_its_own(process, variables, tmp_path, job, state):
    """Also where the process has ended; it is not left behind."""
    (tmp_path / "fails.py").write_text("raise SystemExit(1)\n")
    measuring = asv_environment(process)
    if state == "ended":
        process._process.kill()
        process._process.wait()
    changed = {**variables, "OMP_NUM_THREADS": "7"} if state == "other variables" else variables
    assert measuring._shared([str(tmp_path / "fails.py"), job], changed, tmp_path) is None
    assert measuring._torch is None
    assert process._process.poll() is not None


def test_an_interrupted_job_is_ended_with_its_process(process, variables, tmp_path, monkeypatch):
    """Nothing goes on measuring."""
    (tmp_path / "long.py").write_text(f"import os, time\nopen({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n")

    def interrupted():
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(process, "_answer", interrupted)
    with pytest.raises(KeyboardInterrupt):
        process.run([str(tmp_path / "long.py")], [], variables, tmp_path)
    until = time.monotonic() + 10
    while _runs(int((tmp_path / "pid").read_text())):
        assert time.monotonic() < until


def _runs(pid: int) -> bool:
    """Return whether a process runs; one that has ended may wait to be read by its parent."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")
