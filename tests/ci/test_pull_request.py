"""Two real commits, compared by the command of pull-request.yml."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tensorcopy.ci import pr_comment, pull_request
from tensorcopy.ci.pull_request import PullRequest
from tensorcopy.cli import main
from tensorcopy.configuration import Paths
from tensorcopy.copying.shipped import shipped
from tensorcopy.releases import release_table
from tests.conftest import ROOT, Checkout, assert_golden
from tests.repositories import AUTHOR, edit, sha
from tests.repositories import run as git

FEW = ["--launches", "3", "--bench", r"^copies\.BySize.*detach.*, 16\)"]  # two methods, and those that a head adds
METHODS, TABLE, COPIES = "tensorcopy/copying/inside/methods.py", "tensorcopy/releases.toml", "benchmarks/copies.py"
CLONE_DETACH = '    make_method("clone_detach", "x.clone().detach()", _everywhere("1.9.0", _both(INDEPENDENT))),\n'
DETACH_CLONE = '    make_method("detach_clone", "x.detach().clone()", _everywhere("1.9.0", _both(INDEPENDENT))),\n'


class Repository:
    """A repository with the files of this checkout, whose package is used in it, and heads that fork from it."""

    def __init__(self, folder: Path, source: Checkout) -> None:
        self.folder = folder
        self.run = Checkout(folder, {**source.environment, "PYTHONPATH": str(folder)}).run
        regenerated = {".asv", "results", "site"}  # of the checkout: the package has folders of these names
        shutil.copytree(source.root, folder, ignore=lambda path, _: regenerated if Path(path) == source.root else ())
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
            edit(self.folder / name, before, after)
        return self.commit("head")


@pytest.fixture(scope="module")
def repository(workshop, tmp_path_factory):
    return Repository(tmp_path_factory.mktemp("repository") / "work", workshop)


@pytest.fixture
def measured(repository, old_python):
    """A function that runs the step of pull-request.yml between the branch main and a head, with the oldest torch.

    It returns the finished process, the one pair of its document, and the comment without the commits' names.
    """
    workflow = (ROOT / ".github/workflows/pull-request.yml").read_text()
    (step,) = re.findall(r"run: uv run .*\btensorcopy (ci pull-request .*)", workflow)

    def measure(head: str, *, stored: bool = False) -> tuple[subprocess.CompletedProcess[str], dict[str, object], str]:
        out = repository.folder / "comparison"
        shutil.rmtree(out, ignore_errors=True)
        written = step if stored else step.replace(" --stored", "")  # nothing is stored that asv has measured
        options = [*shlex.split(written.replace('"$BASE"', "main").replace('"$HEAD"', head)), "--interpreter", old_python, *FEW]
        done = repository.run("tensorcopy", *options)
        assert (out / "comparison.json").exists(), done.stderr
        document = json.loads((out / "comparison.json").read_text())
        comment = pr_comment.body("cpu", pr_comment.section(out, "", "cpu"))
        for commit in (document["base"], document["head"]):
            comment = comment.replace(commit[:12], "COMMIT").replace(commit[:8], "COMMIT")
        (pair,) = document["pairs"]
        return done, pair, comment

    return measure


def asv_steps(repository, old_python: str, head: str) -> list[tuple[int, str]]:
    """Return the exit code and output of the steps of pull-request.yml that call asv, with the oldest torch, and of `asv show`."""
    workflow = (ROOT / ".github/workflows/pull-request.yml").read_text()
    steps = re.findall(r"run: uv run .*\basv ((?:continuous|compare) [^>\n]*)", workflow)
    outcomes = []
    for step in (*steps, "show HEAD"):
        words = shlex.split(step.replace('"$BASE"', "main").replace('"$HEAD"', head).replace("HEAD", head))
        options = ["-E", f"interpreter:{old_python}", *(["-a", "rounds=3", "--bench", FEW[-1]] if "continuous" in words else [])]
        done = repository.run("asv", *words, *options)
        outcomes.append((done.returncode, done.stdout + done.stderr))
    return outcomes


@pytest.mark.slow
def test_extra_clones_are_detected_and_named(repository, measured, old_python):
    """No time has a wrong name, although the registry of head has another order, and one method more.

    asv measures, prints and exits as its users know it; the judged comment needs no further launch.
    """
    ten = DETACH_CLONE.replace(".clone()", 10 * ".clone()")
    twice = DETACH_CLONE.replace("detach_clone", "detach_twice").replace("x.detach()", "x.detach().detach()")
    head = repository.head((METHODS, CLONE_DETACH, ""), (METHODS, DETACH_CLONE, ten + twice + CLONE_DETACH))
    continuous, compare, show = asv_steps(repository, old_python, head)
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
    changes = {row["case"].split()[1]: row for row in pair["rows"]}
    assert changes["detach_clone"]["reason"] == "changed", changes
    assert changes["detach_clone"]["ratio"] > 3  # about 6
    assert 0.8 < changes["clone_detach"]["ratio"] < 1.25  # in one run of twenty, a false alarm is right
    assert changes["detach_twice"]["reason"] == "only_after"
    assert pair["failures"] == []  # base lacks the method: that is no error
    assert re.search(r"### 🔴 [12] of 3 cases slower \(.*\), (none|1) faster", comment)
    assert "Largest slowdown: copies.BySize detach\\_clone numel=16, by " in comment


@pytest.mark.slow
def test_equal_code_is_quiet_and_launches_are_used_again(repository, measured):
    """A comment in the registry changes no time. The command, typed again, takes no launch."""
    head = repository.head((METHODS, "COPIES = Methods(", "# the article's\nCOPIES = Methods("))
    done, pair, comment = measured(head)
    told = {row["ratio"] for row in pair["rows"] if row["reason"] == "changed"}
    assert len(told) < 2, pair  # in one run of twenty, there is a false alarm
    assert all(0.9 < ratio < 1.1 for ratio in told), pair
    assert done.returncode == (1 if any(ratio > 1 for ratio in told) else 0), done.stderr
    assert re.search(r"\nOf 2 cases: ", comment)
    assert "launch 3 of at most 3" in done.stderr
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
    assert pair["rows"] is None
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
    (pair,) = pull_request.pairs(PullRequest(*shas, 8), shipped(), paths)
    assert [each.release for each in (pair.before, pair.after)] == list(release_table.load())[-2:]
    assert [each.commit for each in (pair.before, pair.after)] == shas[1:] * 2  # both with head's suites


@pytest.fixture
def one_commit(no_other_repository, tmp_path, monkeypatch):
    """A repository with a commit on the branch main, which is the current folder."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "asv.conf.json", tmp_path)
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", "asv.conf.json")
    git(tmp_path, *AUTHOR, "commit", "-q", "-m", "one")
    return tmp_path


def test_a_commit_is_not_compared_with_itself(one_commit, capsys):
    """Every case would be unchanged."""
    assert main(["ci", "pull-request", "--base", "main", "--head", "main"]) == 2
    assert "there is nothing to compare" in capsys.readouterr().err
    assert not (one_commit / "comparison").exists()


@pytest.mark.parametrize("is_sha", [False, True], ids=["branch", "SHA, as in a workflow"])
def test_the_commit_that_is_measured_as_base_is_named(one_commit, capsys, is_sha):
    """It is neither that of the pull request nor the tip of its base, which has gone on."""
    fork = sha(one_commit)
    for branch in ("topic", "main"):
        git(one_commit, "checkout", "-q", *(["-b"] if branch == "topic" else []), branch)
        git(one_commit, *AUTHOR, "commit", "-q", "--allow-empty", "-m", branch)
    tip = sha(one_commit)
    assert main(["ci", "pull-request", "--base", tip if is_sha else "main", "--head", "topic"]) == 0
    named = tip[:8] if is_sha else "main"
    assert f"base {fork[:8]}: the last commit that topic has in common with {named}\n" in capsys.readouterr().out
