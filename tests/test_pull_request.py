"""Two real commits, compared by the command of pull-request.yml."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tensorcopy.configuration import Paths
from tensorcopy.ci import pull_request
from tensorcopy.ci.pull_request import PairResult, PullRequest, Revision, RevisionFolder, RevisionPair, RevisionPlace
from tensorcopy.cli import main
from tensorcopy.measure import plan
from tensorcopy.releases import release_table
from tensorcopy.report import pr_comment
from tests.conftest import NEW, ROOT, assert_golden, measured_in_passes, pass_times

AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@example.org")
FEW = ["--passes", "3", "--bench", r"^copies\.BySize.*detach.*, 16\)"]  # two methods, and those that a head adds
ONE_CASE = r"^copies\.BySize.*'detach_clone', 16\)"
# other tests disturb the passes, of which more would be taken
PROGRAM = """
import sys
from tensorcopy import cli
from tensorcopy.results import passes
passes.quiet_limit = lambda records: float("inf")
sys.exit(cli.main(sys.argv[1:]))
"""
FEWEST = ["--passes", "3", "--bench", ONE_CASE]  # a comparison needs three passes
METHODS, TABLE, COPIES = "tensorcopy/worker/methods.py", "tensorcopy/releases.toml", "benchmarks/copies.py"


def run(folder: Path, *command: str) -> str:
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


class Repository:
    """A repository with the files of this checkout, and heads that fork from it."""

    def __init__(self, folder: Path, source: Path) -> None:
        self.folder = folder
        regenerated = {".asv", "results", "site"}  # of the checkout: the package has folders of these names
        shutil.copytree(source, folder, ignore=lambda path, _: regenerated if Path(path) == source else ())
        run(folder, "git", "init", "-q", "-b", "main")
        run(folder, "git", "add", "--all")
        self.commit("base")

    def commit(self, message: str) -> str:
        run(self.folder, "git", *AUTHOR, "commit", "-q", "--all", "--allow-empty", "-m", message)
        return run(self.folder, "git", "rev-parse", "HEAD").strip()

    def head(self, *edits: tuple[str, str, str], base: str = "main") -> str:
        """Return a commit on top of `base` with edits of texts that occur once."""
        run(self.folder, "git", "checkout", "-q", "--detach", base)
        for name, before, after in edits:
            path = self.folder / name
            text = path.read_text(encoding="utf-8")
            assert text.count(before) == 1, (name, before)
            path.write_text(text.replace(before, after), encoding="utf-8")
        return self.commit("head")


@pytest.fixture(scope="module")
def repository(workshop, tmp_path_factory):
    repository = Repository(tmp_path_factory.mktemp("repository") / "work", workshop.root)
    (workshop.root / ".asv" / "env").mkdir(parents=True, exist_ok=True)
    (repository.folder / ".asv").mkdir()
    (repository.folder / ".asv" / "env").symlink_to(workshop.root / ".asv" / "env")  # torch is installed once for all tests
    return repository


@pytest.fixture
def measured(repository, workshop):
    """A function that runs the step of pull-request.yml between two commits.

    It returns the finished process, its document and the comment, without the commits' names.
    """
    workflow = (ROOT / ".github/workflows/pull-request.yml").read_text()
    (step,) = re.findall(r"run: uv run --no-default-groups --extra dashboard tensorcopy (ci pull-request .*)", workflow)

    def measure(head: str, base: str = "main", few: list[str] = FEW) -> tuple[subprocess.CompletedProcess[str], dict[str, object], str]:
        out = repository.folder / "comparison"
        shutil.rmtree(out, ignore_errors=True)
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                PROGRAM,
                *shlex.split(step.replace('"$BASE"', base).replace('"$HEAD"', head).replace('"$PASSES"', "10")),
                *few,
            ],
            cwd=repository.folder,
            env={**workshop.environment, "PYTHONPATH": str(repository.folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (out / "comparison.json").exists(), done.stderr
        document = json.loads((out / "comparison.json").read_text())
        comment = pr_comment.body("cpu", pr_comment.section(out, "", "cpu"))
        for sha in (document["base"], document["head"]):
            comment = comment.replace(sha[:12], "COMMIT").replace(sha[:8], "COMMIT")
        return done, document, comment

    return measure


def without_figures(comment: str) -> str:
    """Return a comment without its figures, which differ from run to run."""
    comment = re.sub(r"torch [\d.]+, .*, Python", "torch N, CPU, Python", comment)
    return re.sub(r"\d+(\.\d+)?( ([nµm]?s|%|×)|×)|\d\.\d\d", "N", comment)


@pytest.mark.slow
@pytest.mark.flaky(reruns=2)  # other tests run beside it, which its passes see
def test_extra_clones_are_detected_and_named(repository, measured):
    """No time has a wrong name, although the registry has a new order and method."""
    head = repository.head(
        (METHODS, '    make_method("clone_detach", "x.clone().detach()", _everywhere("1.9.0", _both(INDEPENDENT))),\n', ""),
        (
            METHODS,
            '    make_method("detach_clone", "x.detach().clone()", _everywhere("1.9.0", _both(INDEPENDENT))),\n',
            f'    make_method("detach_clone", "x.detach(){10 * ".clone()"}", _everywhere("1.9.0", _both(INDEPENDENT))),\n'
            '    make_method("detach_twice", "x.detach().detach().clone()", _everywhere("1.9.0", _both(INDEPENDENT))),\n'
            '    make_method("clone_detach", "x.clone().detach()", _everywhere("1.9.0", _both(INDEPENDENT))),\n',
        ),
    )
    done, document, comment = measured(head, few=[*FEW, "--interpreter", "same"])  # an installation is not timed
    assert done.returncode == 1, done.stderr
    (pair,) = document["pairs"]
    changes = {row["parameters"]["method"]: row for row in pair["comparison"]["changes"]}
    assert {method: row["verdict"] for method, row in changes.items() if row["verdict"] in ("slower", "faster")} == {
        "detach_clone": "slower"
    }
    assert changes["detach_clone"]["ratio"] > 3  # about 6: with few passes on a busy machine, the interval of a smaller change includes 1
    assert (changes["clone_detach"]["ratio"] or 1) < 2
    assert changes["detach_twice"]["reason"] == "no_samples_before"
    assert re.search(
        r"### 🔴 1 of 3 cases slower.*; largest slowdown: copies\.BySize detach\\_clone numel=16, by .*\n",
        comment,
    )


@pytest.mark.slow
def test_without_a_change_the_comment_states_the_largest_possible_change(repository, measured):
    """A comment in the registry changes no time."""
    head = repository.head((METHODS, "COPIES = Methods(", "# the article's\nCOPIES = Methods("))
    done, document, comment = measured(head, few=FEWEST)
    assert done.returncode == 0, done.stderr
    (pair,) = document["pairs"]
    assert pair["failures"] == []
    assert {row["verdict"] for row in pair["comparison"]["changes"]} <= {"unchanged", "inconclusive"}
    assert re.search(r"### ⚪ No significant change in [12] case", comment)


@pytest.mark.slow
def test_a_suite_that_cannot_be_imported_is_a_failure(repository, measured):
    """It is not faster. The whole comment matches a golden file."""
    head = repository.head((COPIES, "from .cases import", "import nothing_of_the_kind\n\nfrom .cases import"))
    done, document, comment = measured(head, few=["--passes", "2", "--bench", ONE_CASE])
    assert done.returncode == 2
    assert "nothing was compared" in done.stderr
    (pair,) = document["pairs"]
    assert pair["comparison"] is None
    assert "nothing_of_the_kind" in comment
    assert_golden("pull_request_failed.md", without_figures(comment))


@pytest.mark.slow
def test_a_new_row_is_compared_with_the_row_before(repository, measured):
    """Base and head are not compared: nothing else that is measured changed."""
    table = (repository.folder / TABLE).read_text(encoding="utf-8")
    head, *rows = table.split("[[release]]")
    first, last = rows[0], rows[-1]
    run(repository.folder, "git", "checkout", "-q", "--detach", "main")
    (repository.folder / TABLE).write_text(f"{head}[[release]]{first}", encoding="utf-8")
    base = repository.commit("one release")
    (repository.folder / TABLE).write_text(f"{head}[[release]]{first}[[release]]{last}", encoding="utf-8")
    done, document, comment = measured(repository.commit("another"), base, FEWEST)
    assert done.returncode in (0, 1), done.stderr
    (pair,) = document["pairs"]
    assert pair["kind"] == "release"
    assert pair["torch"] == [release_table.load()[0].version, release_table.load()[-1].version]
    assert f"torch {pair['torch'][0]} → torch {pair['torch'][1]}" in comment
    assert any(row["interval"] for row in pair["comparison"]["changes"])


def measured_pair(tmp_path, monkeypatch, take_passes) -> PairResult:
    """Return the result of base and head, with `take_passes` in place of a measurement."""
    monkeypatch.setattr(pull_request, "exported", lambda sha, folder, environments: RevisionPlace(folder, folder / "results"))
    monkeypatch.setattr(RevisionFolder, "take_passes", take_passes)
    measurement = plan.Measurement(NEW, "3.11", build="cuda")
    pair = RevisionPair("code", Revision("base", "b" * 40, measurement), Revision("head", "a" * 40, measurement))
    request = PullRequest("b" * 40, "a" * 40, passes=8)
    paths = Paths(tmp_path / "results", tmp_path / "site", tmp_path / "env", ("3.11",))
    return pull_request.measure_and_judge(pair, request, paths, lambda progress: None)


def test_a_slower_head_is_confirmed_with_passes_of_its_own(tmp_path, monkeypatch):
    """Each revision measures in another folder, also again, alternating; two passes in a row are one run."""
    folders = []

    def take_passes(self, suites, more):
        folders.append((*self.place.folder.relative_to(tmp_path).parts[2:], more))
        count = self.pass_count + more
        times = {"detach_clone": 1.3 if self.revision.name == "head" else 1.0, "clone_detach": 1.0}
        passes = {method: (pass_times(time) * 2)[:count] for method, time in times.items()}
        measured_in_passes(self.place.folder / "results", NEW, passes, machine=pull_request.MACHINE)
        return []

    result = measured_pair(tmp_path, monkeypatch, take_passes)
    verdicts = {case["method"]: change.verdict.value for case, change in result.comparison.changes.items()}
    assert verdicts == {"detach_clone": "slower", "clone_detach": "unchanged"}
    runs = [("base", 1), ("head", 2), ("base", 2), ("head", 2), ("base", 2), ("head", 2), ("base", 2), ("head", 2), ("base", 1)]
    assert folders[: len(runs)] == [("measured", *run) for run in runs]
    assert {stage for stage, _, _ in folders} == {"measured", "again"}
    assert pull_request.exit_code([result]) == 1


def test_a_revision_that_takes_no_pass_is_a_failure(tmp_path, monkeypatch):
    """Its error lines are in the result, each once."""
    result = measured_pair(tmp_path, monkeypatch, lambda self, suites, more: ["out of memory", "out of memory"])
    assert (result.comparison, result.failures) == (None, {"base": ["out of memory"]})
    assert pull_request.exit_code([result]) == 2


def test_a_commit_is_not_compared_with_itself(tmp_path, monkeypatch, capsys):
    """Every case would be unchanged."""
    monkeypatch.chdir(tmp_path)
    for variable in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(variable)
    shutil.copy(ROOT / "asv.conf.json", tmp_path)
    run(tmp_path, "git", "init", "-q", "-b", "head")
    run(tmp_path, "git", *AUTHOR, "commit", "-q", "--allow-empty", "-m", "one")
    assert main(["ci", "pull-request", "--base", "head", "--head", "head"]) == 2
    assert "there is nothing to compare" in capsys.readouterr().err
    assert not (tmp_path / "comparison").exists()


def test_a_folder_is_linked_again_to_environments_that_were_removed(tmp_path):
    """As after `rm -rf .asv/env`: the link is still there, and leads to nothing."""
    shared, folder = tmp_path / "env", tmp_path / "commit"
    folder.mkdir()
    for _ in range(2):
        pull_request._link_environments(folder, shared)
        (shared / "here").touch()
        assert (folder / ".asv" / "env" / "here").exists()
        shutil.rmtree(shared)


NAMES = {
    "cuda": "copies.Latency.time_copy('tensor', 16, 'cuda')",
    "mps": "copies.Latency.time_copy('tensor', 16, 'mps')",
    "cpu": "copies.BySize.time_copy('tensor', 16)",
    "counts": "instructions.BySize.track('tensor', 16)",
}


@pytest.mark.parametrize(
    ("options", "selected"),
    [({"device": "cuda"}, ["cuda"]), ({"device": "cuda", "suites": "16, 'cuda'"}, ["cuda"]), ({"suites": "BySize"}, ["cpu"])],
)
def test_a_pull_request_is_judged_by_the_times_of_its_device(options, selected):
    """Whatever its pattern: a count could decide a verdict, which the comment does not show."""
    selection = PullRequest("a", "b", 4, **options).selection
    assert [name for name, case in NAMES.items() if re.search(selection, case)] == selected
