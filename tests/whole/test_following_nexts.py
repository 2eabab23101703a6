"""Who types what an error tells to do next gets on, where a parser cannot tell: in a project with results, under git."""

import os
import re
import shlex
import shutil
import subprocess
import venv
from pathlib import Path

import pytest

from tensorcopy import cli, files
from tensorcopy.copying import sweep
from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import git, sides
from tensorcopy.projects.new_project import new_project
from tensorcopy.releases import interpreters, uv
from tests.launch_files import write_small
from tests.repositories import commit_all, run


@pytest.fixture(scope="module")
def committed(tmp_path_factory):
    """A project with results of two releases, in two commits. No test changes it."""
    folder = tmp_path_factory.mktemp("project")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for variable in [name for name in os.environ if name.startswith("GIT_")]:
            patch.delenv(variable)
        patch.setattr(uv, "find_python", Path)
        run(folder, "init", "-q", "-b", "trunk")
        new_project(folder)
        commit_all(folder, "a project")
        write_small(folder / "results", "2.14.1", "2.15.0", machine="box")
        commit_all(folder, "results")
    return folder


@pytest.fixture
def project(committed, no_other_repository, tmp_path, monkeypatch):
    """A copy of it as the current folder."""
    shutil.copytree(committed, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def following(project, capsys):
    """A function that returns what a command that fails tells to do next."""

    def of(line: str) -> str:
        assert cli.main(shlex.split(line)) in (2, 3)
        return re.findall(r"; next: (.*)\n", capsys.readouterr().err)[-1]

    return of


@pytest.mark.parametrize("line", ["compare 2.14.1 2.15.0 --history nope", "compare 2.14.1 2.15.0 --explain nope"])
def test_what_was_not_measured_leads_to_what_was(following, line):
    typed = following(line).removesuffix(" lists the cases")
    assert cli.main(typed.split()[1:]) == 0


@pytest.mark.parametrize("name", ["2.15.0@x", "2.15.0@3.9"])
def test_a_release_on_a_wrong_python_leads_to_one_that_has_its_wheel(name):
    with pytest.raises(TensorcopyError) as raised:
        sides.choose([name], shipped(), ["3.11"])
    (side,), _ = sides.choose([raised.value.next.removeprefix("name ")], shipped(), ["3.11"])
    assert side.release.version == name.partition("@")[0]


def test_a_damaged_file_is_taken_from_git(project, following):
    """From wherever the command is typed, and of any name."""
    first = next(Path("results/box").glob("*.json"))
    of_others = project / "it's theirs" / first.name
    of_others.parent.mkdir()
    shutil.copy(first, of_others)
    commit_all(project, "theirs")
    of_others.write_text("{", encoding="utf-8")
    assert shlex.quote("it's theirs") in files.from_git(of_others)
    for line, path in (("measure", Path("asv.conf.json")), ("history", first)):
        text = path.read_text(encoding="utf-8")
        path.write_text("{", encoding="utf-8")
        (command,) = re.findall(r"git (?:-C .*)?checkout .*(?= where git has it)", following(line))
        subprocess.run(shlex.split(command), check=True)
        assert path.read_text(encoding="utf-8") == text


def test_a_wrong_folder_leads_to_the_one_above(project, following, monkeypatch):
    (project / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(project / "a" / "b")
    os.chdir(following("measure").removeprefix("cd "))
    assert Path.cwd() == project


def test_one_commit_is_compared_with_the_one_before(following):
    """No branch need be called main."""
    words = following("ci pull-request --base HEAD").split()
    assert [git.commit(words[4]), git.commit(words[6])] == [git.commit("HEAD~1"), git.commit("HEAD")]


def test_a_folder_for_a_picture_is_made_with_those_above_it(tmp_path):
    path = tmp_path / "a b" / "c" / "copies.svg"
    with pytest.raises(TensorcopyError) as raised:
        sweep.check_path(path)
    subprocess.run(shlex.split(raised.value.next), check=True)
    sweep.check_path(path)


def test_torch_is_installed_into_a_python_without_it(tmp_path):
    """By uv, whose environments have no pip."""
    venv.create(tmp_path, symlinks=True)
    with pytest.raises(TensorcopyError) as raised:
        interpreters.run_probe(tmp_path / "bin" / "python", "tensorcopy.worker.provenance")
    command = shlex.split(raised.value.next.partition(" torch, or ")[0])
    assert subprocess.run([*command, "--help"], capture_output=True, check=False).returncode == 0
    assert str(tmp_path / "bin" / "python") in command
