"""Files of results are untrusted: each kind may be damaged in any way, and then it is named, raises nothing and runs no script."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tensorcopy import cli
from tensorcopy.asv_plugin.stamp import summary
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tensorcopy.results import confirmations, files, merge, reader, writing
from tensorcopy.site import addresses, render
from tests import mutations
from tests.conftest import SHIPPED, measured_in_passes
from tests.mutations import RELEASES, mutate, small_results
from tests.test_site import Tags, foreign_scripts

Document = dict[str, Any]

RESULTS = Path("results")
TIMED, COUNTED = "copies.BySize.time_copy", "memory.Host.track_peak"
NAME = f"{SHIPPED.name}/38b96d33-py3.11-cuda.json"
OTHER_SHA = "d0f2af8b66b20da4baa50644c0cd3f887a2eae2e"
COMMANDS = (  # that read all kinds of files
    ["compare", *RELEASES],
    ["history"],
    ["why", "detach_clone", *RELEASES],
    ["list", "times", RELEASES[-1]],
)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A checkout with small results."""
    folder = tmp_path_factory.mktemp("small")
    small_results(folder)
    return folder


@pytest.fixture
def in_copy(small, tmp_path, monkeypatch):
    """A function that makes a fresh copy of the small checkout the current folder."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("COLUMNS", "200")

    def copied() -> None:
        monkeypatch.chdir(tmp_path)
        shutil.rmtree("checkout", ignore_errors=True)
        shutil.copytree(small, "checkout", symlinks=True)
        monkeypatch.chdir(tmp_path / "checkout")

    return copied


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Return exit code, output and errors of a command."""
    code = cli.main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != writing.LOCK}


def check_reading(path: Path, done: str, clean: dict[str, tuple[int, str, str]], capsys: pytest.CaptureFixture[str]) -> None:
    """Read a damaged folder with every command: each ends in its own words, and an error is one line."""
    problems = (*reader.load_results(RESULTS).problems, *confirmations.load(RESULTS).problems)
    is_named = any(path.name in str(problem) for problem in problems)
    for problem in problems:
        assert "\n" not in str(problem), done
        assert len(str(problem)) < 2000, done
    for arguments in COMMANDS:
        code, output, errors = run(arguments, capsys)
        assert code in (0, 2, 3), done
        assert "Traceback" not in errors, done
        assert "a fault of tensorcopy" not in errors, done
        if code and not clean[arguments[0]][0]:
            assert errors.startswith("tensorcopy: "), done
        if is_named and code == 0 and output != clean[arguments[0]][1]:
            assert path.name in errors, done  # no other answer without a word


def check_merging(done: str) -> None:
    """Merge a damaged folder: a merge either writes valid results, or names a file and writes nothing."""
    into = Path("into")
    before = contents(into)
    try:
        merge.merge([RESULTS], into, summary)
    except TensorcopyError:
        assert contents(into) == before, done
    else:
        problems = reader.load_results(into).problems
        assert [problem for problem in problems if "in no history" not in str(problem)] == [], done


@pytest.mark.parametrize(
    "tries", [pytest.param(6, id="fast"), pytest.param(30, id="slow", marks=pytest.mark.slow), pytest.param(600, marks=pytest.mark.fuzz)]
)
@pytest.mark.parametrize("kind", mutations.kinds(RESULTS))
def test_no_mutation_of_any_kind_of_file_raises(in_copy, capsys, kind, tries):
    """Or changes a result without a word; the same mutations in each run, but others in each run by hand."""
    in_copy()
    clean = {arguments[0]: run(arguments, capsys) for arguments in COMMANDS}
    assert [code for code, _, _ in clean.values()] == [0] * len(COMMANDS)
    hypothesis = settings(
        max_examples=tries, deadline=None, derandomize=tries < 600, database=None, suppress_health_check=list(HealthCheck)
    )

    @hypothesis
    @given(st.data())
    def check(data: st.DataObject) -> None:
        def choose(options: Any) -> Any:
            return data.draw(st.sampled_from(options))

        in_copy()
        shutil.copytree(RESULTS, "into")
        path = choose(mutations.kinds(RESULTS)[kind])
        done = mutate(path, choose)
        check_reading(path, done, clean, capsys)
        check_merging(done)

    check()


# --- contradictions that a schema does not see


def cells(document: Document, suite: str, column: str) -> Any:
    """Return a suite's cells in a column."""
    return document["results"][suite][document["result_columns"].index(column)]


def put(document: Document, suite: str, column: str, value: Any) -> None:
    document["results"][suite][document["result_columns"].index(column)] = value


def timed_pass(document: Document) -> Document:
    """Return the suite's part of a pass that timed it."""
    return next(record["suites"][TIMED] for record in document["passes"] if TIMED in record["suites"])


def ledgers(document: Document) -> list[Document]:
    """Return the provenance of the file and of each pass."""
    return [document["ledger"], *(record["ledger"] for record in document["passes"])]


def sample(value: object) -> Callable[[Document], object]:
    return lambda d: cells(d, TIMED, "samples")[0].__setitem__(0, value)


def in_pass(column: str, value: object) -> Callable[[Document], object]:
    return lambda d: timed_pass(d)[column].__setitem__(0, value)


TENS = [[str(number) for number in range(10)]] * 4  # ten thousand cases

CHANGES: dict[str, Callable[[Document], object]] = {
    "another SHA": lambda d: d.update(commit_hash=OTHER_SHA),
    "a SHA in no row": lambda d: (
        [each.update(torch_sha="38b96d33" + "0" * 32) for each in ledgers(d)] and d.update(commit_hash="38b96d33" + "0" * 32)
    ),
    "another torch in all ledgers": lambda d: [each.update(torch="2.15.0+cu132") for each in ledgers(d)],
    "another python": lambda d: d.update(python="3.9"),
    "another python in the ledger": lambda d: d["ledger"].update(python="3.9.18"),
    "another env_name": lambda d: d.update(env_name="py3.12-cuda"),
    "another build in params": lambda d: d["params"].update(build="cpu"),
    "another machine": lambda d: d["params"].update(machine="box"),
    "two passes of one id": lambda d: d["passes"][1].update(id=d["passes"][0]["id"]),
    "a pass without an id": lambda d: d["passes"][1].update(id=""),
    "a pass less": lambda d: d["passes"].pop(next(n for n, each in enumerate(d["passes"]) if TIMED in each["suites"])),
    "a pass of another numpy": lambda d: d["passes"][1]["ledger"].update(numpy="2.0.0"),
    "a pass of another CPU": lambda d: d["passes"][1]["ledger"].update(cpu="EPYC"),
    "a start without a zone": lambda d: d["passes"][1].update(started="2026-11-22T14:45:50"),
    "a quota that is not a number": lambda d: d["ledger"].update(cpu_quota=float("nan")),
    "a sample less": lambda d: cells(d, TIMED, "samples")[0].pop(),
    "no samples": lambda d: put(d, TIMED, "samples", None),
    "a sample of a second among microseconds": sample(1),
    "a negative sample": sample(-1e-6),
    "a sample that is not finite": sample(float("inf")),
    "another result": lambda d: cells(d, TIMED, "result").__setitem__(0, 1.0),
    "a skipped case with samples": lambda d: cells(d, TIMED, "result").__setitem__(0, float("nan")),
    "a result less": lambda d: cells(d, TIMED, "result").pop(),
    "a reading less": lambda d: timed_pass(d)["control_ns"][0].pop(),
    "interruptions of another form": lambda d: timed_pass(d).update(interruptions={"0": [[0]] * timed_pass(d)["samples"][0]}),
    "samples of a suite without results": lambda d: d["results"].pop(TIMED),
    "samples in no pass": lambda d: [record["suites"].pop(TIMED, None) for record in d["passes"]],
    "a column twice": lambda d: d["result_columns"].__setitem__(0, "params"),
    "a numel of 5,020 digits": lambda d: cells(d, TIMED, "params")[1].__setitem__(0, "9" * 5020),
    "a parameter twice": lambda d: cells(d, TIMED, "params")[1].__setitem__(1, cells(d, TIMED, "params")[1][0]),
    "more cases than can be": lambda d: put(d, TIMED, "params", [[str(number) for number in range(100)]] * 10),
    "more cases than can be, in many suites": lambda d: d["results"].update({f"a.B.time_{n}": [None, TENS, "1"] for n in range(11)}),
    "a control character": lambda d: d["ledger"].update(cpu="\x1b[31mred"),
}
MACHINES: dict[str, Callable[[Document], object]] = {
    "another machine": lambda d: d.update(machine="box"),
    "a control character": lambda d: d.update(cpu="\x07"),
}
SUITES: dict[str, Callable[[Document], object]] = {
    "another name": lambda d: d[TIMED].update(name=COUNTED),
    "a name of a parameter less": lambda d: d[TIMED]["param_names"].pop(),
}


def cases(name: str, changes: dict[str, Callable[[Document], object]]) -> list[Any]:
    return [pytest.param(name, change, id=f"{Path(name).name}, {title}") for title, change in changes.items()]


@pytest.mark.parametrize(
    ("name", "change"),
    [*cases(NAME, CHANGES), *cases(f"{SHIPPED.name}/machine.json", MACHINES), *cases("benchmarks.json", SUITES)],
)
def test_a_contradiction_is_named_and_not_merged(in_copy, name, change):
    """Loading reads the other results; merging writes nothing."""
    in_copy()
    assert reader.load_results(RESULTS).problems == ()
    document = json.loads((RESULTS / name).read_text(encoding="utf-8"))
    change(document)
    (RESULTS / name).write_text(json.dumps(document), encoding="utf-8")
    (problem,) = reader.load_results(RESULTS).problems
    assert f"results/{name}" in str(problem)
    assert "\n" not in str(problem)
    assert len(str(problem)) < 1000
    if "in no history" not in str(problem):  # it is complete, and kept for the table to have its row again
        with pytest.raises(TensorcopyError, match="result"):
            merge.merge([RESULTS], Path("into"), summary)
        assert not Path("into").exists()


def test_results_of_a_later_version_than_benchmarks_json_are_named(in_copy):
    """They are not dropped: benchmarks.json is the one that is wrong."""
    in_copy()
    path = RESULTS / "benchmarks.json"
    document = json.loads(path.read_text())
    document[TIMED]["version"] = "1"
    path.write_text(json.dumps(document))
    assert ["version 1 in benchmarks.json" in str(problem) for problem in reader.load_results(RESULTS).problems] == [True] * 4


@pytest.mark.parametrize("character", ["\\u009b", "\x9b", "\\u007f", "\x7f"])
def test_a_control_character_is_refused_however_it_is_written(character):
    """A terminal would obey it; JSON allows these as they are, too."""
    with pytest.raises(ValueError, match="control"):
        files.parsed(f'{{"cpu": "{character}31m"}}'.encode())


# --- a valid file with hostile texts

SCRIPT = "<script>alert(1)</script>"
TIMES = {"clone_detach": [1.2, 1.21, 1.19], "detach_clone": [1.0, 1.01, 0.99]}


def site_of(folder: Path, change: Callable[[Document], object], **provenance: str) -> dict[str, str]:
    """Return the site with a result that `change` has edited; no page has a script or an attribute that runs one."""
    path = measured_in_passes(folder, release_table.load()[-1], TIMES, **provenance)
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    loaded = reader.load_results(folder)
    assert loaded.problems == ()
    site = dict(render.files(render.content(loaded.results)))
    for address, text in site.items():
        if address.endswith(".html"):
            page = Tags(text)
            assert page.open == [], address
            assert foreign_scripts(page) == [], address
            assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")], address
    return site


def test_scripts_stay_text(tmp_path):
    """In the provenance, in a method's code, in its observations, in a parameter."""

    def change(document):
        seen = {"gives": "tensor", "shares_storage": False, "keeps_graph": False, "is_leaf": True, "requires_grad": False}
        seen |= {"device": SCRIPT, "dtype": SCRIPT, "layout": SCRIPT, "warns": SCRIPT, "raises": ""}
        method = {"group": "copy", "code": SCRIPT, "code_on_accelerator": SCRIPT, "since": SCRIPT}
        document["methods"] = {
            name: {**method, "observed": {"cpu": {"plain": seen, "with_grad": seen, "as_promised": False}}}
            for name in ("detach_clone", SCRIPT)
        }
        document["article"] = {"cpu": {"statements": 1, "hold": 0, "fail": [SCRIPT]}}
        cells(document, TIMED, "params")[0] = ["'detach_clone'", repr(SCRIPT)]

    site = site_of(tmp_path, change, cpu=SCRIPT, os=SCRIPT, driver=SCRIPT)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in site[addresses.LANDING]
    assert all(re.fullmatch(r"[A-Za-z0-9._/-]+", address) for address in site)


def test_a_result_of_nan_is_a_skipped_case(tmp_path):
    """It is not measured, and NaN does not reach the site's data."""

    def change(document):
        cells(document, TIMED, "result")[0], cells(document, TIMED, "samples")[0] = float("nan"), None
        for record in document["passes"]:
            of_suite = record["suites"][TIMED]
            of_suite["samples"][0], of_suite["control_ns"][0] = 0, []

    assert "NaN" not in site_of(tmp_path, change)["data/box.json"]
