"""Fixtures and values that several tests use: the shipped results, and small results with known numbers."""

from __future__ import annotations

import gc
import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import json5
import pytest
from filelock import FileLock
from jinja2 import FileSystemBytecodeCache

from tensorcopy import cli
from tensorcopy.campaign import Campaign
from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure.sides import REFERENCE
from tensorcopy.releases import environments, interpreters, release_table, uv
from tensorcopy.releases.release_table import Release
from tensorcopy.results import reader
from tensorcopy.results.reader import Results
from tensorcopy.site import build, facts
from tensorcopy.site.facts import Site
from tensorcopy.worker.processes import ReportProgress, ignore_progress
from tests import emulated_cuda as emulation
from tests import launch_files, nexts
from tests.emulated_cuda import Gpu
from tests.site import world

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parent.parent

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell's background: programs that tests interrupt would ignore it
    signal.signal(signal.SIGINT, signal.default_int_handler)

gc.disable()  # until all is imported: looking through what torch and scipy make takes a third of that time
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # of the test processes, which occupy all cores
if sys.dont_write_bytecode:  # many containers ask for it; each process would then compile torch again, for two seconds
    os.environ.update(environments.bytecode_in(ROOT / ".pytest_cache"))
    sys.dont_write_bytecode, sys.pycache_prefix = False, os.environ["PYTHONPYCACHEPREFIX"]


@pytest.fixture(scope="session", autouse=True)
def _no_power_failure() -> Generator[None, None, None]:
    """No file of a test is needed after a power failure, and waiting for the disk would take longer than most tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


GOLDEN = ROOT / "tests" / "golden"


@pytest.fixture(scope="session", autouse=True)
def _templates_and_arguments_are_made_once(tmp_path_factory: pytest.TempPathFactory) -> Generator[None, None, None]:
    """Compiling the templates takes longer than writing a small site, and describing all arguments longer than a small command."""
    with made_once(tmp_path_factory, "templates") as (folder, _):
        folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "Environment", partial(build.Environment, bytecode_cache=FileSystemBytecodeCache(str(folder))))
        patch.setattr(cli, "parser", lru_cache(cli.parser))
        patch.setattr(json5, "loads", lru_cache(json5.loads))  # of asv.conf.json, which no test changes in memory
        yield


@pytest.fixture(autouse=True)
def _each_next_can_be_typed() -> Generator[None, None, None]:
    """In every error that the test meets, each command that it tells to type next is one that its program takes."""
    told, usual = list[str](), TensorcopyError.__init__

    def noting(error: TensorcopyError, *arguments: Any, **parts: Any) -> None:
        usual(error, *arguments, **parts)
        told.append(error.next)

    with mock.patch.object(TensorcopyError, "__init__", noting):
        yield
    assert [fault for text in told for fault in nexts.faults(text)] == []


POLL = 0.01  # seconds within which a server of a test ends; half a second by default


def assert_golden(name: str, text: str) -> None:
    """Compare `text` with tests/golden/`name`; TENSORCOPY_GOLDEN=write replaces the file, to be read before it is committed."""
    path = GOLDEN / name
    if os.environ.get("TENSORCOPY_GOLDEN") == "write":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return the number of test processes: one for each core, at most four; one alone for tests that measure times.

    Slow tests wait a part of their time, for installations, quiet cores and a browser: they get two processes more than cores.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if config.option.markexpr == "timed":
        return 1
    return min(4, cores) if "not slow" in config.option.markexpr else min(4, cores + 2)


# files that take longest, slow and fast ones: they start first, so that no process is left alone with one of them at the end
LONGEST = (
    "whole/test_the_whole_way",
    "whole/test_one_answer",
    "asv_plugin/test_commands",
    "ci/test_pull_request",
    "projects/test_new_project",
    "measure/test_launch",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of the longest files first, and let a test that measures times run again where other work disturbed it."""
    rank = {ROOT / "tests" / f"{name}.py": number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path, len(rank)))
    for item in items:
        if item.get_closest_marker("timed"):
            item.add_marker(pytest.mark.flaky(reruns=2))


def pytest_collection_finish() -> None:
    """Collect garbage from here on, but look at nothing that was imported."""
    gc.freeze()
    gc.enable()


def require(condition: object, what: str) -> None:
    """Skip the test unless `condition` is true; in CI, fail: it must not pass without the test.

    what : what is missing, and the command that installs it
    """
    if not condition:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(what)


@pytest.fixture(scope="session")
def browser() -> Generator[Browser, None, None]:
    """A running Chromium."""
    from playwright import sync_api as playwright

    programs = ("chromium-headless-shell", "chromium", "google-chrome")  # the first takes half the time of the others
    executable = os.environ.get("PLAYWRIGHT_CHROMIUM") or next(filter(None, map(shutil.which, programs)), None)
    require(executable, "no Chromium: apt install chromium, or set PLAYWRIGHT_CHROMIUM to its path")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def offline(browser: Browser) -> Iterator[Callable[..., Any]]:
    """Return a function that opens a file without a network; no page may write to the console (`messages`), or ask a host."""
    pages = []

    def open_page(path: Path | None = None, width: int = 1280, height: int = 800, scheme: str = "light", **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, offline=True, **options)
        page: Any = context.new_page()
        pages.append(page)
        page.requests, page.messages = [], []
        page.on("request", lambda request: page.requests.append(request.url))
        page.on("console", lambda message: page.messages.append(message.text))
        page.on("pageerror", lambda error: page.messages.append(str(error)))
        if path:
            page.goto(path.as_uri())
        return page

    yield open_page
    for page in pages:
        page.context.close()
    assert [message for page in pages for message in page.messages] == []
    assert [url for page in pages for url in page.requests if not url.startswith(("file:", "data:"))] == []


@pytest.fixture(scope="session")
def emulated_cuda(tmp_path_factory: pytest.TempPathFactory) -> Gpu:
    """The emulated CUDA, also where there is a real one: its faults can be planted."""
    missing = emulation.missing()
    require(not missing, missing)
    return emulation.build(tmp_path_factory.mktemp("cuda"))


@pytest.fixture(scope="session")
def gpu(request: pytest.FixtureRequest) -> Gpu:
    """A CUDA device: a real one where torch has one, else the emulated one."""
    return Gpu() if emulation.has_real() else request.getfixturevalue("emulated_cuda")


@pytest.fixture(scope="session")
def shipped_results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The shipped results, read once in each test process, without launches that this checkout has measured. No test changes them."""
    command = ["git", "ls-files", "results"]
    tracked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()  # none without git
    folder = tmp_path_factory.mktemp("shipped") if tracked else ROOT
    for name in tracked:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    return reader.load_results(folder / "results", shipped())


@pytest.fixture(scope="session")
def shipped_site(shipped_results: Results) -> Site:
    """What the site shows of the shipped results. No test changes it."""
    return facts.site(shipped(), shipped_results.histories, docs=build.documents(ROOT))


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with few results of every kind. No test changes it."""
    from tests.mutations import small_results  # which imports this module

    return small_results(tmp_path_factory.mktemp("small")).parent


@contextmanager
def made_once(tmp_path_factory: pytest.TempPathFactory, name: str) -> Generator[tuple[Path, bool], None, None]:
    """Yield a folder of all test processes, and whether it is this one that fills it; the others wait."""
    root = tmp_path_factory.getbasetemp()
    folder = (root.parent if "PYTEST_XDIST_WORKER" in os.environ else root) / name
    with FileLock(folder.with_suffix(".lock")):
        yield folder, not folder.with_suffix(".complete").exists()
        folder.with_suffix(".complete").touch()


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    with made_once(tmp_path_factory, "wheel") as (folder, is_ours):
        if is_ours:
            subprocess.run(["uv", "build", "--quiet", "--wheel", "--out-dir", str(folder), str(ROOT)], check=True)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="session")
def published_site(shipped_site: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of the shipped history; the first test process that needs it writes it for all.

    No test changes it.
    """
    with made_once(tmp_path_factory, "site") as (site, is_ours):
        if is_ours:
            site.mkdir()
            build.write(shipped_site, site)
    return site


@pytest.fixture(scope="session")
def world_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The launches of the small world of `tests.site.world`. No test changes them."""
    return world.write(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="session")
def world_site(world_folder: Path) -> Site:
    """What the site shows of that world."""
    return world.site_of(world_folder, docs=build.documents(ROOT), source="https://github.com/o/tensorcopy")


@pytest.fixture(scope="session")
def world_files(world_site: Site) -> dict[str, str]:
    """Every file of its site, by address."""
    return dict(build.files(world_site, "https://o.github.io/tensorcopy/"))


SHIPPED, SHIPPED_GPU = ROOT / "results" / "epyc-2core", ROOT / "results" / "h200-16core"
OLDEST, NEWEST = release_table.load()[0], release_table.load()[-1]


@pytest.fixture
def small_checkout(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the small checkout as the current folder."""
    shutil.copytree(small, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def lab_campaign(folder: Path, **values: Any) -> Campaign:
    """Return a campaign of its own, in a folder."""
    return Campaign("lab", "A lab", folder, release_table.load(), folder / "releases.toml", **values)


@pytest.fixture
def worker_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probes run in this process, which has imported torch, instead of in another, which would do so for two seconds."""

    def run_probe(python: Path, module: str, *arguments: str, report_progress: ReportProgress = ignore_progress, **_: Any) -> Any:
        import torch

        threads = torch.get_num_threads()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as a process prints them
            result = importlib.import_module(module).main(arguments, report_progress)
        torch.set_num_threads(threads)
        return json.loads(json.dumps(result))

    monkeypatch.setattr(interpreters, "run_probe", run_probe)


@pytest.fixture
def no_other_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    """Git's commands are about the current folder, also where a hook of git runs the tests."""
    for variable in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(variable)


@pytest.fixture
def every_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Python is on this machine; its path is its version."""
    monkeypatch.setattr(uv, "find_python", Path)


@pytest.fixture
def run_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs a command of tensorcopy, on a wide terminal, and returns its exit code, output and errors."""
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *arguments: (cli.main(arguments), *capsys.readouterr())


NEW = Release("2.0.0", date(2021, 1, 1), "b" * 40, ("3.9", "3.12"), "1.26.4", "https://example.org/2")  # that no test installs


@dataclass(frozen=True)
class Checkout:
    """A copy of this checkout, with the variables of its processes."""

    root: Path
    environment: dict[str, str]

    def run(self, program: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run `tensorcopy` or `asv` in it."""
        command = [sys.executable, "-m", program, *arguments]
        return subprocess.run(command, cwd=self.root, env={**self.environment, **variables}, capture_output=True, text=True, check=False)

    def edit(self, name: str, pattern: str, replacement: str) -> None:
        """Replace text in a file of it; ^ and $ of the pattern stand for lines."""
        text, count = re.subn(pattern, replacement, (self.root / name).read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert count, f"nothing matches {pattern} in {name}"
        (self.root / name).write_text(text, encoding="utf-8")


def installed(tmp_path_factory: pytest.TempPathFactory, *versions: str) -> list[Path]:
    """Return the environments of this checkout with these releases, such as "2.15.0", or "2.8.0@3.9" for another Python than the usual one.

    The first test process that needs one installs it, for all and for the next run of the tests: torch is also compiled once.
    """
    require_pythons()
    folder, paths = ROOT / ".asv" / "env", []
    with made_once(tmp_path_factory, "environments"):
        for version, _, python in (name.partition("@") for name in versions):
            release = release_table.load().find(version)
            python = python or ("3.11" if release.runs_on("3.11") else "3.9")
            paths.append(folder / f"{version}-py{python}-cuda")
            if not (paths[-1] / environments.COMPLETE).exists():
                environments.install(paths[-1], release, python, shipped())
    return paths


def require_pythons() -> None:
    """Skip a test where its releases cannot be installed."""
    if environments.expected_build() != "cuda":
        pytest.skip("the table's sizes and SHAs are those of PyPI's default wheels for Linux x86-64")
    missing = [python for python in ("3.9", "3.11") if uv.find_python(python) is None]
    require(not missing, f"uv finds no Python {' and '.join(missing)}: uv python install {' '.join(missing)}")


def copied(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Return a copy of this checkout with the results of a machine that has measured few cases."""
    require_pythons()
    root = tmp_path_factory.mktemp("copied") / "checkout"
    written = {".git", ".venv", ".asv", ".pytest_cache", ".mypy_cache", "results", "site"}
    shutil.copytree(ROOT, root, ignore=lambda folder, _: written if Path(folder) == ROOT else {"__pycache__"})
    launch_files.write_small(root / "results", REFERENCE, NEWEST.version)
    return Checkout(root, {**at_home(tmp_path_factory.mktemp("home")), "PYTHONPATH": str(root), "COLUMNS": "200"})


def at_home(home: Path) -> dict[str, str]:
    """Return the variables of a process with another home, where asv keeps its list of machines, and with uv's usual cache and Pythons."""
    cache = subprocess.run([uv.find_uv_bin(), "cache", "dir"], capture_output=True, text=True, check=True).stdout.strip()
    pythons = os.environ.get("PYENV_ROOT", str(Path.home() / ".pyenv"))
    return {**os.environ, "HOME": str(home), "UV_CACHE_DIR": cache, "PYENV_ROOT": pythons}
