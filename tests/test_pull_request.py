"""Two real commits, measured against each other by the very command of pull-request.yml, and what is then said."""

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

from tensorcopy.ci import git, pull_request
from tensorcopy.cli import main
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tensorcopy.report.comparison import pr_comment
from tests.conftest import ROOT
from tests.test_judging import golden

AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@example.org")
FEW = ["--passes", "4", "--bench", r"^copies\.BySize.*detach.*, 16\)"]  # of two methods, and those that a head adds
METHODS, TABLE, COPIES = "tensorcopy/worker/registry/methods.py", "tensorcopy/releases.toml", "benchmarks/copies.py"


def run(folder: Path, *command: str) -> str:
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


class Repository:
    """This checkout as a repository of its own, and heads that leave its base."""

    def __init__(self, folder: Path, source: Path) -> None:
        self.folder = folder
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns(".asv", "results", "site"))
        run(folder, "git", "init", "-q", "-b", "main")
        run(folder, "git", "add", "--all")
        self.commit("base")

    def commit(self, message: str) -> str:
        run(self.folder, "git", *AUTHOR, "commit", "-q", "--all", "--allow-empty", "-m", message)
        return run(self.folder, "git", "rev-parse", "HEAD").strip()

    def head(self, *edits: tuple[str, str, str], base: str = "main") -> str:
        """A commit on a branch of `base`: in each file one text in the place of another, which is there once."""
        run(self.folder, "git", "checkout", "-q", "--detach", base)
        for name, before, after in edits:
            path = self.folder / name
            text = path.read_text(encoding="utf-8")
            assert text.count(before) == 1, (name, before)
            path.write_text(text.replace(before, after), encoding="utf-8")
        return self.commit("head")


@pytest.fixture(scope="module")
def repository(workshop, tmp_path_factory):
    one = Repository(tmp_path_factory.mktemp("repository") / "work", workshop.root)
    (workshop.root / ".asv" / "env").mkdir(parents=True, exist_ok=True)
    (one.folder / ".asv").mkdir()
    (one.folder / ".asv" / "env").symlink_to(workshop.root / ".asv" / "env")  # torch is installed once for all tests
    return one


@pytest.fixture
def measured(repository, workshop):
    """Runs the step of pull-request.yml between two commits; the process, its document and the comment, without what differs each time."""
    workflow = (ROOT / ".github/workflows/pull-request.yml").read_text()
    (step,) = re.findall(r"run: uv run --no-dev --extra dashboard tensorcopy (ci pull-request .*)", workflow)

    def measure(head: str, base: str = "main", few: list[str] = FEW) -> tuple[subprocess.CompletedProcess[str], dict[str, object], str]:
        out = repository.folder / "comparison"
        shutil.rmtree(out, ignore_errors=True)
        done = subprocess.run(
            [sys.executable, "-m", "tensorcopy.cli", *shlex.split(step.replace('"$BASE"', base).replace('"$HEAD"', head)), *few],
            cwd=repository.folder,
            env={**workshop.environment, "PYTHONPATH": str(repository.folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        document = json.loads((out / "comparison.json").read_text())
        said = pr_comment.body("cpu", pr_comment.section(out, "", "cpu"))
        rows = [
            row for one in document["contests"] for row in (one["comparison"] or {}).get("changes", ()) if row["before"] and row["after"]
        ]
        if rows and all("too few quiet passes" in row["reason"] for row in rows):
            pytest.skip("the machine was not quiet for minutes: nothing can be said of it")
        for sha in (document["base"], document["head"]):
            said = said.replace(sha[:12], "COMMIT").replace(sha[:8], "COMMIT")
        return done, document, said

    return measure


def without_figures(said: str) -> str:
    """What was measured differs from run to run; the rest does not."""
    said = re.sub(r"torch [\d.]+, .*, Python", "torch N, CPU, Python", said)
    return re.sub(r"\d+(\.\d+)?( ([nµm]?s|%|×)|×)|\d\.\d\d", "N", said)


@pytest.mark.slow
def test_a_clone_too_many_is_found_confirmed_and_named(repository, measured):
    """And in a registry that was turned round and has a method more nothing else is: no time goes under another's name."""
    head = repository.head(
        (METHODS, '    _method("clone_detach", "x.clone().detach()", _everywhere("1.9.0", _both(INDEPENDENT))),\n', ""),
        (
            METHODS,
            '    _method("detach_clone", "x.detach().clone()", _everywhere("1.9.0", _both(INDEPENDENT))),\n',
            '    _method("detach_clone", "x.detach().clone().clone()", _everywhere("1.9.0", _both(INDEPENDENT))),\n'
            '    _method("detach_twice", "x.detach().detach().clone()", _everywhere("1.9.0", _both(INDEPENDENT))),\n'
            '    _method("clone_detach", "x.clone().detach()", _everywhere("1.9.0", _both(INDEPENDENT))),\n',
        ),
    )
    done, document, said = measured(head)
    assert done.returncode == 1, done.stderr
    (contest,) = document["contests"]
    changes = {row["parameters"]["method"]: row for row in contest["comparison"]["changes"]}
    assert {method: row["verdict"] for method, row in changes.items() if row["verdict"] in ("slower", "faster")} == {
        "detach_clone": "slower"
    }
    assert changes["detach_clone"]["confirmed"] == [2, 2]
    assert changes["detach_clone"]["ratio"] > 1.3
    assert abs((changes["clone_detach"]["ratio"] or 1) - 1) < 0.15
    assert changes["detach_twice"]["reason"].startswith("no result before")
    assert re.search(
        r"### 🔴 1 slower of 3 cases; most of all copies\.BySize detach\\_clone numel=16, slower by .*; held in 2 of 2\n", said
    )


@pytest.mark.slow
def test_where_nothing_changed_it_is_said_how_much_can_have(repository, measured):
    """A comment in the registry is read by nobody's clock."""
    head = repository.head((METHODS, "COPIES = _table(", "# the article's\nCOPIES = _table("))
    done, document, said = measured(head)
    assert done.returncode == 0, done.stderr
    (contest,) = document["contests"]
    assert contest["failures"] == []
    assert {row["verdict"] for row in contest["comparison"]["changes"]} <= {"same", "inconclusive"}
    assert re.search(r"### ⚪ No change (larger than \d+\.\d %|is seen) in [12] case", said)


@pytest.mark.slow
def test_a_suite_that_cannot_be_imported_has_failed(repository, measured):
    """It is not fast. The whole comment is as it was looked at."""
    head = repository.head((COPIES, "from .cases import", "import nothing_of_the_kind\n\nfrom .cases import"))
    done, document, said = measured(head)
    assert done.returncode == 2
    assert "nothing was compared" in done.stderr
    (contest,) = document["contests"]
    assert contest["comparison"] is None
    assert "nothing_of_the_kind" in said
    golden("pull_request_failed.md", without_figures(said))


@pytest.mark.slow
def test_a_new_row_is_measured_against_the_one_before(repository, measured):
    """And base against head is not: nothing else of what is measured changed."""
    table = (repository.folder / TABLE).read_text(encoding="utf-8")
    head, *rows = table.split("[[release]]")
    first, last = rows[0], rows[-1]
    run(repository.folder, "git", "checkout", "-q", "--detach", "main")
    (repository.folder / TABLE).write_text(f"{head}[[release]]{first}", encoding="utf-8")
    base = repository.commit("one release")
    (repository.folder / TABLE).write_text(f"{head}[[release]]{first}[[release]]{last}", encoding="utf-8")
    done, document, said = measured(repository.commit("another"), base)
    assert done.returncode in (0, 1), done.stderr
    (contest,) = document["contests"]
    assert contest["kind"] == "release"
    assert contest["torch"] == [release_table.load()[0].version, release_table.load()[-1].version]
    assert f"torch {contest['torch'][0]} → torch {contest['torch'][1]}" in said
    assert any(row["interval"] for row in contest["comparison"]["changes"])


@pytest.fixture
def commits(tmp_path, monkeypatch):
    """A repository of three commits: base, a head that left it, and what base became since."""
    monkeypatch.chdir(tmp_path)
    for variable in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(variable)
    run(tmp_path, "git", "init", "-q", "-b", "main")
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "results").mkdir()
    for name, begin in (("one", []), ("two", ["-b", "head"]), ("three", ["main"])):
        if begin:
            run(tmp_path, "git", "checkout", "-q", *begin)
        (tmp_path / "benchmarks" / name).write_text(name)
        (tmp_path / "results" / name).write_text(name)
        run(tmp_path, "git", "add", "--all")
        run(tmp_path, "git", *AUTHOR, "commit", "-qm", name)
    return tmp_path


def test_a_head_is_compared_with_where_it_left(commits):
    """What the base has become since is not its doing."""
    head = git.commit("head")
    base = git.fork_point(git.commit("main"), head)
    assert base == git.commit("main~1")
    assert git.changed(base, head) == ["benchmarks/two", "results/two"]


def test_a_side_is_the_files_of_its_commit(commits, tmp_path):
    """Outside git, without what it does not need; not again where it is there."""
    folder = tmp_path / "side"
    git.export(git.commit("head"), folder, without=("results",))
    assert sorted(path.name for path in folder.rglob("*") if path.is_file()) == [git.COMPLETE, "one", "two"]
    (folder / "benchmarks" / "mark").touch()
    git.export(git.commit("head"), folder, without=("results",))
    assert (folder / "benchmarks" / "mark").exists()


def test_a_commit_is_not_compared_with_itself(commits, capsys):
    """It would be found the same."""
    shutil.copy(ROOT / "asv.conf.json", commits)
    assert main(["ci", "pull-request", "--base", "head", "--head", "head"]) == 2
    assert "there is nothing to compare" in capsys.readouterr().err
    assert not (commits / "comparison").exists()


@pytest.mark.parametrize("name", ["no-such-branch", "--help", ""])
def test_a_commit_that_is_none_is_one_line(commits, name):
    with pytest.raises(TensorcopyError, match=rf"git does not give the commit {name}"):
        git.commit(name)


def test_another_device_is_measured_alone():
    """Not the CPU beside it."""
    one = pull_request.Request("a", "b", 4, device="cuda")
    assert re.search(one.selection, "copies.Latency.time_copy('tensor', 16, 'cuda')")
    assert not re.search(one.selection, "copies.BySize.time_copy('tensor', 16)")
    assert not re.search(one.selection, "copies.Latency.time_copy('tensor', 16, 'mps')")
    assert re.search(pull_request.Request("a", "b", 4).selection, "copies.BySize.time_copy('tensor', 16)")
