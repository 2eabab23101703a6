"""A project of a third party: begun by `init` in an empty folder, measured from the wheel, shown on its own pages."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tensorcopy import __version__, campaign, configuration
from tensorcopy.cli import main
from tensorcopy.copying.shipped import of_folder, shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import plan
from tensorcopy.projects import asv_suite, installation, new_project
from tensorcopy.projects.installation import Origin
from tensorcopy.releases import environments, release_table, uv
from tensorcopy.results import reader, suite_specs
from tensorcopy.results.cases import cases_of, counted_case
from tensorcopy.site.facts import told
from tests.conftest import NEW, ROOT, at_home, lab_campaign, require_pythons
from tests.pages import follow_links_in
from tests.repositories import AUTHOR, sha
from tests.repositories import run as git
from tests.repository import test_workflows

EXAMPLE = ROOT / "docs/examples/point-clouds"
PUBLISHED = Origin(" @ git+https://github.com/-owner-/tensorcopy", is_built=True)
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
def folder(noted_of_installation, tmp_path, monkeypatch) -> Path:
    """An empty folder, the current one; tensorcopy is installed from a repository."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def suite(folder: Path, *modules: str) -> Path:
    """Write an asv suite of empty modules."""
    folder.mkdir()
    for module in ("__init__", *modules):
        (folder / f"{module}.py").write_text("")
    return folder


def test_init_writes_a_project_that_measures_its_example(folder, capsys):
    """Into an empty folder; every path in the configuration is relative."""
    assert main(["init", "--name", "lab", "--title", 'A "quoted" title']) == 0
    assert 'A "quoted" title: wrote tensorcopy.toml, operations.py, asv.conf.json' in capsys.readouterr().out
    declared = campaign.read(folder)
    assert (declared.name, declared.title, declared.suites) == ("lab", 'A "quoted" title', None)
    assert [operation.name for operation in declared.operations] == ["rms_norm"]
    assert {path.name for path in folder.iterdir()} == {
        ".github",
        ".gitignore",
        "README.md",
        "asv.conf.json",
        "operations.py",
        "tensorcopy.toml",
    }
    assert not any(str(folder) in path.read_text() or "@" in path.name for path in folder.rglob("*") if path.is_file())
    table = folder / "tensorcopy.toml"
    table.write_text(table.read_text().replace("# requires =", "requires ="))
    assert campaign.read(folder).requires == ("einops", ".")


@pytest.mark.parametrize(
    ("folder", "name"), [("my suite", "mysuite"), ("é-x", "x"), ("(-x", "x"), ("ü.bench", "bench"), ("_x", "x"), ("日本", "project")]
)
def test_a_project_may_have_the_name_of_any_folder(folder, name):
    assert campaign.default_name(Path(folder)) == name
    assert campaign.PROJECT_NAME.fullmatch(name)


def test_init_never_overwrites(folder, capsys):
    """A README and a workflow stay, and are named; a folder that asv measures is refused; an argument that is wrong leaves nothing."""
    for arguments in (("--suites", "nowhere"), ("--name", "a b"), ("--title", "a\nb")):
        assert main(["init", *arguments]) == 2
        assert capsys.readouterr().err.startswith("tensorcopy: tensorcopy.toml is refused")
    assert list(folder.iterdir()) == []
    workflow = folder / ".github/workflows/pages.yml"
    workflow.parent.mkdir(parents=True)
    for mine in (folder / "README.md", workflow):
        mine.write_text("mine")
    assert main(["init"]) == 0
    assert [mine.read_text() for mine in (folder / "README.md", workflow)] == ["mine", "mine"]
    assert "\nKept, and not what tensorcopy would write: README.md, .github/workflows/pages.yml\n" in capsys.readouterr().out
    assert main(["init"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("tensorcopy: this folder has an asv.conf.json already")
    assert error.count("\n") == 1


def test_workflows_that_github_would_ignore_are_warned_of(folder, capsys):
    """Of a folder in no repository; what the warning says puts them where GitHub reads them."""
    project = folder / "perf"
    project.mkdir()
    os.chdir(project)
    assert main(["init"]) == 0
    warning = capsys.readouterr().err
    assert warning.startswith("tensorcopy: warning: no git repository has this folder yet")
    assert "got workflows in perf/.github; " in warning
    assert warning.count("\n") == 1
    assert (
        "next: git init here; or, if the top is a folder above: git init there, remove .github here, and tensorcopy init --github"
        in warning
    )
    git(folder, "init", "-q")
    shutil.rmtree(project / ".github")
    assert main(["init", "--github"]) == 0
    assert capsys.readouterr().err == ""
    assert "working-directory: perf\n" in (folder / ".github/workflows/pages.yml").read_text()


def test_files_that_git_ignores_are_warned_of(folder, capsys):
    """As of a package that ignores wheels, from which its workflows would install; what the warning says adds them."""
    git(folder, "init", "-q")
    (folder / ".git" / "info" / "exclude").write_text("comment.yml\n")
    assert main(["init"]) == 0
    warning = capsys.readouterr().err
    assert warning.startswith("tensorcopy: warning: git ignores files of the project: got .github/workflows/comment.yml; ")
    git(folder, *warning.strip().rpartition("next: git ")[2].split())
    assert main(["init", "--github"]) == 0
    assert "ignores" not in capsys.readouterr().err


ASV_CONFIGURATION = """{
    // of a package and its suite
    "version": 1, "project": "some-package", "repo": REPO, "branches": ["main"], "benchmark_dir": "benchmarks",
    "environment_type": "virtualenv", "pythons": ["3.8", "3.10", "3.14", "3.12"], "build_command": ["python -m build"],
    "matrix": {"req": {"numpy": ["1.26", "2.1"], "torch": ["2.5"], "pip+einops": [], "gone": [null]}, "env": {"A": ["1"]}},
}"""
IGNORED = ("environment_type", "build_command", "matrix.env", "numpy 1.26 in matrix", "torch in matrix, which is what is measured")


@pytest.mark.parametrize(
    ("repo", "on_index", "package", "named"),
    [
        ("..", False, ["../../.."], "../../benchmarks"),
        ("https://example.org/me/some-package.git", True, ["some-package"], "../.."),
        ("https://example.org/a/b", False, [], "../../benchmarks"),
        ("https://example.org/a/c", True, ["some-package"], "../.."),
    ],
    ids=["the repository around it", "a package of the index", "nothing to install", "in the repository of another"],
)
def test_init_reads_the_configuration_of_a_suite(folder, monkeypatch, capsys, repo, on_index, package, named):
    """The folder of either may be named; it proposes requires, and lists what it does not use."""
    place = folder / "asv" / "benchmarks"
    (folder / "asv").mkdir()
    suite(place, "theirs")
    (folder / "asv" / "asv.conf.json").write_text(ASV_CONFIGURATION.replace("REPO", json.dumps(repo)))
    if repo == "..":
        (folder / "pyproject.toml").write_text('[project]\nname = "some-package"\n')
    if repo.endswith("c"):
        (folder / "pyproject.toml").write_text('[project]\nname = "other"\n')
    (folder / ".git").mkdir()
    monkeypatch.setattr(uv, "resolved", lambda *arguments, **named: "1.0" if on_index else None)
    project = folder / "asv" / "over" / "torch"
    project.mkdir(parents=True)
    monkeypatch.chdir(project)
    assert main(["init", "--suites", named]) == 0
    declared = campaign.read(project)
    assert (declared.name, declared.suites, list(declared.requires)) == ("some-package", place, [*package, "numpy==2.1", "einops"])
    printed = capsys.readouterr().out
    ignored = [*IGNORED[:2], *([] if package else ["project, which pip cannot install"]), *IGNORED[2:]]
    assert f"Not used of it: {'; '.join(ignored)}\n" in printed
    written = configuration.read(project / "asv.conf.json", dict)
    assert written["pythons"] == ["3.12", "3.10", "3.14"]  # the last has no wheel of the reference
    assert written["source_url"] == ("" if repo == ".." else repo.removesuffix(".git"))


@pytest.mark.parametrize("own", [False, True], ids=["a suite beside it", "a suite in it"])
def test_only_what_was_edited_is_told_as_kept(folder, monkeypatch, capsys, own):
    """Also by a later init, which reads again what the suite says of its repository and its Pythons."""
    project = folder / "over-torch"
    project.mkdir()
    (folder / ".git").mkdir()
    monkeypatch.setattr(uv, "resolved", lambda *arguments, **named: "1.0")
    suite(project / "benchmarks" if own else folder / "benchmarks", "theirs")
    (folder / "asv.conf.json").write_text(ASV_CONFIGURATION.replace("REPO", '"https://example.org/me/some-package.git"'))
    monkeypatch.chdir(project)
    assert main(["init", "--suites", "benchmarks" if own else ".."]) == 0
    assert main(["init", "--github"]) == 0
    assert "Kept" not in capsys.readouterr().out
    edited = project / "asv.conf.json"
    edited.write_text(f"// mine\n{edited.read_text()}")
    assert main(["init", "--github"]) == 0
    assert "Kept, and not what tensorcopy would write: asv.conf.json\n" in capsys.readouterr().out


@pytest.mark.parametrize("first", ["a", "."], ids=["beside it", "above it"])
def test_a_second_project_of_a_repository_is_said_to_have_no_workflows(folder, monkeypatch, capsys, first):
    """GitHub reads those of the first at the top; the first one is told nothing."""
    (folder / ".git").mkdir()
    for name in (first, "b", first):
        (folder / name).mkdir(exist_ok=True)
        monkeypatch.chdir(folder / name)
        assert main(["init", *(["--github"] if (folder / name / "tensorcopy.toml").exists() else [])]) == 0
        warned = capsys.readouterr().err
        assert ("GitHub does not measure this project: workflows of these names are there" in warned) is (name == "b")
        assert ("../.github/workflows/measure.yml, ../.github/workflows/pages.yml" in warned) is (name == "b")


@pytest.mark.parametrize("kind", ["conda", "mamba", "rattler"])
def test_conda_packages_are_named_and_not_required(folder, capsys, kind):
    """In one sentence: under its name, pip's index may have another package. Every environment has numpy, and what is required."""
    suite(folder / "benchmarks", "theirs")
    matrix = {"numpy": [], "einops": [], "pandas==2.2": [""], "pytables": ["", None], "scipy": ["1.1", "1.2"], "pip+einops": []}
    (folder / "asv.conf.json").write_text(json.dumps({"environment_type": kind, "matrix": matrix}))
    (folder / "over-torch").mkdir()
    os.chdir(folder / "over-torch")
    assert main(["init", "--suites", ".."]) == 0
    assert campaign.read(folder / "over-torch").requires == ("einops",)
    of_conda = "pandas==2.2, pytables, scipy==1.2 in matrix, as conda names them: add to requires what the suite imports, as pip names it"
    assert f"Not used of it: environment_type; scipy 1.1 in matrix; {of_conda}\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (uv.UvFailed("error sending request for url"), "since the package index cannot be reached"),
        (uv.UvFailed("Failed to parse"), "which pip cannot install"),
    ],
    ids=["no network", "no name"],
)
def test_init_tells_a_package_that_no_index_has_from_an_index_that_cannot_be_asked(folder, monkeypatch, error, reason):
    """Without a network, every package would be one that pip cannot install."""

    def resolved(*_, **__):
        raise error

    monkeypatch.setattr(uv, "resolved", resolved)
    (folder / "asv.conf.json").write_text('{"project": "some-package"}')
    found = asv_suite.find(folder, folder / "over-torch")
    assert (found.requires, found.ignored) == ((), (f"project, {reason}",))


def test_a_project_has_a_table_of_its_own_for_releases_that_tensorcopy_lacks(folder):
    """The package's is not written; a row of the same version replaces the package's."""
    (folder / "tensorcopy.toml").write_text('[project]\nname = "lab"\n')
    known, table = release_table.load(), campaign.read(folder).table
    assert table == folder / "releases.toml"
    for release in (replace(NEW, version="2.99.0", sha="9" * 40), replace(known[-1], notes="https://example.org")):
        release_table.add(release, table)
    releases = campaign.read(folder).releases
    assert [*releases][:-2] == [*known][:-1]
    assert releases.find("2.99").sha == "9" * 40
    assert releases.find(known[-1].version).notes == "https://example.org"
    assert len(release_table.of_tables(table)) == 2


def test_a_project_s_numpy_is_the_newest_that_its_environment_allows(folder, every_python, monkeypatch):
    """uv decides, with what the project requires; the history of tensorcopy itself has one numpy."""
    installed: list[list[str]] = []
    monkeypatch.setattr(uv, "make_environment", lambda path, python, requirements, index: installed.append(requirements))
    newest, of_numpy_1 = release_table.load().find("2.15.0"), release_table.load().find("2.2.2")
    for number, (release, of) in enumerate(((newest, shipped()), (newest, lab_campaign(folder)), (of_numpy_1, lab_campaign(folder)))):
        with suppress(OSError):  # nothing was installed that could be completed
            environments.build(folder / f"{number}", release, "3.11", "cuda", of)
    assert [each[1] for each in installed] == [f"numpy=={newest.numpy}", "numpy", "numpy<2"]


@pytest.mark.parametrize(
    ("said", "next_step"),
    [
        ("No solution found: because you require numpy<2 and numpy>=2", "torch==.*; next: correct requires in tensorcopy.toml"),
        ("Failed to build: RuntimeError: CMake", "torch==.*; next: correct requires in tensorcopy.toml"),
        ("Request failed: error sending request for url", "next: check the network and UV_INDEX_URL"),
    ],
    ids=["requirements", "a build", "the network"],
)
def test_what_cannot_be_installed_is_shown_as_uv_says_it(folder, every_python, monkeypatch, said, next_step):
    """With what to do about it."""

    def fail(*arguments: object) -> None:
        raise uv.UvFailed(said)

    monkeypatch.setattr(uv, "make_environment", fail)
    with pytest.raises(TensorcopyError, match=f"got {re.escape(said)}; .*{next_step}"):
        environments.build(folder / "env", NEW, "3.11", "cuda", lab_campaign(folder, requires=("einops",)))


def test_the_example_is_what_init_writes(folder):
    """From its tensorcopy.toml and the modules that are its own."""
    for name in ("tensorcopy.toml", "operations.py"):
        shutil.copy(EXAMPLE / name, folder)
    shutil.copytree(EXAMPLE / "benchmarks", folder / "benchmarks")
    written = new_project.new_project(folder, origin=PUBLISHED, github=True).written
    assert {*new_project.PLACES.values(), *(f".github/workflows/{name}" for name in new_project.WORKFLOWS)} < {*written}
    for place in written:
        if place not in (new_project.LOCKED, new_project.BUILD_LOCKED):  # copies of this repository's own
            assert (folder / place).read_text() == (EXAMPLE / place).read_text(), place
    assert (folder / new_project.LOCKED).read_text() == test_workflows.LOCKED.read_text()
    assert (folder / new_project.BUILD_LOCKED).read_text() == test_workflows.BUILD_LOCKED.read_text()


def test_a_project_s_workflow_that_writes_runs_nothing_of_the_project():
    """tests/repository/test_workflows.py checks its workflows as this repository's own."""
    jobs = yaml.safe_load((EXAMPLE / ".github/workflows/measure.yml").read_text())["jobs"]
    assert [name for name, job in jobs.items() if "write" in job["permissions"].values()] == ["keep"]
    commands = [step["run"].removeprefix("uv run --no-project tensorcopy ") for step in jobs["keep"]["steps"] if "run" in step]
    assert [command.split()[0] for command in commands[3:]] == ["merge", "ci"]


@pytest.mark.parametrize("name", ["measure", "comment", "releases"])
def test_what_may_write_in_a_project_installs_packages_with_hashes(name):
    """As in this repository, and then tensorcopy alone; what another job left lies where no code is."""
    for of_job in yaml.safe_load((EXAMPLE / f".github/workflows/{name}.yml").read_text())["jobs"].values():
        commands = [step["run"] for step in of_job["steps"] if "run" in step]
        if "write" in of_job["permissions"].values() and any("tensorcopy" in command for command in commands):
            assert commands[1] == f"uv pip sync --require-hashes --no-build {new_project.LOCKED}"
            assert commands[2].startswith(f"uv pip install --no-deps {installation.BUILT_FROM_SOURCE} {new_project.BUILD_LOCKED} ")
            assert not any("pip" in command for command in commands[3:])
        downloads = [step["with"]["path"] for step in of_job["steps"] if "download-artifact" in step.get("uses", "")]
        assert {*downloads} <= {"measured", "artifact", "looked-up"}


@pytest.mark.parametrize(
    ("noted", "requirement"),
    [
        (None, f"tensorcopy[dashboard]=={__version__}"),
        (
            {"url": "ssh://git@example.org/me/tensorcopy.git", "vcs_info": {"vcs": "git", "commit_id": SHA}},
            f"tensorcopy[dashboard] @ git+https://example.org/me/tensorcopy@{SHA}",
        ),
        ({"url": "https://me:secret@example.org/t.whl", "archive_info": {}}, "tensorcopy[dashboard] @ https://example.org/t.whl"),
        ({"url": "file:WHEEL", "archive_info": {}}, "../.github/wheels/tensorcopy-0.1.0-py3-none-any.whl[dashboard]"),
        ({"url": "file:REPOSITORY", "dir_info": {"editable": True}}, "tensorcopy[dashboard] @ git+https://example.org/me/fork@HEAD"),
    ],
    ids=["an index", "git", "an address", "a wheel", "a checkout"],
)
def test_workflows_install_what_init_was_installed_from(folder, noted_of_installation, noted, requirement):
    """By what the installer noted, without credentials; they lie at the top of the repository, and run in the project's folder."""
    wheel, repository, project = folder / "tensorcopy-0.1.0-py3-none-any.whl", folder / "clone", folder / "over-torch"
    wheel.write_bytes(b"wheel")
    (folder / ".git").mkdir()
    project.mkdir()
    git(folder, "init", "-q", "-b", "main", "clone")
    git(repository, *AUTHOR, "commit", "-q", "--allow-empty", "-m", "a")
    git(repository, "remote", "add", "origin", "git@example.org:me/fork.git")
    if noted:
        noted_of_installation.write_text(json.dumps(noted).replace("WHEEL", str(wheel)).replace("REPOSITORY", str(repository)))
    else:
        noted_of_installation.unlink()
    if requirement.endswith("HEAD"):
        with pytest.raises(
            TensorcopyError, match=r"no workflow can install this tensorcopy: got .*/clone, a folder whose commit is at no git"
        ):
            installation.find()
        git(repository, "update-ref", "refs/remotes/origin/main", "HEAD")
        requirement = requirement.replace("HEAD", sha(repository))
    written = new_project.new_project(project, origin=installation.find()).written
    copied = folder / ".github/wheels" / wheel.name
    assert copied.exists() == ("../.github/wheels/" + wheel.name in written)
    if copied.exists():  # from which a member of the project has installed it
        noted_of_installation.write_text(json.dumps({"url": copied.as_uri()}))
        assert copied.name not in " ".join(new_project.new_project(project, origin=installation.find(), github=True).written)
    workflow = (folder / ".github/workflows/measure.yml").read_text()
    assert f'uv pip install "{requirement}"' in workflow
    assert (folder / new_project.BUILD_LOCKED).exists() == ("--build-constraints ../.github/" in workflow) == ("git+" in requirement)
    assert "working-directory: over-torch\n" in workflow
    assert f'pip install "{requirement}"' in (project / "README.md").read_text()


def test_a_suite_with_mem_benchmarks_gets_pympler(folder):
    """As from asv, which measures them with it."""
    written = suite(folder / "benchmarks", "memory")
    declared = lab_campaign(folder, requires=("einops==0.8",), suites=written)
    assert declared.requirements() == ["einops==0.8"]
    (written / "memory.py").write_text("class Lists:\n    def mem_list(self):\n        return []\n")
    assert declared.requirements() == ["pympler", "einops==0.8"]


def test_parameters_of_a_third_party_suite_keep_their_meaning():
    """A numel may be a dtype, and a module `memory` may time: neither damages a file of results. Pages tell all of them apart."""
    samples = cases_of("memory.Odd.time_nothing", ("method", "numel"), (("'a'",), ("torch.float32", "None")))
    assert [case.parameters for case in samples] == [(("method_", "a"), ("numel_", value)) for value in ("torch.float32", "None")]
    assert {case.spec.unit for case in samples} == {suite_specs.SECONDS}
    assert {counted_case(case) for case in samples} == {None}
    names, params = ("method", "dtype", "requires_grad"), (("'ffill'", "'bfill'"), ("int",), ("True", "None"))
    shown = [told(case) for case in cases_of("theirs.time_fill", names, params)]
    assert shown == [f"method_={each}, int, requires_grad_={grad}" for each in ("ffill", "bfill") for grad in ("True", "None")]


def test_the_settings_are_those_before_torch_adds_its_own(monkeypatch):
    """Old releases set CUDA_MODULE_LOADING when they look for a GPU: no release may differ by that."""
    from tensorcopy.worker import devices, provenance

    def look_for_a_gpu() -> list[str]:
        monkeypatch.setenv("CUDA_MODULE_LOADING", "LAZY")
        return ["cpu"]

    monkeypatch.delenv("CUDA_MODULE_LOADING", raising=False)
    monkeypatch.setattr(devices, "available", look_for_a_gpu)
    assert "CUDA_MODULE_LOADING" not in provenance.collect()["settings"]


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
        "tensorcopy measure 2.8.0 2.15.0 --launches 4": 'tensorcopy measure 2.8.0 2.15.0 --launches 1 --bench "BySize.*, 1024"',
        "tensorcopy compare 2.8.0 2.15.0": "tensorcopy compare 2.8.0 2.15.0 || test $? -eq 3",  # one launch is too few to compare
        "python -m http.server --directory site": "",
    }


def run(folder: Path, *commands: str) -> subprocess.CompletedProcess[str]:
    """Run shell commands in a folder, without what this checkout exports; the first that fails ends them."""
    exported = {name: value for name, value in at_home(folder.parent).items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment = {**exported, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    script = "\n".join(["set -e", *commands])
    return subprocess.run(["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=False)


def texts(site: Path) -> dict[str, str]:
    """Return the text of every page, by address."""
    pages = {}
    for path in site.rglob("*.html"):
        pages[path.relative_to(site).as_posix()] = re.sub(r"<(script|style).*?</\1>|<.*?>", " ", path.read_text(), flags=re.DOTALL)
    return pages


@pytest.mark.slow
def test_the_guide_s_commands_make_a_history_of_an_own_operation(lab):
    """From an empty folder and the wheel; its pages have its title and mention no copies."""
    pages = texts(lab / "site")
    assert "RMS norm over torch releases" in pages["index.html"]
    assert "operations .rms_norm(x)" in re.sub(r"\s+", " ", pages["index.html"])
    assert all(release in pages["data.html"] + pages["compare/index.html"] for release in ("2.8.0", "2.15.0"))
    assert {address: found[0] for address, text in pages.items() if (found := COPIES.search(text))} == {}
    follow_links_in(lab / "site")
    results = reader.load_results(lab / "results").results
    assert {result.provenance["settings"]["OMP_NUM_THREADS"] for result in results} == {"1"}
    assert {name for result in results for name in result.methods} == {"rms_norm"}


@pytest.mark.weekly
def test_the_example_times_a_suite_unchanged(lab):
    """Beside its operations, with the environments of the other project."""
    folder = lab.parent / "example"
    shutil.copytree(EXAMPLE, folder)
    (lab / ".asv").rename(folder / ".asv")
    before = {path: hashlib.sha256(path.read_bytes()).digest() for path in (folder / "benchmarks").iterdir()}
    program = lab / ".venv" / "bin"
    bench = "(BySize.*16384|ByInputs|distances|training)"
    done = run(folder, f"{program}/tensorcopy measure 2.8.0 2.15.0 --launches 1 --bench '{bench}'", f"{program}/asv publish")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert {path: hashlib.sha256(path.read_bytes()).digest() for path in (folder / "benchmarks").iterdir()} == before
    landing = re.sub(r"\s+", " ", texts(folder / "site")["index.html"])
    for code in ("nearest(points, queries, k)", "normalized(x)", "time_cdist", "time_broadcast", "time_topk", "time_forward_backward"):
        assert code in landing, code
    follow_links_in(folder / "site")


@pytest.mark.weekly
def test_the_workflows_of_a_project_install_tensorcopy_as_written(lab):
    """In a checkout of it, which has the wheel that `init` was installed from; each way of installing runs what its job calls."""
    lines = {line for path in (lab / ".github/workflows").glob("*.yml") for line in test_workflows.runs(path) if "pip install" in line}
    (synced,) = {line for path in (lab / ".github/workflows").glob("*.yml") for line in test_workflows.runs(path) if "pip sync" in line}
    assert len(lines) == 2
    for number, line in enumerate(sorted(lines)):
        checkout = lab.parent / f"checkout-{number}"
        shutil.copytree(lab / ".github", checkout / ".github")
        first = [synced] if "--no-deps" in line else []
        done = run(checkout, "uv venv --python 3.12", *first, line, "uv run --no-project tensorcopy ci runners")
        assert done.returncode == 0, done.stdout + done.stderr
        assert '"machine": "github-hosted"' in done.stdout


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[project]\ncolour = 1", "got colour in [project]; allowed: name, title"),
        (f"[project]\ntitle = '{'a' * 81}'", "got a title of 81 characters; allowed: at most 80"),
        ("[project]\nrequires = ['--index=x']", "got requires = ['--index=x']; allowed: an array of packages"),
        ('[project]\nrequires = [".\\u0000"]', "allowed: an array of packages"),
        ("[suites]\npath = 'nowhere'", "which is no folder"),
        ("[suites]\npath = '.'\nthreads = -1", "got threads = -1; allowed: a number from 0"),
        ("[project]\n[sute]", "got sute; allowed: "),
        ("project = 1", "got project = 1; allowed: a table [project]"),
        ("[project]\n", "this project has nothing to measure"),
    ],
)
def test_an_invalid_declaration_is_refused(folder, text, expected):
    """The message has the value and what is allowed."""
    (folder / "tensorcopy.toml").write_text(text)
    with pytest.raises(TensorcopyError) as raised:
        plan.suites_folder(of_folder(folder))
    assert expected in str(raised.value)
