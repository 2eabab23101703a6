"""Damage to files of results: small real results, and one mutation of them at a time.

A mutation is drawn with `choose`, which returns one of several values: from hypothesis, or from a seeded generator.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
from collections.abc import Callable, Sequence
from copy import deepcopy
from itertools import product
from pathlib import Path
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.results import files
from tests.conftest import ROOT, SHIPPED

Choose = Callable[[Sequence[Any]], Any]

RELEASES = ("2.4.1", "2.15.0")  # compared; 2.4.1 has results on two Pythons
STARTS = ("7269437d-py3.11", "d0f2af8b-py3.11", "38b96d33-py3.11", "38b96d33-py3.9")
SUITES = ("copies.BySize.time_copy", "floors.Control.time_sum", "instructions.BySize.track_instructions", "memory.Host.track_peak")
COUNTED = SUITES[2:]  # whose values have no samples beside them
CHOICES = 2  # that are kept of each parameter

NUMBERS = (0, -1, 1, 1.5, 2**31, 2**63, 10**30, 10**400, 5e-324, 1e308, -1e308, float("nan"), float("inf"), float("-inf"), -0.0)
TEXTS = (
    "",
    "x",
    "0",
    "9" * 5020,
    "a" * 100_000,
    "../../etc/passwd",
    "\x00",
    "\x1b[31m",
    "\ud800",
    "[/]",
    "<script>",
    "é",
    "٣",
    "1/0",
    "\n",
)
OTHERS = (None, True, False, [], {}, [[]], {"": ""}, [None], {"a": {"b": {}}})
VALUES = (*NUMBERS, *TEXTS, *OTHERS)
BYTES = (b"", b"\x00", b"\xff", b"\xef\xbb\xbf", b"[", b"{", b"}", b'"', b",", b"\\", b"1e999", b"NaN", b"\xed\xa0\x80", b"0" * 5000)


def small_results(folder: Path) -> Path:
    """Write four shipped results with a few cases each, and return their folder."""
    machine = folder / "results" / SHIPPED.name
    machine.mkdir(parents=True)
    shutil.copy(SHIPPED / "machine.json", machine)
    suites = json.loads((ROOT / "results" / "benchmarks.json").read_text(encoding="utf-8"))
    retained = {name: {**suites[name], "params": [axis[:CHOICES] for axis in suites[name]["params"]]} for name in SUITES}
    (machine.parent / "benchmarks.json").write_text(json.dumps({**retained, "version": suites["version"]}), encoding="utf-8")
    for start in STARTS:
        (path,) = SHIPPED.glob(f"{start}-*.json")
        document = small(json.loads(path.read_text(encoding="utf-8")))
        (machine / path.name).write_text(json.dumps(document), encoding="utf-8")
    shutil.copy(ROOT / "asv.conf.json", folder)
    return machine.parent


def small(document: dict[str, Any]) -> dict[str, Any]:
    """Return a result file with a few of its cases, consistent with itself."""
    columns = document["result_columns"]
    rows, retained = {}, {}
    for suite in SUITES:
        row = dict(zip(columns, document["results"][suite]))
        cases = list(product(*(range(len(axis)) for axis in row["params"])))
        retained[suite] = [index for index, case in enumerate(cases) if all(place < CHOICES for place in case)]
        by_case = {name: [cells[index] for index in retained[suite]] for name, cells in row.items() if _is_by_case(name, cells)}
        rows[suite] = list({**row, **by_case, "params": [axis[:CHOICES] for axis in row["params"]]}.values())
    records = [_small_record(record, retained) for record in document["passes"]]
    return {**document, "results": rows, "passes": records, "methods": dict(list(document["methods"].items())[:CHOICES])}


def _is_by_case(name: str, cells: Any) -> bool:
    return isinstance(cells, list) and (name in ("result", "samples") or name.startswith("stats_"))


def _small_record(record: dict[str, Any], retained: dict[str, list[int]]) -> dict[str, Any]:
    suites = {}
    for suite, row in record["suites"].items():
        if suite in retained:
            by_case = {name: [row[name][index] for index in retained[suite]] for name in ("samples", "control_ns")}
            old = row.get("interruptions", {})
            interruptions = {str(new): old[str(index)] for new, index in enumerate(retained[suite]) if str(index) in old}
            suites[suite] = {"version": row["version"], **by_case, **({"interruptions": interruptions} if interruptions else {})}
    counts = {
        suite: {**row, "values": [row["values"][index] for index in retained[suite]]}
        for suite, row in record.get("counts", {}).items()
        if suite in retained
    }
    return {**record, "suites": suites, **({"counts": counts} if counts else {})}


def seeded(seed: int) -> Choose:
    """Return a `choose` that a seed decides."""
    return random.Random(seed).choice


def mutate(results: Path, choose: Choose) -> tuple[Path, str]:
    """Damage one file of a folder of results; return the file and what was done."""
    names = ["benchmarks.json", *(f"{SHIPPED.name}/{name}" for name in ("machine.json", *sorted(_results_of(results))))]
    path = results / choose(names)
    kind = choose([*[_mutate_value] * 8, *[_mutate_bytes] * 3, _mutate_file])
    return path, kind(path, choose)


def _results_of(results: Path) -> list[str]:
    return [path.name for path in (results / SHIPPED.name).glob("*-*.json")]


def _mutate_value(path: Path, choose: Choose) -> str:
    """Change a value somewhere in the JSON."""
    document = json.loads(path.read_text(encoding="utf-8"))
    node, keys = document, [choose(list(document))]
    while isinstance(node[keys[-1]], (dict, list)) and node[keys[-1]] and choose([True, True, True, False]):
        node = node[keys[-1]]
        keys.append(choose(list(node) if isinstance(node, dict) else range(len(node))))
    key, what = keys[-1], choose(["set", "set", "set", "delete", "double", "swap", "rename", "copy"])
    if what == "set":
        node[key] = choose(VALUES)
    elif what == "delete":
        del node[key]
    elif what == "double" and isinstance(node, list):
        node.insert(key, node[key])
    elif what == "swap" and isinstance(node, list):
        other = choose(range(len(node)))
        node[key], node[other] = node[other], node[key]
    elif what == "rename" and isinstance(node, dict):
        node[choose(TEXTS)] = node.pop(key)
    else:
        node[key] = deepcopy(choose(list(document.values())))
    path.write_text(json.dumps(document), encoding="utf-8")
    return f"{path.name}: {what} at {'.'.join(map(str, keys))}"


def _mutate_bytes(path: Path, choose: Choose) -> str:
    """Change bytes anywhere."""
    data = path.read_bytes()
    start = choose(range(len(data)))
    length = choose([0, 1, 1, 2, 10, 1000, len(data)])
    new = choose([*BYTES, data[:start][-20:], data[start : start + 1000] * 2])
    path.write_bytes(data[:start] + new + data[start + length :])
    return f"{path.name}: {length} bytes at {start} replaced by {new[:20]!r}"


def _mutate_file(path: Path, choose: Choose) -> str:
    """Put something else in the file's place, or the file in another one."""
    what = choose([*FILE_MUTATIONS])
    FILE_MUTATIONS[what](path)
    return f"{path.name}: {what}"


def _link(target: Path) -> Callable[[Path], None]:
    def link(path: Path) -> None:
        path.unlink()
        path.symlink_to(target)

    return link


def _outside(path: Path) -> None:
    outside = path.absolute().parents[2] / "outside.json"
    path.rename(outside)
    path.symlink_to(outside)


def _replaced(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _large(path: Path) -> None:
    """Lengthen the file without using the disk."""
    with path.open("r+b") as file:
        file.truncate(2**26 + 1)


def _to_another_machine(path: Path) -> None:
    other = (path.parent if path.name == "benchmarks.json" else path.parent.parent) / "other"
    other.mkdir()
    shutil.copy(path, other)


FILE_MUTATIONS: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: _replaced(path, b""),
    "many brackets": lambda path: _replaced(path, b"[" * 100_000),
    "nested objects": lambda path: _replaced(path, b'{"a":' * 3000 + b"1" + b"}" * 3000),
    "many lists": lambda path: _replaced(path, b'{"a":[' + b"[]," * 3_000_000 + b"[]]}"),
    "a large file": _large,
    "a FIFO": _fifo,
    "a folder": _folder,
    "a device": _link(Path("/dev/zero")),
    "a link to itself": lambda path: _link(path)(path),
    "a link to nothing": _link(Path("/nowhere")),
    "a link that leaves the folder": _outside,
    "a copy beside itself": lambda path: shutil.copy(path, path.with_name(f"copy-of-{path.name}")),
    "another name": lambda path: path.rename(path.with_name(f"0{path.name}")),
    "another folder": _to_another_machine,
}


def named(path: Path, done: str) -> str:
    """Return what the errors of a comparison must name after a mutation that changes it: the file, or the folder that a copy has made."""
    return "results/other/" if done.endswith("another folder") else path.name


FREE = ("control_ns", "interruptions", "counts", "article", "methods", "durations", "left_out", "selection")
FREE_IN_PROVENANCE = (
    *("cuda", "asv", "asv_runner", "tensorcopy", "os", "arch", "libc", "cores", "cpu_capability", "governor", "cpu_quota", "hugepages"),
    *("threads", "accelerators", "unsupported", "gpu", "gpu_cache_mib", "driver", "settings", "started"),
)
EXCHANGED = re.compile(r"swap at (passes|results[.].*)[.]\d+$")


def is_possible(path: Path, done: str) -> bool:
    """Return whether a mutated file is one that could have been measured so, which no reader can tell.

    Such as another reading of the control, two passes with as many samples exchanged, or a suite that benchmarks.json does not list.
    """
    try:
        if path.name == "benchmarks.json":
            return bool(files.benchmarks(path.parent))
        files.result(path)
    except TensorcopyError:
        return False
    keys = done.partition(" at ")[2].split(".")
    if "ledger" in keys:
        return keys[keys.index("ledger") :][1:2] in [[name] for name in FREE_IN_PROVENANCE]
    return bool(EXCHANGED.search(done)) or " bytes at " in done or bool({*FREE, *COUNTED} & {*keys, ".".join(keys[1:4])})
