"""Two real commits, compared by the command of pull-request.yml; and looks at launches with known times."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tensorcopy.analysis import comparisons
from tensorcopy.ci import pull_request
from tensorcopy.ci.pull_request import PullRequest, RevisionPair
from tensorcopy.cli import main
from tensorcopy.configuration import Paths
from tensorcopy.measure import now, plan, revisions, taking
from tensorcopy.releases import release_table
from tensorcopy.report import pr_comment
from tensorcopy.report.sentences import failures
from tests import launch_files
from tests.conftest import ROOT, assert_golden
from tests.test_git import AUTHOR, sha
from tests.test_git import run as git

FEW = ["--launches", "4", "--bench", r"^copies\.BySize.*detach.*, 16\)"]  # two methods, and those that a head adds
METHODS, TABLE, COPIES = "tensorcopy/worker/methods.py", "tensorcopy/releases.toml", "benchmarks/copies.py"
CLONE_DETACH = '    make_method("clone_detach", "x.clone().detach()", _everywhere("1.9.0", _both(INDEPENDENT))),\n'
DETACH_CLONE = '    make_method("detach_clone", "x.detach().clone()", _everywhere("1.9.0", _both(INDEPENDENT))),\n'


def run_module(repository, workshop, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m` with arguments in a repository, whose package is used."""
    environment = {**workshop.environment, "PYTHONPATH": str(repository.folder)}
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=repository.folder, env=environment, capture_output=True, text=True, check=False)


class Repository:
    """A repository with the files of this checkout, and heads that fork from it."""

    def __init__(self, folder: Path, source: Path) -> None:
        self.folder = folder
        regenerated = {".asv", "results", "site"}  # of the checkout: the package has folders of these names
        shutil.copytree(source, folder, ignore=lambda path, _: regenerated if Path(path) == source else ())
        git(folder, "init", "-q", "-b", "main")
        git(folder, "add", "--all")
        self.commit("base")

    def commit(self, message: str) -> str:
        git(self.folder, *AUTHOR, "commit", "-q", "--all", "--allow-empty", "-m", message)
        return sha(self.folder)

    def head(self, *edits: tuple[str, str, str], base: str = "main") -> str:
        """Return a commit on top of `base` with edits of texts that occur once."""
        git(self.folder, "checkout", "-q", "--detach", base)
        for name, before, after in edits:
            path = self.folder / name
            text = path.read_text(encoding="utf-8")
            assert text.count(before) == 1, (name, before)
            path.write_text(text.replace(before, after), encoding="utf-8")
        return self.commit("head")


@pytest.fixture(scope="module")
def repository(workshop, tmp_path_factory):
    return Repository(tmp_path_factory.mktemp("repository") / "work", workshop.root)


@pytest.fixture
def measured(repository, workshop, old_python):
    """A function that runs the step of pull-request.yml between the branch main and a head, with the oldest torch.

    It returns the finished process, the one pair of its document, and the comment without the commits' names.
    """
    workflow = (ROOT / ".github/workflows/pull-request.yml").read_text()
    (step,) = re.findall(r"run: uv run --no-default-groups --extra dashboard tensorcopy (ci pull-request .*)", workflow)

    def measure(head: str, *, stored: bool = False) -> tuple[subprocess.CompletedProcess[str], dict[str, object], str]:
        out = repository.folder / "comparison"
        shutil.rmtree(out, ignore_errors=True)
        written = step if stored else step.replace(" --stored", "")  # nothing is stored that asv has measured
        options = [*shlex.split(written.replace('"$BASE"', "main").replace('"$HEAD"', head)), "--interpreter", old_python, *FEW]
        done = run_module(repository, workshop, "tensorcopy", *options)
        assert (out / "comparison.json").exists(), done.stderr
        document = json.loads((out / "comparison.json").read_text())
        comment = pr_comment.body("cpu", pr_comment.section(out, "", "cpu"))
        for commit in (document["base"], document["head"]):
            comment = comment.replace(commit[:12], "COMMIT").replace(commit[:8], "COMMIT")
        (pair,) = document["pairs"]
        return done, pair, comment

    return measure


def asv_steps(repository, workshop, old_python: str, head: str) -> list[tuple[int, str]]:
    """Return the exit code and output of the steps of pull-request.yml that call asv, with the oldest torch, and of `asv show`."""
    workflow = (ROOT / ".github/workflows/pull-request.yml").read_text()
    steps = re.findall(r"run: uv run --no-default-groups --extra dashboard asv ((?:continuous|compare) [^>\n]*)", workflow)
    outcomes = []
    for step in (*steps, "show HEAD"):
        words = shlex.split(step.replace('"$BASE"', "main").replace('"$HEAD"', head).replace("HEAD", head))
        options = ["-E", f"interpreter:{old_python}", *(["-a", "rounds=4", "--bench", FEW[-1]] if "continuous" in words else [])]
        done = run_module(repository, workshop, "asv", *words, *options)
        outcomes.append((done.returncode, done.stdout + done.stderr))
    return outcomes


@pytest.mark.slow
def test_extra_clones_are_detected_and_named(repository, measured, workshop, old_python):
    """No time has a wrong name, although the registry of head has another order, and one method more.

    asv measures, prints and exits as its users know it; the judged comment needs no further launch.
    """
    ten = DETACH_CLONE.replace(".clone()", 10 * ".clone()")
    twice = DETACH_CLONE.replace("detach_clone", "detach_twice").replace("x.detach()", "x.detach().detach()")
    head = repository.head((METHODS, CLONE_DETACH, ""), (METHODS, DETACH_CLONE, ten + twice + CLONE_DETACH))
    continuous, compare, show = asv_steps(repository, workshop, old_python, head)
    slower = re.compile(r"^\| \+ +\| .*\| copies\.BySize\.time_copy\('detach_clone', 16\) +\|$", re.MULTILINE)
    assert continuous[0] == 1, continuous
    assert "PERFORMANCE DECREASED." in continuous[1]
    assert compare[0] == show[0] == 0, (compare, show)
    for _, shown in (continuous, compare):
        assert slower.search(shown), shown
    assert re.search(rf"Commit: {head[:8]}.*detach_clone .*\d±\d", show[1], re.DOTALL), show
    done, pair, comment = measured(head, stored=True)
    assert done.returncode == 1, done.stderr
    assert "launch" not in done.stderr
    changes = {row["parameters"]["method"]: row for row in pair["comparison"]["changes"]}
    assert changes["detach_clone"]["time_verdict"] == "slower", changes
    assert changes["detach_clone"]["time_ratio"] > 3  # about 6
    assert 0.8 < changes["clone_detach"]["time_ratio"] < 1.25  # in one run of twenty, a false alarm is right
    assert changes["detach_twice"]["reason"] == "only_after"
    assert pair["failures"] == []  # base lacks the method: that is no error
    assert re.search(r"### 🔴 Time: [12] slower, [01] faster, .* of 3 cases\.\n", comment)
    assert "Largest slowdown: copies.BySize detach\\_clone numel=16, by " in comment


@pytest.mark.slow
def test_equal_code_is_quiet_and_launches_are_used_again(repository, measured):
    """A comment in the registry changes no time. The command, typed again, takes no launch."""
    head = repository.head((METHODS, "COPIES = Methods(", "# the article's\nCOPIES = Methods("))
    done, pair, comment = measured(head)
    told = {row["time_ratio"] for row in pair["comparison"]["changes"] if row["time_verdict"] in ("slower", "faster")}
    assert len(told) < 2, pair  # in one run of twenty, there is a false alarm
    assert all(0.9 < ratio < 1.1 for ratio in told), pair
    assert done.returncode == (1 if any(ratio > 1 for ratio in told) else 0), done.stderr
    assert re.search(r"Time: [01] slower, [01] faster, .* of 2 cases\.\n", comment)
    assert "launch 4 of at most 4" in done.stderr
    again, same, _ = measured(head)
    assert "launch" not in again.stderr
    assert same == pair


@pytest.mark.slow
def test_a_suite_that_cannot_be_imported_is_a_failure(repository, measured):
    """It is not faster. The whole comment matches a golden file."""
    head = repository.head((COPIES, "from .cases import", "import nothing_of_the_kind\n\nfrom .cases import"))
    done, pair, comment = measured(head)
    assert done.returncode == 2
    assert "nothing was compared" in done.stderr
    assert pair["comparison"] is None
    assert_golden("pull_request_failed.md", comment)


@pytest.mark.slow
def test_a_new_row_is_compared_with_the_row_before(repository, monkeypatch):
    """Base and head are not compared: nothing else that is measured changed."""
    head, *rows = (repository.folder / TABLE).read_text(encoding="utf-8").split("[[release]]")
    shas = []
    for of in ([rows[-2]], rows[-2:]):
        git(repository.folder, "checkout", "-q", "--detach", *shas[-1:] or ["main"])
        (repository.folder / TABLE).write_text("[[release]]".join([head, *of]), encoding="utf-8")
        shas.append(repository.commit("releases"))
    monkeypatch.chdir(repository.folder)
    paths = Paths(Path("results"), Path("site"), repository.folder / ".asv" / "env", ("3.11",))
    (pair,) = pull_request.pairs(PullRequest(*shas), paths)
    assert pair.kind == "release"
    assert [each.release for each in pair.revisions] == list(release_table.load())[-2:]
    assert [each.commit for each in pair.revisions] == shas[1:] * 2  # both with head's suites


BASE, HEAD = "2.15.0#" + "b" * 40, "2.15.0#" + "a" * 40


class Looks:
    """Launches of a planned pull request, taken as they are asked for.

    cases : by name, the microseconds of base and head, as `launch_files.write` takes them
    """

    def __init__(self, folder: Path, cases, launches: int = 16, **options) -> None:
        release = release_table.load()[-1]
        measurement = plan.Measurement(release, "3.11", build="cuda")
        names = [f"{side} {name[-8:]}" for side, name in (("base", BASE), ("head", HEAD))]
        pair = RevisionPair("code", *(revisions.of(measurement, side[7:], name) for name, side in zip(names, (BASE, HEAD))))
        stored = launch_files.write(folder / "all", cases, launches=launches, machine="box", **options)
        paths = Paths(Path("results"), Path("site"), folder / "env", ("3.11",))
        job = taking.Job(paths, "box", folder=folder / "results")
        (job.results / "box").mkdir(parents=True)
        self.timed: list[list[str]] = []  # of each look

        def take(look, cases) -> bool:
            self.timed.append([case["method"] for case in cases])
            for path in stored[:look]:
                shutil.copy(path, job.results / "box")
            return look <= len(stored)

        places = [each.place for each in pair.revisions]
        self.comparison = now.judge((4, 8, 16), take, lambda alpha: comparisons.of_places(job.results, job.machine, *places, alpha=alpha))
        self.verdicts = {case["method"]: change.verdict.value for case, change in self.comparison.changes.items()}


def of_both(base, head):
    return {BASE: base, HEAD: head}


CLEAR = {
    "copies.BySize.time_copy tensor 16": of_both(1.0, 1.0),
    "copies.BySize.time_copy clone_detach 16": of_both(1.0, 1.3),
    "copies.BySize.time_copy detach_clone 16": of_both(1.3, 1.0),
    "copies.BySize.time_copy new_tensor 16": of_both(1.0, 1.0),
}
IN_DOUBT = {"copies.BySize.time_copy empty_like_copy 16": of_both([1.0, 1.0] * 8, [0.9, 1.1] * 8)}


def test_what_is_clear_is_decided_at_the_first_look(tmp_path):
    """A slowdown, a speedup, and what is equal."""
    planned = Looks(tmp_path, CLEAR)
    assert planned.verdicts == {"tensor": "unchanged", "clone_detach": "slower", "detach_clone": "faster", "new_tensor": "unchanged"}
    assert planned.timed == [[]]
    assert planned.comparison.alpha == pytest.approx(0.05 / 3)  # there could have been three looks


def test_what_is_undecided_alone_is_timed_further(tmp_path):
    """Until the last look, or until no launch can be taken; the others keep their verdicts."""
    planned = Looks(tmp_path, {**CLEAR, **IN_DOUBT})
    assert planned.verdicts["clone_detach"] == "slower"
    assert planned.verdicts["empty_like_copy"] == "unknown"
    assert planned.timed == [[], ["empty_like_copy"], ["empty_like_copy"]]


def test_a_case_that_fails_or_that_one_commit_skips_is_named_with_its_reason(tmp_path):
    planned = Looks(
        tmp_path,
        {
            **CLEAR,
            "copies.BySize.time_copy added 16": {HEAD: 1.0},
            "copies.BySize.time_copy removed 16": {BASE: 1.0},
            "copies.BySize.time_copy broken 16": of_both(1.0, "ValueError: no"),
            "copies.BySize.time_copy broken 1024": of_both(1.0, "ValueError: no"),
        },
    )
    reasons = {case["method"]: change.reason.value for case, change in planned.comparison.changes.items()}
    assert (reasons["added"], reasons["removed"], reasons["broken"]) == ("not_measured_before", "not_measured_after", "failed_after")
    assert failures(planned.comparison.before) == []
    assert failures(planned.comparison.after) == [f"copies.BySize broken numel={numel}: ValueError: no" for numel in (16, 1024)]


def test_a_commit_is_not_compared_with_itself(tmp_path, monkeypatch, capsys):
    """Every case would be unchanged."""
    monkeypatch.chdir(tmp_path)
    for variable in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(variable)
    shutil.copy(ROOT / "asv.conf.json", tmp_path)
    git(tmp_path, "init", "-q", "-b", "head")
    git(tmp_path, *AUTHOR, "commit", "-q", "--allow-empty", "-m", "one")
    assert main(["ci", "pull-request", "--base", "head", "--head", "head"]) == 2
    assert "there is nothing to compare" in capsys.readouterr().err
    assert not (tmp_path / "comparison").exists()


NAMES = {
    "cuda": "copies.Latency.time_copy('tensor', 16, 'cuda')",
    "mps": "copies.Latency.time_copy('tensor', 16, 'mps')",
    "cpu": "copies.BySize.time_copy('tensor', 16)",
    "counts": "instructions.BySize.track('tensor', 16)",
}


@pytest.mark.parametrize(
    ("options", "selected"),
    [({"device": "cuda"}, ["cuda"]), ({"device": "cuda", "suites": "16, 'cuda'"}, ["cuda"]), ({"suites": "BySize"}, ["cpu", "counts"])],
)
def test_a_pull_request_is_judged_by_the_times_of_its_device(options, selected):
    """Launches time what the selection has, and count nothing."""
    selection = PullRequest("a", "b", **options).selection
    assert [name for name, case in NAMES.items() if re.search(selection, case)] == selected
