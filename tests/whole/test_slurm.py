"""docs/slurm.sh as Slurm runs it: tasks on several nodes, with the variables that Slurm sets."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tensorcopy.copying.shipped import shipped
from tensorcopy.results import reader
from tests.repositories import commit_all
from tests.repositories import run as git

pytestmark = pytest.mark.weekly

SUITES = r"^copies\.BySize.*clone.*, 16\)"


def test_the_tasks_of_a_job_array_share_the_launches(workshop, tmp_path):
    """At once, each on another node; no launch is lost, or half written. Submitted again, a task takes none: there are enough."""
    submitted = tmp_path / "submitted"
    shutil.copytree(workshop.root, submitted, ignore=lambda path, _: {".asv", "site"} if Path(path) == workshop.root else ())
    git(submitted, "init", "-q", "-b", "main", ".")
    commit_all(submitted, "all")

    def task(number: int, node: str) -> subprocess.Popen[str]:
        (tmp_path / node).mkdir()
        scheduler = {
            "SLURM_ARRAY_JOB_ID": "4711",
            "SLURM_ARRAY_TASK_ID": str(number),
            "SLURM_ARRAY_TASK_COUNT": "2",
            "SLURM_SUBMIT_DIR": str(submitted),
            "SLURM_TMPDIR": str(tmp_path / node),
            "CUDA_VISIBLE_DEVICES": "NoDevFiles",
        }
        ours = {"HISTORY": "node", "INTERPRETER": sys.executable, "LAUNCHES": "3"}
        return subprocess.Popen(
            ["bash", str(submitted / "docs" / "slurm.sh"), "--bench", SUITES],
            cwd=submitted,
            env={**workshop.environment, **scheduler, **ours, "PYTHONPATH": ".", "TENSORCOPY": f"{sys.executable} -m tensorcopy"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def launches() -> int:
        loaded = reader.load_results(submitted / "measured", shipped())
        assert loaded.problems == ()
        return sum(launch.kind == "times" for history in loaded.histories if history.name == "node" for launch in history.launches)

    for running in [task(1, "a"), task(2, "b")]:
        _, errors = running.communicate()
        assert running.returncode == 0, errors
    assert launches() == 3
    again = task(1, "c")
    _, errors = again.communicate()
    assert again.returncode == 0, errors
    assert launches() == 3
