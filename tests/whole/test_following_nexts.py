"""Who types what an error tells to do next gets on, where a parser cannot tell: in a project with results, under git."""

import ensurepip
import os
import re
import shlex
import shutil
import subprocess
import venv
from pathlib import Path

import pytest

from tensorcopy import cli, files
from tensorcopy.asv_plugin import reading
from tensorcopy.copying import sweep
from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import git, sides
from tensorcopy.projects.new_project import new_project
from tensorcopy.releases import interpreters, uv
from tests.launch_files import write_small
from tests.repositories import commit_all, run


@pytest.fixture
def project(no_other_repository, tmp_path, monkeypatch):
    """A project with results of two releases, in two commits."""
    monkeypatch.chdir(tmp_path)
    run(tmp_path, "init", "-q", "-b", "trunk")
    new_project(tmp_path)
    commit_all(tmp_path, "a project")
    write_small(tmp_path / "results", "2.14.1", "2.15.0", machine="box")
    commit_all(tmp_path, "results")
    return tmp_path


@pytest.fixture
def following(project, capsys):
    """A function that returns what a command that fails tells to do next."""

    def of(line: str) -> str:
        assert cli.main(shlex.split(line)) in (2, 3)
        return re.findall(r"; next: (.*)\n", capsys.readouterr().err)[-1]

    return of


@pytest.mark.parametrize(
    ("line", "typed"),
    [
        ("compare 2.14.1 2.15.0 --explain nope", "tensorcopy compare 2.14.1 2.15.0 --all"),
        ("compare 2.14.1 2.15.0 --metric bytes --explain nope", "tensorcopy compare 2.14.1 2.15.0 --metric bytes --all"),
    ],
)
def test_a_command_is_typed_as_it_is(following, line, typed):
    assert following(line).removesuffix(" lists the cases") == typed
    assert cli.main(typed.split()[1:]) == 0


def test_an_unknown_release_leads_to_the_others(following):
    """The line before names all of them, so no command has to list them."""
    assert following("compare 2.14.1 1a2b3c4d") == "name one of these"
    assert following("compare 2.14.1 2.15.0@nope") == "name one of these"


def test_what_was_not_measured_leads_to_what_was(following):
    assert following("compare 2.14.1 2.0.1") == "name one of these, or tensorcopy measure 2.0.1"
    typed = following("compare 2.14.1 2.15.0 --history nope")
    assert cli.main(typed.split()[1:]) == 0


@pytest.mark.parametrize("name", ["2.15.0@x", "2.15.0@3.9"])
def test_a_release_on_a_wrong_python_leads_to_one_that_has_its_wheel(name):
    with pytest.raises(TensorcopyError) as raised:
        sides.choose([name], shipped(), ["3.11"])
    (side,), _ = sides.choose([raised.value.next.removeprefix("name ")], shipped(), ["3.11"])
    assert side.release.version == name.partition("@")[0]


def test_a_missing_python_is_installed(monkeypatch):
    monkeypatch.setattr(uv, "find_python", lambda python: None)
    with pytest.raises(TensorcopyError, match=r"next: uv python install 3\.8$"):
        sides.choose(["1.9.0@3.8"], shipped(), ["3.11"])


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


def test_a_row_that_is_no_release_is_removed_before_it_is_added(following):
    """The program reads no table with it."""
    Path("releases.toml").write_text('[[release]]\nversion = "2.99.0"\n', encoding="utf-8")
    assert following("measure --add-release 2.99.0") == "remove the row, then tensorcopy measure --add-release 2.99.0"


def test_a_wrong_folder_leads_to_the_one_above(project, following, monkeypatch):
    (project / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(project / "a" / "b")
    os.chdir(following("measure").removeprefix("cd "))
    assert Path.cwd() == project


def test_a_project_is_not_begun_again(following):
    assert following("init") == "tensorcopy measure, or tensorcopy init --github to add workflows"


def test_one_commit_is_compared_with_the_one_before(following):
    """No branch need be called main."""
    words = following("ci pull-request --base HEAD").split()
    assert [git.commit(words[4]), git.commit(words[6])] == [git.commit("HEAD~1"), git.commit("HEAD")]


def test_a_revision_is_measured_beside_the_one_before():
    """Where a release cannot be compared with it."""
    with pytest.raises(TensorcopyError, match=r"got topic and v2\.15\.0; .*; next: asv continuous topic~1 topic$"):
        reading.require_one_kind("a" * 40, shipped().releases[-1], ("topic", "v2.15.0"))


def test_a_folder_for_a_picture_is_made_with_those_above_it(project):
    path = project / "a b" / "c" / "copies.svg"
    with pytest.raises(TensorcopyError) as raised:
        sweep.check_path(path)
    subprocess.run(shlex.split(raised.value.next), check=True)
    sweep.check_path(path)


@pytest.mark.parametrize("with_pip", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_torch_is_installed_into_a_python_without_it(tmp_path, with_pip):
    """Also by uv, whose environments have no pip."""
    venv.create(tmp_path, symlinks=True)
    if with_pip:  # unpacked as it is; to install it would take ten seconds
        (folder,) = tmp_path.glob("lib/*/site-packages")
        (pip,) = Path(ensurepip.__file__).parent.glob("_bundled/pip-*.whl")
        shutil.unpack_archive(pip, folder, "zip")
    with pytest.raises(TensorcopyError) as raised:
        interpreters.run_probe(tmp_path / "bin" / "python", "tensorcopy.worker.provenance")
    command = shlex.split(raised.value.next.partition(" torch, or ")[0])
    assert subprocess.run([*command, "--help"], capture_output=True, check=False).returncode == 0
    assert str(tmp_path / "bin" / "python") in command


def test_a_damaged_torch_shows_its_error(tmp_path, monkeypatch):
    """In any folder: the package that asked for it is not needed."""
    venv.create(tmp_path, symlinks=True)
    (folder,) = tmp_path.glob("lib/*/site-packages")
    (folder / "torch.py").write_text("import no_such_module\n", encoding="utf-8")
    with pytest.raises(TensorcopyError) as raised:
        interpreters.run_probe(tmp_path / "bin" / "python", "tensorcopy.worker.provenance")
    monkeypatch.chdir(tmp_path)
    done = subprocess.run(shlex.split(raised.value.next.removesuffix(" shows the full error")), capture_output=True, text=True, check=False)
    assert "line 1, in <module>" in done.stderr
    assert "No module named 'no_such_module'" in done.stderr
