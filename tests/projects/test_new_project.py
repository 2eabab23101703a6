"""A project of a third party: begun by `init` in an empty folder, measured from the wheel, shown on its own pages."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tensorcopy import __version__, campaign, configuration
from tensorcopy.campaign import Campaign
from tensorcopy.cli import main
from tensorcopy.copying.shipped import of_folder, shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import sides
from tensorcopy.projects import new_project
from tensorcopy.releases import release_table, uv
from tensorcopy.results import reader
from tests.conftest import NEW, ROOT, at_home, lab_campaign, require_pythons
from tests.repositories import AUTHOR, sha, workflow
from tests.repositories import run as git
from tests.site.reading import faults, files_in

GUIDE = (ROOT / "docs/own-operation.md").read_text(encoding="utf-8")
COMMANDS = re.search(r"In an empty folder:\n\n```sh\n(.*?)```", GUIDE, re.DOTALL)[1].splitlines()
INSTALL = next(command for command in COMMANDS if command.startswith("pip install "))
COPIES = re.compile(r"\b(cop(y|ies)|conversions?|clone|detach|memcpy)\b", re.IGNORECASE)
SHA = "0123456789" * 4


@pytest.fixture
def noted_of_installation(tmp_path_factory, monkeypatch) -> Path:
    """The file in which an installer notes what it has installed tensorcopy from: a repository."""
    information = tmp_path_factory.mktemp("site-packages") / "tensorcopy-0.1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: tensorcopy\nVersion: 0.1.0\n")
    noted = {"url": "https://github.com/-owner-/tensorcopy", "vcs_info": {"vcs": "git", "commit_id": SHA}}
    (information / "direct_url.json").write_text(json.dumps(noted))
    monkeypatch.syspath_prepend(information.parent)
    return information / "direct_url.json"


@pytest.fixture
def folder(noted_of_installation, no_other_repository, tmp_path, monkeypatch) -> Path:
    """An empty folder, the current one, on a machine with three Pythons; tensorcopy is installed from a repository."""
    monkeypatch.setattr(uv, "find_python", lambda python: Path(python) if python in ("3.10", "3.12", "3.14") else None)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def suite(folder: Path, text: str = "") -> Path:
    """Write an asv suite of one module."""
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "theirs.py").write_text(text)
    (folder / "notes.py").write_text("no python")
    return folder


def over(folder: Path, text: str = "", **configuration: object) -> Campaign:
    """Begin a project over the asv suite of a folder, and return its campaign."""
    suite(folder / "benchmarks", text)
    (folder / "asv.conf.json").write_text(json.dumps(configuration))
    (folder / "over").mkdir()
    os.chdir(folder / "over")
    assert main(["init", "--suites", ".."]) == 0
    return of_folder(folder / "over")


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file() and ".git/" not in str(path)}


def test_init_writes_a_project_that_measures_its_example(folder, capsys):
    """A suite of eight lines, and the Pythons of this machine, those first that have a wheel of the reference. No workflow is asked for."""
    assert main(["init", "--name", "lab", "--title", 'A "quoted" title']) == 0
    assert 'A "quoted" title: wrote tensorcopy.toml, asv.conf.json, .gitignore, benchmarks/__init__.py, ' in capsys.readouterr().out
    declared = of_folder(folder)
    assert (declared.name, declared.title, declared.suites) == ("lab", 'A "quoted" title', folder / "benchmarks")
    assert files(folder) == {
        *("tensorcopy.toml", "asv.conf.json", ".gitignore"),
        *("benchmarks/__init__.py", "benchmarks/norms.py"),
    }
    code = [line for line in (folder / "benchmarks/norms.py").read_text().splitlines() if line and not line.startswith("#")]
    assert len(code) == 8
    assert configuration.paths().pythons == ("3.12", "3.10", "3.14")
    assert not any(str(folder) in path.read_text() or re.search(r"[$][{]?[A-Z]+", path.read_text()) for path in folder.rglob("*.*"))


@pytest.mark.parametrize(
    ("folder", "name"), [("my suite", "mysuite"), ("é-x", "x"), ("(-x", "x"), ("ü.bench", "bench"), ("_x", "x"), ("日本", "project")]
)
def test_a_project_may_have_the_name_of_any_folder(folder, name):
    assert campaign.default_name(Path(folder)) == name
    assert campaign.PROJECT_NAME.fullmatch(name)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--suites", "nowhere"), "the path nowhere in [suites], which is no folder"),
        (("--name", "a b"), "`$.project.name`"),
        (("--title", "é" * 81), "`$.project.title`"),
    ],
)
def test_an_argument_that_is_wrong_leaves_nothing(folder, capsys, arguments, message):
    assert main(["init", *arguments]) == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert error.startswith("tensorcopy: tensorcopy.toml is refused: got ")
    assert message in error
    assert files(folder) == set()


@pytest.mark.parametrize("option", ["--name", "--title", "--suites"])
@pytest.mark.parametrize("text", ["\udce9", "a\nb"])
def test_a_text_that_cannot_be_written_is_refused(folder, capsys, option, text):
    """As from a shell with another encoding; in one line of ASCII."""
    assert main(["init", option, text]) == 2
    assert f"argument {option}: got {text!a}; allowed: one line of UTF-8" in capsys.readouterr().err
    assert files(folder) == set()


def test_init_never_overwrites(folder, capsys):
    """A file stays, and is named; a folder that asv measures, or that is a project, is refused with what to type."""
    (folder / ".gitignore").write_text("mine")
    assert main(["init"]) == 0
    assert (folder / ".gitignore").read_text() == "mine"
    assert "\nKept, and not what tensorcopy would write, until you remove it and repeat: .gitignore\n" in capsys.readouterr().out
    for file in ("tensorcopy.toml", "asv.conf.json"):
        assert main(["init"]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"tensorcopy: this folder has {file} already")
        assert error.count("\n") == 1
        (folder / file).unlink()


ASV_CONFIGURATION = """{
    // of a package and its suite
    "version": 1, "project": "some-package", "repo": REPO, "branches": ["main"], "benchmark_dir": "benchmarks",
    "environment_type": "virtualenv", "pythons": ["3.8", "3.10", "3.14"], "build_command": ["python -m build"],
    "matrix": {"req": {"numpy": ["1.26", "2.1"], "torch": ["2.5"], "pip+einops": [], "gone": [null]}, "env": {"A": ["1"]}},
}"""


@pytest.mark.parametrize(
    ("repo", "package", "named"),
    [("..", ["../../.."], "../../benchmarks"), ("https://example.org/me/some-package.git", ["some-package"], "../..")],
    ids=["the repository around it", "a package of the index"],
)
def test_init_reads_the_configuration_of_a_suite(folder, monkeypatch, capsys, repo, package, named):
    """The folder of either may be named; it proposes requires, and lists what it does not use."""
    (folder / "asv").mkdir()
    place = suite(folder / "asv" / "benchmarks")
    (folder / "asv" / "asv.conf.json").write_text(ASV_CONFIGURATION.replace("REPO", json.dumps(repo)))
    (folder / "pyproject.toml").write_text('[project]\nname = "some-package"\n')
    project = folder / "asv" / "over" / "torch"
    project.mkdir(parents=True)
    monkeypatch.chdir(project)
    assert main(["init", "--suites", named]) == 0
    declared = of_folder(project)
    assert (declared.name, declared.suites, list(declared.requires)) == ("some-package", place, [*package, "numpy==2.1", "einops"])
    ignored = "environment_type; pythons; build_command; matrix.env; numpy 1.26 in matrix; torch in matrix, which is what is measured"
    assert f"Not used of it: {ignored}\n" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["conda", "mamba", "rattler"])
def test_conda_packages_are_named_and_not_required(folder, capsys, kind):
    """In one sentence: under its name, pip's index may have another package. Every environment has numpy, and what is required."""
    matrix = {"numpy": [], "einops": [], "pandas==2.2": [""], "pytables": ["", None], "scipy": ["1.1", "1.2"], "pip+einops": []}
    assert over(folder, environment_type=kind, matrix=matrix).requires == ("einops",)
    of_conda = "pandas==2.2, pytables, scipy==1.2 in matrix, as conda names them: add to requires what the suite imports, as pip names it"
    assert f"; scipy 1.1 in matrix; {of_conda}\n" in capsys.readouterr().out


def test_a_folder_without_a_package_is_not_looked_up_in_the_index(folder, capsys):
    """Somebody else's package may have the project's name there."""
    assert over(folder, project="own", repo=".").requires == ()
    assert "Not used of it: ., without a pyproject.toml or setup.py\n" in capsys.readouterr().out


def test_all_imports_that_a_suite_lacks_are_named_at_once(folder, capsys):
    """Not those that every environment has, that are its own, or that requires names; a file that is no Python has none."""
    (folder / "src").mkdir()
    (folder / "src" / "mine.py").touch()
    (folder / "pyproject.toml").write_text('[project]\nname = "own"\n')
    lines = "import torch, numpy as np, os.path, scipy.stats, einops\nfrom pandas import x\nfrom . import a\nfrom mine import b\n"
    text = f"{lines}def time_a():\n    import sklearn, theirs, benchmarks\n"
    assert over(folder, text, project="own", matrix={"einops": ["0.8"]}).requires == ("..", "einops==0.8")
    assert "\nThe suite imports pandas, scipy, sklearn: add to requires in tensorcopy.toml" in capsys.readouterr().out


# Workflows


def repository(folder: Path, project: str = ".", branch: str = "main") -> Path:
    """Make a repository, and a project in it as the current folder."""
    git(folder, "init", "-q", "-b", branch, ".")
    (folder / project).mkdir(parents=True, exist_ok=True)
    os.chdir(folder / project)
    assert main(["init", "--title", "t"]) == 0
    return folder / project


def test_workflows_are_written_at_the_top_of_the_repository(folder, capsys):
    """With one runners.toml beside them, which `ci runners` reads from the project's folder; nothing that is there is replaced."""
    project = repository(folder, "bench")
    workflows = folder / ".github" / "workflows"
    workflows.mkdir(parents=True)
    (workflows / "pages.yml").write_text("mine")
    assert main(["init", "--github"]) == 0
    out = capsys.readouterr().out
    assert "\nKept, and not what tensorcopy would write, until you remove it and repeat: ../.github/workflows/pages.yml\n" in out
    assert "\nThe workflows are for the branch main, " in out
    assert (workflows / "pages.yml").read_text() == "mine"
    assert {path.stem for path in workflows.iterdir()} == {*new_project.WORKFLOWS}
    assert not (project / ".github").exists()
    for path in workflows.glob("[!p]*.yml"):
        assert workflow(path)["defaults"]["run"]["working-directory"] == "bench"
    caches = {path.stem: path.read_text().count("cache-local-path: ${{ runner.temp }}") for path in workflows.iterdir()}
    assert {name for name, number in caches.items() if number} == {"pull-request-gpu"}  # where a fork's code may run
    runners = folder / ".github" / "runners.toml"
    runners.write_text('[[runner]]\nmachine = "lab"\nlabels = ["self-hosted", "cuda", "history"]\ndevice = "cuda"\n')
    assert main(["ci", "runners"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["include"]
    assert (row["machine"], row["device"], row["backend"]) == ("lab", "cuda", "")


@pytest.mark.parametrize("below", [".", "null", "123", "1e3", "a/b.c-d_e"])
def test_a_folder_whose_name_yaml_reads_otherwise_is_quoted(folder, below):
    """All that a workflow names of it exists in the repository."""
    repository(folder, below)
    assert main(["init", "--github"]) == 0
    for name in new_project.WORKFLOWS:
        written = workflow(folder / f".github/workflows/{name}.yml")
        assert written.get("defaults", {"run": {"working-directory": "."}})["run"]["working-directory"] == below
        runs = [step["run"] for job in written["jobs"].values() for step in job["steps"] if "run" in step]
        locks = {match for run in runs for match in re.findall(r"\S*tensorcopy-\S*requirements\.txt", run)}
        assert all((folder / below / lock).resolve().parent == folder / ".github" for lock in locks)
    paths = workflow(folder / ".github/workflows/measure.yml")[True]["push"]["paths"]
    assert paths == [f"{below}/releases.toml".removeprefix("./")]


@pytest.mark.parametrize("below", ["a: b", "[x]", "{x}", "a*", "é", "a b", "$x"])
def test_a_folder_that_a_workflow_cannot_name_is_refused(folder, capsys, below):
    """It stands in paths, patterns and commands; nothing is written."""
    repository(folder, below)
    assert main(["init", "--github"]) == 2
    assert f"workflows cannot name this folder: got {below}; allowed: ASCII letters" in capsys.readouterr().err
    assert not (folder / ".github").exists()


def test_without_a_repository_the_folder_will_be_one(folder):
    """GitHub reads workflows at its top."""
    assert main(["init", "--github"]) == 0
    assert (folder / ".github/workflows/pages.yml").exists()


@pytest.mark.parametrize(
    ("commands", "branch"),
    [
        (["init -b trunk ."], "trunk"),
        (["init -b main .", "commit --allow-empty -m a", "checkout -b feature"], "main"),
        (["init -b main .", "commit --allow-empty -m a", "update-ref refs/remotes/origin/dev HEAD", "HEAD"], "dev"),
    ],
    ids=["of this repository", "the usual one", "of origin"],
)
def test_workflows_are_for_the_repository_s_own_default_branch(folder, commands, branch):
    """Whatever it is called."""
    for command in commands:
        words = "symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/dev" if command == "HEAD" else command
        git(folder, *AUTHOR, *words.split(), *(["-q"] if words.split()[0] in ("init", "commit", "checkout") else []))
    assert main(["init", "--github"]) == 0
    for name in ("measure", "pages"):
        assert workflow(folder / f".github/workflows/{name}.yml")[True]["push"]["branches"] == [branch]
    started = workflow(folder / ".github/workflows/pull-request.yml")[True]["workflow_dispatch"]
    assert started["inputs"]["base"]["default"] == branch


@pytest.mark.parametrize(
    ("noted", "requirement"),
    [
        (None, f"tensorcopy=={__version__}"),
        (
            {"url": "ssh://git@example.org/me/tensorcopy.git", "vcs_info": {"vcs": "git", "commit_id": SHA}},
            f"tensorcopy @ git+https://example.org/me/tensorcopy@{SHA}",
        ),
        ({"url": "https://me:secret@example.org/t.whl", "archive_info": {}}, "tensorcopy @ https://example.org/t.whl"),
        ({"url": "file:REPOSITORY", "dir_info": {"editable": True}}, "tensorcopy @ git+https://example.org/me/fork@HEAD"),
    ],
    ids=["an index", "git", "an address", "a checkout"],
)
def test_workflows_install_what_init_was_installed_from(folder, noted_of_installation, capsys, noted, requirement):
    """By what the installer noted, without credentials, and all else by hashes, also what builds it."""
    clone = folder / "clone"
    project = repository(folder, "over-torch")
    git(folder, "init", "-q", "-b", "main", "clone")
    git(clone, *AUTHOR, "commit", "-q", "--allow-empty", "-m", "a")
    git(clone, "remote", "add", "origin", "git@example.org:me/fork.git")
    if noted:
        noted_of_installation.write_text(json.dumps(noted).replace("REPOSITORY", str(clone)))
    else:
        noted_of_installation.unlink()
    if requirement.endswith("HEAD"):
        for address in ("git@example.org:me/fork.git", str(folder)):  # a commit that is not there, and a remote of this machine
            git(clone, "remote", "set-url", "origin", address)
            assert main(["init", "--github"]) == 2
            assert f"no workflow can install this tensorcopy: got {clone}; allowed: " in capsys.readouterr().err
            git(clone, "update-ref", "refs/remotes/origin/main", "HEAD")
        git(clone, "remote", "set-url", "origin", "git@example.org:me/fork.git")
        requirement = requirement.replace("HEAD", sha(clone))
    assert main(["init", "--github"]) == 0
    lock, build_lock = (folder / ".github" / name for name in (new_project.LOCKED, new_project.BUILD_LOCKED))
    assert lock.read_text() == (ROOT / ".github/requirements.txt").read_text()
    is_built = requirement.startswith("tensorcopy @ git+")
    assert build_lock.exists() == is_built
    built = f'--only-binary ":all:" --no-binary tensorcopy --build-constraints ../.github/{build_lock.name}' if is_built else "--no-build"
    for path in (folder / ".github/workflows").glob("*.yml"):
        runs = re.findall(r"run: (uv pip .*)", path.read_text())
        pairs = [f"uv pip sync --require-hashes --no-build ../.github/{lock.name}", f'uv pip install --no-deps {built} "{requirement}"']
        assert runs == pairs * (len(runs) // 2), path
        assert runs
    again = new_project.NewProject(project)
    new_project.add_workflows(again)
    assert (again.written, again.kept) == ([], [])


# What a project is beside that


def test_a_project_has_a_table_of_its_own_for_releases_that_tensorcopy_lacks(folder):
    """The package's is not written; a row of the same version replaces the package's."""
    (folder / "tensorcopy.toml").write_text('[project]\nname = "lab"\n')
    known, table = release_table.load(), of_folder(folder).table
    assert table == folder / "releases.toml"
    for release in (replace(NEW, version="2.99.0", sha="9" * 40), replace(known[-1], notes="https://example.org")):
        release_table.add(release, table)
    releases = of_folder(folder).releases
    assert [*releases][:-2] == [*known][:-1]
    assert releases.find("2.99").sha == "9" * 40
    assert releases.find(known[-1].version).notes == "https://example.org"
    assert len(release_table.load(table)) == 2


def test_a_suite_with_mem_benchmarks_gets_pympler(folder):
    """As from asv, which measures them with it."""
    written = suite(folder / "benchmarks")
    declared = lab_campaign(folder, requires=("einops==0.8",), suites=written)
    assert declared.requirements() == ["einops==0.8"]
    (written / "memory.py").write_text("class Lists:\n    def mem_list(self):\n        return []\n")
    assert declared.requirements() == ["pympler", "einops==0.8"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[project]\ncolour = 1", "colour"),
        (f"[project]\ntitle = '{'a' * 81}'", "length <= 80"),
        ("[project]\nrequires = ['--index=x']", "`$.project.requires[0]`"),
        ('[project]\nrequires = [".\\u0000"]', "`$.project.requires[0]`"),
        ('[project]\nrequires = ["numpy=="]', "'numpy==' in requires"),
        ('[project]\nrequires = ["einops 0.8"]', "'einops 0.8' in requires"),
        ("[suites]\npath = 'nowhere'", "which is no folder"),
        ("[suites]\npath = '.'\nthreads = -1", "`$.suites.threads`"),
        ("[project]\n[sute]", "sute"),
        ("project = 1", "`$.project`"),
        ("[[operation]]\nname = 'a'", "[[operation]], which is an asv suite now"),
    ],
)
def test_an_invalid_declaration_is_refused(folder, text, expected):
    """The message has the place or the value, and what is allowed."""
    (folder / "tensorcopy.toml").write_text(text)
    with pytest.raises(TensorcopyError) as raised:
        of_folder(folder)
    assert expected in raised.value.got


def test_what_uv_installs_may_be_required(folder):
    """Also an address and a folder, which are no requirement by themselves."""
    requires = [
        "einops==0.8",
        "numpy",
        "lab[plot]>=1,<2; python_version >= '3.10'",
        "git+https://example.org/lab",
        "a @ https://a/a.whl",
        "..",
    ]
    (folder / "tensorcopy.toml").write_text(f'[project]\nname = "lab"\nrequires = {json.dumps(requires)}\n')
    assert [*of_folder(folder).requires] == requires


@pytest.fixture(scope="module")
def lab(wheel, tmp_path_factory) -> Iterator[Path]:
    """An empty folder in which the guide's commands have run, with the wheel and nothing of this checkout."""
    require_pythons()
    place = tmp_path_factory.mktemp("lab")
    folder, kept = place / "lab", ROOT / ".asv" / "projects"  # beside the checkout's environments, which have another numpy
    (folder / ".asv").mkdir(parents=True)
    kept.mkdir(parents=True, exist_ok=True)
    (folder / ".asv" / "env").symlink_to(kept)
    assert len(COMMANDS) <= 10
    assert set(instead(wheel)) <= set(COMMANDS)
    done = run(folder, *(instead(wheel).get(command, command) for command in COMMANDS))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    yield folder
    shutil.rmtree(place)  # the wheel's environment and what it needs


def instead(wheel: Path) -> dict[str, str]:
    """Return what a test runs instead of some of the guide's commands: this wheel, one launch, and no pip and no server."""
    return {
        "python -m venv .venv": "python -m venv --without-pip .venv",
        INSTALL: f'uv pip install --quiet "tensorcopy[dashboard] @ {wheel.as_uri()}"',
        "tensorcopy measure 2.8.0 2.15.0 --launches 4": 'tensorcopy measure 2.8.0 2.15.0 --launches 1 --bench "1024"',
        "tensorcopy compare 2.8.0 2.15.0": "tensorcopy compare 2.8.0 2.15.0 || test $? -eq 3",  # one launch is too few to compare
        "python -m http.server --directory site": "",
    }


def run(folder: Path, *commands: str) -> subprocess.CompletedProcess[str]:
    """Run shell commands in a folder, without what this checkout exports; the first that fails ends them."""
    exported = {name: value for name, value in at_home(folder.parent).items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment = {**exported, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    script = "\n".join(["set -e", *commands])
    return subprocess.run(["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_guide_s_commands_make_a_history_of_an_own_suite(lab):
    """From an empty folder and the wheel; its pages have its title and mention no copies."""
    pages = {path: re.sub(r"<(script|style).*?</\1>|<.*?>", " ", path.read_text(), flags=re.DOTALL) for path in lab.glob("site/**/*.html")}
    assert "RMS norm over torch releases" in pages[lab / "site/index.html"]
    assert {path: found[0] for path, text in pages.items() if (found := COPIES.search(text))} == {}
    assert faults(files_in(lab / "site")) == []
    results = reader.load_results(lab / "results", shipped()).results
    assert {result.version for result in results} == {"2.8.0", "2.15.0"}
    assert {result.provenance["settings"]["OMP_NUM_THREADS"] for result in results} == {"1"}
    assert sides.REFERENCE in {result.version for result in results}
