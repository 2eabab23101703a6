"""Fixtures and values that several tests use: the shipped results, and small results with known numbers."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache, partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest
from filelock import FileLock
from jinja2.bccache import Bucket, BytecodeCache

from tensorcopy.analysis import comparisons
from tensorcopy.analysis.two_sample import MARGIN
from tensorcopy.releases import environments, interpreters, release_table, uv
from tensorcopy.releases.release_table import Release
from tensorcopy.results import confirmations, reader, select
from tensorcopy.results.passes import Case, PassSamples, timing
from tensorcopy.results.reader import Result, Results
from tensorcopy.site import render, writer
from tensorcopy.site.pages import data
from tests import emulated_cuda as emulation
from tests import worker_in_process
from tests.emulated_cuda import Gpu

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parent.parent

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # as in the background of a shell's script: programs that tests interrupt would ignore it
    signal.signal(signal.SIGINT, signal.default_int_handler)

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


class CompiledTemplates(BytecodeCache):
    """The compiled templates of this process, which writes many sites; compiling them takes longer than writing a small one."""

    def __init__(self) -> None:
        self._code: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self._code:
            bucket.bytecode_from_string(self._code[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._code[bucket.key] = bucket.bytecode_to_string()


@pytest.fixture(scope="session", autouse=True)
def _templates_are_compiled_once() -> Generator[None, None, None]:
    """Each template once in a test process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(render, "Environment", partial(render.Environment, bytecode_cache=CompiledTemplates()))
        yield


@pytest.fixture(scope="session", autouse=True)
def _shipped_results_stay_loaded() -> Generator[None, None, None]:
    """In each test process; the folders of tests would push them out of the cache, and loading them takes a second and more."""
    usual, shipped = reader._load_cached, lru_cache(reader._load)

    def loaded(directory: Path, state: Hashable) -> Results:
        return (shipped if directory.resolve() == ROOT / "results" else usual)(directory, state)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "_load_cached", loaded)
        yield


POLL = 0.01  # seconds within which a server of a test ends; half a second by default
DEVIATIONS = (-0.012, -0.008, -0.003, 0.0, 0.002, 0.005, 0.009, 0.013)  # relative, of eight passes


def pass_times(factor: float, shift: int = 0) -> list[float]:
    """Return eight times around `factor`; another `shift` gives them in another order."""
    return [factor * (1 + DEVIATIONS[(number * 3 + shift) % 8]) for number in range(8)]


def assert_golden(name: str, text: str) -> None:
    """Compare `text` with tests/golden/`name`; TENSORCOPY_GOLDEN=write replaces the file, to be read before it is committed."""
    path = GOLDEN / name
    if os.environ.get("TENSORCOPY_GOLDEN") == "write":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


PROVENANCE = {
    "torch": "2.15.0+cu132",
    "torch_sha": "d0f2af8b66b20da4baa50644c0cd3f887a2eae2e",
    "build": "cuda",
    "cuda": "13.2",
    "numpy": "1.26.4",
    "asv": "0.6.6",
    "asv_runner": "0.3.2",
    "python": "3.11.7",
    "tensorcopy": "0.1.0",
    "os": "Linux",
    "arch": "x86_64",
    "libc": "glibc 2.36",
    "cpu": "Box 9000",
    "cores": 2,
    "cpu_capability": "AVX2",
    "governor": "",
    "cpu_quota": None,
    "hugepages": "madvise",
    "threads": 2,
    "accelerators": {},
    "driver": "",
    "settings": {},
    "started": "2026-11-21T08:00:00+00:00",
}


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return the number of test processes: one for each core, at most four; one alone for tests that measure times.

    Slow tests wait a part of their time, for installations, quiet cores and a browser: they get a process more than cores, at most four.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if config.option.markexpr == "timed":
        return 1
    return min(4, cores) if "not slow" in config.option.markexpr else min(4, cores + 1)


# files that take longest, slow and fast ones: they start first, so that no process is left alone with one of them at the end
LONGEST = (
    *("test_the_whole_way", "test_page_in_a_browser", "test_true_numbers", "test_pull_request"),
    *("test_profiles_under_valgrind", "test_project", "test_package"),
    *("test_project_pull_request", "test_bisect", "test_offline", "test_operations"),
    *("test_no_traceback", "test_site", "test_measure"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of the longest files first, and let a test that measures times run again where other work disturbed it."""
    rank = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path.stem, len(rank)))
    for item in items:
        if item.get_closest_marker("timed"):
            item.add_marker(pytest.mark.flaky(reruns=2))


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

    executable = os.environ.get("PLAYWRIGHT_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    require(executable, "no Chromium: apt install chromium, or set PLAYWRIGHT_CHROMIUM to its path")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def offline(browser: Browser) -> Iterator[Callable[..., Any]]:
    """Return a function that opens an empty page without a network; its `messages` are those of the console, its `requests` addresses."""
    contexts = []

    def open_page(width: int = 1280, height: int = 800, scheme: str = "light", **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, offline=True, **options)
        contexts.append(context)
        page: Any = context.new_page()
        page.requests, page.messages = [], []
        page.on("request", lambda request: page.requests.append(request.url))
        page.on("console", lambda message: page.messages.append(message.text))
        page.on("pageerror", lambda error: page.messages.append(str(error)))
        return page

    yield open_page
    for context in contexts:
        context.close()


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


def write_files(directory: Path, files: Iterable[tuple[str, str]]) -> None:
    """Write texts by their address below `directory`."""
    for address, text in files:
        (directory / address).parent.mkdir(parents=True, exist_ok=True)
        (directory / address).write_text(text, encoding="utf-8")


@pytest.fixture(scope="session")
def shipped_results() -> Results:
    """The shipped results, read once in each test process, without those that this checkout has measured. No test changes them."""
    loaded = reader.load_results(ROOT / "results")
    return replace(loaded, results=tuple(result for result in loaded.results if result.machine == SHIPPED.name))


@pytest.fixture(scope="session")
def published_site(shipped_results: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of the shipped history, without asv's own pages; the first test process that needs it writes it for all.

    No test changes it. Beside it, "seconds" has the processor time of the writing process.
    """
    from tensorcopy.site import publisher

    root = tmp_path_factory.getbasetemp()
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root  # a folder of all processes
    site = root / "site"
    with FileLock(root / "site.lock"):
        if not (root / "seconds").exists():
            begin = os.times()
            site.mkdir()
            card = json.loads((ROOT / data.ACCURACY_FILE).read_text(encoding="utf-8"))
            stored = confirmations.load(ROOT / "results").confirmations
            writer.write(shipped_results.results, card, publisher.documentation(ROOT), site, confirmations.latest(stored))
            spent = [after - before for before, after in zip(begin, os.times())]
            (root / "seconds").write_text(str(sum(spent[:4])))  # of this process and of those that wrote pages for it
    return site


SHIPPED = ROOT / "results" / "xeon-2core"
MEASURED = [release for release in release_table.load() if list(SHIPPED.glob(f"{release.sha[:8]}-*.json"))]
OLDEST_SHIPPED, NEWEST_SHIPPED = MEASURED[0], MEASURED[-1]
ON_3_11 = [release for release in MEASURED if (SHIPPED / f"{release.sha[:8]}-py3.11-cuda.json").exists()]
SHOWN = [f"{release.sha[:8]}-py3.11" for release in (ON_3_11[0], ON_3_11[-1])]  # two results: publishing all takes a minute


@pytest.fixture
def small_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with the results of only the oldest and the newest shipped release, as the current folder."""
    folder = tmp_path / "results" / SHIPPED.name
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "asv.conf.json", tmp_path)
    shutil.copy(ROOT / "results" / "benchmarks.json", folder.parent)
    for start in ("machine", OLDEST_SHIPPED.sha[:8], NEWEST_SHIPPED.sha[:8]):
        for path in SHIPPED.glob(f"{start}*.json"):
            shutil.copy(path, folder)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.fixture
def worker_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probes run in this process, which has imported torch, instead of in another."""
    monkeypatch.setattr(interpreters, "run_probe", worker_in_process.run_probe)


@pytest.fixture
def results_dir(tmp_path: Path) -> Path:
    """A results folder as asv writes it: one machine, one release, three cases of one suite, one of them skipped."""
    folder = tmp_path / "results"
    (folder / "box").mkdir(parents=True)
    params = [["'clone_detach'", "'tensor'", "'detach_clone'"], ["16"]]
    suites = {
        "copies.BySize.time_copy": {"version": "1", "param_names": ["method", "numel"], "params": params, "type": "time"},
        "version": 2,
    }
    (folder / "benchmarks.json").write_text(json.dumps(suites))
    (folder / "box" / "machine.json").write_text(json.dumps({"machine": "box", "version": 1}))
    columns = (
        "result params version started_at duration stats_ci_99_a stats_ci_99_b stats_q_25 stats_q_75 stats_number stats_repeat samples"
    )
    row = [
        [1e-6, 2e-6, float("nan")],
        params,
        "1",
        0,
        1.0,
        [0.9e-6, None, None],
        [1.1e-6, None, None],
        None,
        None,
        None,
        None,
        [[0.9e-6, 1e-6, 1.1e-6], None, None],
    ]
    document = {
        "commit_hash": "d0f2af8b66b20da4baa50644c0cd3f887a2eae2e",
        "env_name": "py3.11-cuda",
        "date": 0,
        "params": {"machine": "box", "python": "3.11", "build": "cuda"},
        "python": "3.11",
        "requirements": {"build": "cuda"},
        "env_vars": {},
        "result_columns": columns.split(),
        "results": {"copies.BySize.time_copy": row},
        "durations": {},
        "ledger": PROVENANCE,
        "passes": [],
        "version": 2,
    }
    (folder / "box" / "d0f2af8b-py3.11-cuda.json").write_text(json.dumps(document))
    return folder


def measured_in_passes(
    folder: Path, release: Release, times: dict[str, list[float]], machine: str = "box", python: str = "3.11", **provenance: object
) -> Path:
    """Write a result file of copies with 16 elements, and return its path.

    times : by method, the microseconds of each of its passes; a pass has three samples, a thousandth apart, with a quiet control
    """
    suite = "copies.BySize.time_copy"
    (folder / machine).mkdir(parents=True, exist_ok=True)
    params = [[f"'{method}'" for method in times], ["16"]]
    known = {suite: {"version": "3", "param_names": ["method", "numel"], "params": params, "type": "time"}, "version": 2}
    (folder / "benchmarks.json").write_text(json.dumps(known))
    (folder / machine / "machine.json").write_text(json.dumps({"machine": machine, "version": 1}))
    samples = [[1e-6 * factor * (1 + part / 1000) for factor in factors for part in (-1, 0, 1)] for factors in times.values()]
    full = {**PROVENANCE, "torch": f"{release.version}+cu13", "torch_sha": release.sha, "python": f"{python}.7", **provenance}
    passes = [
        {
            "id": f"pass-{number}",
            "started": "2026-11-21T08:00:00+00:00",
            "selection": "",
            "ledger": full,
            "suites": {suite: {"version": "3", "samples": [3] * len(times), "control_ns": [[8600] * 3] * len(times)}},
        }
        for number in range(max(len(factors) for factors in times.values()))
    ]
    row = [[median(case) for case in samples], params, "3", 0, 1.0, samples]
    document = {
        "commit_hash": release.sha,
        "env_name": f"py{python}-cuda",
        "date": 0,
        "params": {"machine": machine, "python": python, "build": "cuda"},
        "python": python,
        "requirements": {},
        "env_vars": {},
        "result_columns": ["result", "params", "version", "started_at", "duration", "samples"],
        "results": {suite: row},
        "durations": {},
        "ledger": full,
        "passes": passes,
        "version": 2,
    }
    path = folder / machine / f"{release.sha[:8]}-py{python}-cuda.json"
    path.write_text(json.dumps(document))
    return path


def compared(before: str, after: str, folder: Path, margin: float = MARGIN):
    """Return the comparison of two results by name."""
    pair = select.pair(before, after, folder)
    return comparisons.between(pair.before, pair.after, pair.beside, margin=margin)


OLD = Release("1.0.0", date(2020, 1, 1), "a" * 40, ("3.8", "3.9"), "1.26.4", "https://example.org/1")
NEW = Release("2.0.0", date(2021, 1, 1), "b" * 40, ("3.9", "3.12"), "1.26.4", "https://example.org/2")


SEEN = {
    "gives": "tensor",
    "shares_storage": False,
    "keeps_graph": False,
    "is_leaf": True,
    "requires_grad": False,
    "device": "same",
    "dtype": "same",
    "layout": "same",
    "warns": "",
    "raises": "",
}  # observed of an independent tensor out of the graph


def measured(
    release: Release, times: dict[tuple[str, int], float], machine: str = "box", python: str = "3.11", **provenance: str
) -> Result:
    """Return a result of `release` with times by (method, numel), each of five passes within 1 %."""
    timings = {}
    for (method, numel), time in times.items():
        suite = "conversions.BySize.time_conversion" if "numpy" in method else "copies.BySize.time_copy"
        by_pass = [PassSamples((time * (1 + part / 200),)) for part in range(-2, 3)]
        timings[Case(suite, (("method", method), ("numel", str(numel))))] = timing(by_pass)
    methods = {
        method: {
            "group": "copy",
            "code": f"code of {method}",
            "code_on_accelerator": f"code of {method} there",
            "since": "1.9.0",
            "observed": {"cpu": {"plain": SEEN, "with_grad": SEEN}},
        }
        for method, _ in times
    }
    return Result(
        path=Path("results") / machine / f"{release.sha[:8]}-py{python}-cuda.json",
        machine=machine,
        sha=release.sha,
        python=python,
        build="cuda",
        environment=f"py{python}-cuda",
        timings=timings,
        provenance={**PROVENANCE, "torch": f"{release.version}+cu1", "torch_sha": release.sha, "python": f"{python}.7", **provenance},
        methods=methods,
        article={"cpu": {"statements": 3, "hold": 3, "fail": []}},
    )


@dataclass(frozen=True)
class Checkout:
    """A copy of this checkout, with the variables of its processes."""

    root: Path
    environment: dict[str, str]

    def run(self, program: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run `tensorcopy` or `asv` in it."""
        command = [sys.executable, "-m", program, *arguments]
        return subprocess.run(command, cwd=self.root, env={**self.environment, **variables}, capture_output=True, text=True, check=False)

    @contextmanager
    def edited(self, edits: Mapping[str, tuple[str, str]]) -> Generator[None, None, None]:
        """Replace text in its files for a while.

        edits : by file, a regular expression with ^ and $ for lines, and what replaces each match
        """
        before = {name: (self.root / name).read_text(encoding="utf-8") for name in edits}
        try:
            for name, (pattern, replacement) in edits.items():
                text, count = re.subn(pattern, replacement, before[name], flags=re.MULTILINE)
                assert count, f"nothing matches {pattern} in {name}"
                (self.root / name).write_text(text, encoding="utf-8")
            yield
        finally:
            for name, text in before.items():
                (self.root / name).write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A copy of this checkout for the tests of one module; no release is installed in it."""
    return copied(tmp_path_factory)


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A copy of this checkout in which other tests may have installed releases."""
    return copied(tmp_path_factory)


def copied(tmp_path_factory: pytest.TempPathFactory, results: Sequence[str] = SHOWN) -> Checkout:
    """Return a copy of this checkout, as git lists it, with the shipped results whose file names begin with one of `results`."""
    if environments.expected_build() != "cuda":
        pytest.skip("the table's sizes and SHAs are those of PyPI's default wheels for Linux x86-64")
    missing = [python for python in ("3.9", "3.11") if uv.find_python(python) is None]
    require(not missing, f"uv finds no Python {' and '.join(missing)}: uv python install {' '.join(missing)}")
    root = tmp_path_factory.mktemp("checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).exists() and ((ROOT / name).parent != SHIPPED or Path(name).name.startswith(("machine", *results))):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, root / name)
    cache = subprocess.run([uv._program(), "cache", "dir"], capture_output=True, text=True, check=True).stdout.strip()
    home = Path.home()
    environment = {
        **os.environ,
        "HOME": str(tmp_path_factory.mktemp("home")),  # asv keeps its list of machines there
        "UV_CACHE_DIR": cache,
        "PYENV_ROOT": os.environ.get("PYENV_ROOT", str(home / ".pyenv")),
        "PYTHONPATH": str(root),
        **environments.bytecode_in(tmp_path_factory.getbasetemp() / "cache"),  # one for all copies: compiling torch takes seconds
        "COLUMNS": "200",
    }
    return Checkout(root, environment)
