"""docs/slurm.sh as Slurm runs it: tasks on several nodes, with the variables that Slurm sets."""

import subprocess
import sys

import pytest

from tensorcopy.results import reader
from tests.ci.test_pull_request import Repository

pytestmark = pytest.mark.weekly

SUITES = r"^copies\.BySize.*clone.*, 16\)"


def test_the_tasks_of_a_job_array_share_the_launches(workshop, tmp_path):
    """At once, each on another node; no launch is lost, or half written. Submitted again, a task takes none: there are enough."""
    repository = Repository(tmp_path / "submitted", workshop)

    def task(number: int, node: str) -> subprocess.Popen[str]:
        (tmp_path / node).mkdir()
        scheduler = {
            "SLURM_ARRAY_JOB_ID": "4711",
            "SLURM_ARRAY_TASK_ID": str(number),
            "SLURM_SUBMIT_DIR": str(repository.folder),
            "SLURM_TMPDIR": str(tmp_path / node),
            "CUDA_VISIBLE_DEVICES": "NoDevFiles",
        }
        ours = {"MACHINE": "node", "INTERPRETER": sys.executable, "LAUNCHES": "3", "ANYWAY": "1"}
        return subprocess.Popen(
            ["bash", str(repository.folder / "docs" / "slurm.sh"), "--bench", SUITES],
            cwd=repository.folder,
            env={**workshop.environment, **scheduler, **ours, "PYTHONPATH": ".", "TENSORCOPY": f"{sys.executable} -m tensorcopy"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def launches() -> int:
        loaded = reader.load_results(repository.folder / "measured")
        assert loaded.problems == ()
        return sum(launch.machine == "node" and launch.kind == "times" for launch in loaded.launches)

    for running in [task(1, "a"), task(2, "b")]:
        _, errors = running.communicate()
        assert running.returncode == 0, errors
    assert launches() in (3, 4)  # two tasks may begin the third one at the same moment
    taken = launches()
    again = task(1, "c")
    _, errors = again.communicate()
    assert again.returncode == 0, errors
    assert launches() == taken
    done = workshop.run("tensorcopy", "merge", str(repository.folder / "measured"), "--into", str(tmp_path / "all"))
    assert done.returncode == 0, done.stderr
