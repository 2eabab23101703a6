"""Who types what an error tells to do next gets on, where a parser cannot tell: in a project with results, under git."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tensorcopy import cli, files
from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import sides
from tensorcopy.projects.new_project import NewProject, begin
from tests.launch_files import write_small
from tests.repositories import commit_all, run


@pytest.fixture
def project(no_other_repository, every_python, tmp_path, monkeypatch):
    """A project with results of two releases, in two commits, as the current folder."""
    monkeypatch.chdir(tmp_path)
    run(tmp_path, "init", "-q", "-b", "trunk")
    begin(NewProject(tmp_path))
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
    "line", ["compare 2.14.1 2.15.0 --history nope", "compare 2.14.1 2.15.0 --explain nope", "compare 2.14.1 2.15.0 --case nope"]
)
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
