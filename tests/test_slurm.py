"""docs/slurm.sh as Slurm runs it: a task for each share of the passes, with the variables that Slurm sets."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tensorcopy.results import files, reader
from tests.test_pull_request import Repository
from tests.test_true_numbers import NEWEST

SUITES = r"^copies\.BySize.*clone.*, 16\)"


@pytest.mark.slow
def test_the_tasks_of_a_job_array_share_the_passes(workshop, tmp_path):
    """Each task runs on another node. Submitted again, a finished task measures nothing. After merging, every pass is there once."""
    built = workshop.run("tensorcopy", "measure", NEWEST.version, "--passes", "1", "--machine", "before", "--bench", SUITES)
    assert built.returncode == 0, built.stderr
    (python,) = (workshop.root / ".asv" / "env").glob(f"{NEWEST.version}-*/bin/python")
    repository = Repository(tmp_path / "submitted", workshop.root)

    def task(number: int, node: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / node).mkdir()
        scheduler = {
            "SLURM_ARRAY_JOB_ID": "4711",
            "SLURM_ARRAY_TASK_ID": str(number),
            "SLURM_ARRAY_TASK_COUNT": "2",
            "SLURM_SUBMIT_DIR": str(repository.folder),
            "SLURM_TMPDIR": str(tmp_path / node),
            "CUDA_VISIBLE_DEVICES": "NoDevFiles",
        }
        ours = {"MACHINE": "node", "INTERPRETER": str(python), "PASSES": "3", "ANYWAY": "1"}
        return subprocess.run(
            ["bash", str(repository.folder / "docs" / "slurm.sh"), "--bench", SUITES],
            cwd=repository.folder,
            env={**workshop.environment, **scheduler, **ours, "PYTHONPATH": ".", "TENSORCOPY": f"{sys.executable} -m tensorcopy"},
            capture_output=True,
            text=True,
            check=False,
        )

    for number, node, message in ((1, "a", "1 release with 2 passes each after part 1/2"), (2, "b", "1 passes each after part 2/2")):
        done = task(number, node)
        assert done.returncode == 0, done.stderr
        assert message in done.stdout
    again = task(1, "c")
    assert again.returncode == 0, again.stderr
    assert "pass 1 of" not in again.stdout
    folders = [str(repository.folder / "measured" / number) for number in "12"]
    done = workshop.run("tensorcopy", "merge", *folders, "--into", str(tmp_path / "all"))
    assert done.returncode == 0, done.stderr
    (result,) = reader.load_results(tmp_path / "all").results
    assert [record["shard"] for record in result.passes] == ["1/2", "1/2", "2/2"]
    assert {len(timing.by_pass) for timing in result.timings.values()} == {3}
    assert files.fault(files.read(result.path)) == ""
