"""Each way in which a file of results can be wrong is a problem with the file's name."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tensorcopy.asv_plugin.stamp import summary
from tensorcopy.errors import TensorcopyError
from tensorcopy.results import merge, reader
from tests.conftest import SHIPPED
from tests.mutations import small_results

Document = dict[str, Any]

TIMED, COUNTED = "copies.BySize.time_copy", "memory.Host.track_peak"
NAME = "38b96d33-py3.11-cuda.json"
OTHER_SHA = "d0f2af8b66b20da4baa50644c0cd3f887a2eae2e"


def cells(document: Document, suite: str, column: str) -> Any:
    """Return a suite's cells in a column."""
    return document["results"][suite][document["result_columns"].index(column)]


def put(document: Document, suite: str, column: str, value: Any) -> None:
    document["results"][suite][document["result_columns"].index(column)] = value


def timed_pass(document: Document) -> Document:
    """Return the suite's part of a pass that timed it."""
    return next(record["suites"][TIMED] for record in document["passes"] if TIMED in record["suites"])


def nested(depth: int) -> Any:
    """Return a list in a list in a list."""
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


TENS = [[str(number) for number in range(10)]] * 4  # ten thousand cases

CHANGES: dict[str, Callable[[Document], object]] = {
    # the label
    "another SHA": lambda d: d.update(commit_hash=OTHER_SHA),
    "a short SHA": lambda d: d.update(commit_hash=d["commit_hash"][:8]),
    "a SHA with capitals": lambda d: d.update(commit_hash=d["commit_hash"].upper()),
    "a number as SHA": lambda d: d.update(commit_hash=17),
    "a SHA in no row": lambda d: (
        [each.update(torch_sha="38b96d33" + "0" * 32) for each in ledgers(d)] and d.update(commit_hash="38b96d33" + "0" * 32)
    ),
    "another SHA in the ledger": lambda d: d["ledger"].update(torch_sha=OTHER_SHA),
    "another torch in all ledgers": lambda d: [each.update(torch="2.15.0+cu132") for each in ledgers(d)],
    "another torch in the ledger": lambda d: d["ledger"].update(torch="2.4.0+cu121"),
    "another python": lambda d: d.update(python="3.9"),
    "another python in params": lambda d: d["params"].update(python="3.9"),
    "another python in the ledger": lambda d: d["ledger"].update(python="3.9.18"),
    "a python of another form": lambda d: d.update(python="3"),
    "another env_name": lambda d: d.update(env_name="py3.12-cuda"),
    "another build in env_name": lambda d: d.update(env_name="py3.11-cpu"),
    "another build in params": lambda d: d["params"].update(build="cpu"),
    "another build in the ledger": lambda d: d["ledger"].update(build="cpu"),
    "another build in requirements": lambda d: d["requirements"].update(build="cpu"),
    "another machine": lambda d: d["params"].update(machine="box"),
    "a list as machine": lambda d: d["params"].update(machine=["xeon-2core"]),
    "another version of asv's files": lambda d: d.update(version=3),
    "no version": lambda d: d.pop("version"),
    "an unknown key": lambda d: d.update(weather="fine"),
    # the passes
    "two records of one pass": lambda d: d["passes"].append(d["passes"][0]),
    "two passes of one id": lambda d: d["passes"][1].update(id=d["passes"][0]["id"]),
    "a pass without an id": lambda d: d["passes"][1].update(id=""),
    "a pass less": lambda d: d["passes"].pop(next(n for n, each in enumerate(d["passes"]) if TIMED in each["suites"])),
    "no passes": lambda d: d.pop("passes"),
    "a pass of another torch": lambda d: d["passes"][1]["ledger"].update(torch="2.4.0+cu121"),
    "a pass of another SHA": lambda d: d["passes"][1]["ledger"].update(torch_sha=OTHER_SHA),
    "a pass of another numpy": lambda d: d["passes"][1]["ledger"].update(numpy="2.0.0"),
    "a pass of another build": lambda d: d["passes"][1]["ledger"].update(build="cpu"),
    "a pass of another CPU": lambda d: d["passes"][1]["ledger"].update(cpu="EPYC"),
    "a pass without provenance": lambda d: d["passes"][1].pop("ledger"),
    "no ledger": lambda d: d.pop("ledger"),
    "an empty ledger": lambda d: d.update(ledger={}),
    "a start that is not a time": lambda d: d["passes"][1].update(started="2026-13-41T25:61:61+00:00"),
    "a start without a zone": lambda d: d["passes"][1].update(started="2026-11-22T14:45:50"),
    "a start that is a number": lambda d: d["ledger"].update(started=5),
    "an identity of another form": lambda d: d["ledger"].update(identity="x"),
    "no cores": lambda d: d["ledger"].update(cores=0),
    "cores beyond every machine": lambda d: d["ledger"].update(cores=10**400),
    "a cache of a GPU that is not a number": lambda d: d["ledger"].update(gpu_cache_mib=float("nan")),
    "a memory of a GPU that is not a number": lambda d: d["passes"][1]["ledger"].update(gpu={"memory": float("nan")}),
    "a quota that is not a number": lambda d: d["ledger"].update(cpu_quota=float("nan")),
    # samples and counts
    "a sample less": lambda d: cells(d, TIMED, "samples")[0].pop(),
    "a sample more": lambda d: cells(d, TIMED, "samples")[0].append(1e-6),
    "no samples of a case": lambda d: cells(d, TIMED, "samples").__setitem__(0, None),
    "no samples": lambda d: put(d, TIMED, "samples", None),
    "a sample of a second among microseconds": lambda d: cells(d, TIMED, "samples")[0].__setitem__(0, 1),
    "true as sample": lambda d: cells(d, TIMED, "samples")[0].__setitem__(0, True),
    "a sample of no time": lambda d: cells(d, TIMED, "samples")[0].__setitem__(0, 0.0),
    "a sample that is not finite": lambda d: cells(d, TIMED, "samples")[0].__setitem__(0, float("inf")),
    "a sample of 400 digits": lambda d: cells(d, TIMED, "samples")[0].__setitem__(0, 10**400),
    "another result": lambda d: cells(d, TIMED, "result").__setitem__(0, 1.0),
    "a result that is not finite": lambda d: cells(d, TIMED, "result").__setitem__(0, float("inf")),
    "a skipped case with samples": lambda d: cells(d, TIMED, "result").__setitem__(0, float("nan")),
    "a result less": lambda d: cells(d, TIMED, "result").pop(),
    "a text as result": lambda d: cells(d, COUNTED, "result").__setitem__(0, "1"),
    "a count of 400 digits": lambda d: cells(d, COUNTED, "result").__setitem__(0, 10**400),
    "more samples in a pass": lambda d: timed_pass(d)["samples"].__setitem__(0, timed_pass(d)["samples"][0] + 1),
    "10**30 samples in a pass": lambda d: timed_pass(d)["samples"].__setitem__(0, 10**30),
    "a reading less": lambda d: timed_pass(d)["control_ns"][0].pop(),
    "readings of a case less": lambda d: timed_pass(d)["control_ns"].pop(),
    "a negative reading": lambda d: timed_pass(d)["control_ns"][0].__setitem__(0, -1),
    "a reading of 400 digits": lambda d: timed_pass(d)["control_ns"][0].__setitem__(0, 10**400),
    "interruptions of no case": lambda d: timed_pass(d).update(interruptions={"99": [[0, 0, 0]]}),
    "interruptions of another form": lambda d: timed_pass(d).update(interruptions={"0": [[0]] * timed_pass(d)["samples"][0]}),
    "samples of a suite without results": lambda d: d["results"].pop(TIMED),
    "counts of a suite without results": lambda d: d["results"].pop(COUNTED),
    "samples in no pass": lambda d: [record["suites"].pop(TIMED, None) for record in d["passes"]],
    "an end of a line in the name of a suite": lambda d: d["results"].update({"a\nb": d["results"][TIMED]}),
    # columns and parameters
    "a column twice": lambda d: d["result_columns"].__setitem__(0, "params"),
    "an unknown column": lambda d: d["result_columns"].__setitem__(5, "stats_mode"),
    "a row too long": lambda d: d["results"][TIMED].extend([None] * 5),
    "a row that is an object": lambda d: d["results"].update({TIMED: {}}),
    "a numel of 5,020 digits": lambda d: cells(d, TIMED, "params")[1].__setitem__(0, "9" * 5020),
    "a parameter twice": lambda d: cells(d, TIMED, "params")[1].__setitem__(1, cells(d, TIMED, "params")[1][0]),
    "a parameter less": lambda d: cells(d, TIMED, "params")[1].pop(),
    "more cases than can be": lambda d: put(d, TIMED, "params", [[str(number) for number in range(100)]] * 10),
    "more cases than can be, in many suites": lambda d: d["results"].update({f"a.B.time_{n}": [None, TENS, "1"] for n in range(11)}),
    "a number as parameter": lambda d: put(d, TIMED, "params", [[1], [2]]),
    "a version that is a number": lambda d: put(d, TIMED, "version", 3),
    # texts and depth
    "a control character": lambda d: d["ledger"].update(cpu="\x1b[31mred"),
    "half a character": lambda d: d["ledger"].update(cpu="\ud800"),
    "a million letters": lambda d: d["ledger"].update(cpu="a" * 1_000_000),
    "fifty lists within each other": lambda d: d["ledger"].update(settings=nested(50)),
    "a method without its code": lambda d: d["methods"]["new_tensor"].pop("code"),
    "more statements than can be": lambda d: d["article"]["cpu"].update(hold=10**400),
}

MACHINES: dict[str, Callable[[Document], object]] = {
    "another machine": lambda d: d.update(machine="box"),
    "a list as machine": lambda d: d.update(machine=["xeon-2core"]),
    "no machine": lambda d: d.pop("machine"),
    "another version": lambda d: d.update(version=2),
    "a list as CPU": lambda d: d.update(cpu=["x"]),
    "a million letters": lambda d: d.update(cpu="a" * 1_000_000),
    "a control character": lambda d: d.update(cpu="\x07"),
}

SUITES: dict[str, Callable[[Document], object]] = {
    "no version of a suite": lambda d: d[TIMED].pop("version"),
    "a number as version": lambda d: d[TIMED].update(version=3),
    "no parameters of a suite": lambda d: d[TIMED].pop("params"),
    "no type of a suite": lambda d: d[TIMED].pop("type"),
    "another version of the file": lambda d: d.update(version=1),
    "a list as suite": lambda d: d.update({TIMED: []}),
    "another name": lambda d: d[TIMED].update(name=COUNTED),
    "a name of a parameter less": lambda d: d[TIMED]["param_names"].pop(),
    "a number as name of a parameter": lambda d: d[TIMED].update(param_names=[1, 2]),
    "another type": lambda d: d[TIMED].update(type="guess"),
}


def ledgers(document: Document) -> list[Document]:
    """Return the provenance of the file and of each pass."""
    return [document["ledger"], *(record["ledger"] for record in document["passes"])]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A folder of four small results."""
    return small_results(tmp_path_factory.mktemp("small"))


def damaged(small: Path, tmp_path: Path, name: str, change: Callable[[Document], object]) -> Path:
    """Return a copy of the small results with one changed file."""
    results = tmp_path / "results"
    shutil.copytree(small, results)
    document = json.loads((results / name).read_text(encoding="utf-8"))
    change(document)
    (results / name).write_text(json.dumps(document), encoding="utf-8")
    return results


def cases(name: str, changes: dict[str, Callable[[Document], object]]) -> list[Any]:
    return [pytest.param(name, change, id=f"{Path(name).name}, {title}") for title, change in changes.items()]


@pytest.mark.parametrize(
    ("name", "change"),
    [*cases(f"{SHIPPED.name}/{NAME}", CHANGES), *cases(f"{SHIPPED.name}/machine.json", MACHINES), *cases("benchmarks.json", SUITES)],
)
def test_a_wrong_file_is_named_and_not_merged(small, tmp_path, tried, name, change):
    """Loading reads the other results; merging writes nothing."""
    tried("a hand-made contradiction in a result file, `machine.json` or `benchmarks.json`")
    results = damaged(small, tmp_path, name, change)
    (problem,) = reader.load_results(results).problems
    assert f"results/{name}" in str(problem)
    assert "\n" not in str(problem)
    if "in no history" not in str(problem):  # it is complete, and kept for the table to have its row again
        with pytest.raises(TensorcopyError, match="result"):
            merge.merge([results], tmp_path / "into", summary)
        assert not (tmp_path / "into").exists()


def test_results_of_a_later_version_than_benchmarks_json_are_named(small, tmp_path):
    """They are not dropped: benchmarks.json is the one that is wrong."""
    results = damaged(small, tmp_path, "benchmarks.json", lambda d: d[TIMED].update(version="1"))
    problems = reader.load_results(results).problems
    assert ["version 1 in benchmarks.json" in str(problem) for problem in problems] == [True] * 4


def test_a_good_machine_json_is_not_replaced_by_a_bad_one(small, tmp_path):
    """Merging refuses the folder of the bad one."""
    results = damaged(small, tmp_path, f"{SHIPPED.name}/machine.json", lambda d: d.update(num_cpu=[]))
    into = tmp_path / "into"
    shutil.copytree(small, into)
    with pytest.raises(TensorcopyError, match=r"machine[.]json cannot be read"):
        merge.merge([results], into, summary)
    assert (into / SHIPPED.name / "machine.json").read_bytes() == (small / SHIPPED.name / "machine.json").read_bytes()


def test_the_small_results_are_valid(small):
    """Else nothing here would be a claim."""
    loaded = reader.load_results(small)
    assert (len(loaded.results), loaded.problems) == (4, ())
