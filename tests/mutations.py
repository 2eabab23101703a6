"""Damage to files of results: small real results of every kind of file, and one mutation of them at a time.

A mutation is drawn with `choose`, which returns one of several values: from hypothesis, or from a seeded generator.
"""

from __future__ import annotations

import json
import lzma
import os
import shutil
from collections.abc import Callable, Sequence
from copy import deepcopy
from itertools import product
from pathlib import Path
from typing import Any

from tests.conftest import ROOT, SHIPPED

Choose = Callable[[Sequence[Any]], Any]

RELEASES = ("2.4.1", "2.15.0")  # compared; 2.4.1 has results on two Pythons
STARTS = ("7269437d-py3.11", "d0f2af8b-py3.11", "38b96d33-py3.11", "38b96d33-py3.9")
SUITES = ("copies.BySize.time_copy", "floors.Control.time_sum", "instructions.BySize.track_instructions", "memory.Host.track_peak")
CHOICES = 2  # that are kept of each parameter
PROFILE = ".functions.json.xz"

NUMBERS = (0, -1, 1, 1.0, 1.5, 2**63, 10**30, 10**400, 5e-324, 1e308, float("nan"), float("inf"), float("-inf"), -0.0)
TEXTS = ("", "x", "9" * 5020, "a" * 100_000, "../../etc/passwd", "\x00", "\x1b[31m", "\ud800", "[/]", "<script>", "é", "٣", "1/0", "\n")
OTHERS = (None, True, False, [], {}, [[]], {"": ""}, [None], {"a": {"b": {}}})
VALUES = (*NUMBERS, *TEXTS, *OTHERS)
BYTES = (b"", b"\x00", b"\xff", b"\xef\xbb\xbf", b"[", b"{", b"}", b'"', b",", b"\\", b"1e999", b"NaN", b"\xed\xa0\x80", b"0" * 5000)


def small_results(folder: Path) -> Path:
    """Write four shipped results with a few cases each, with confirmations and profiles, and return their folder."""
    machine = folder / "results" / SHIPPED.name
    machine.mkdir(parents=True)
    for name in ("machine.json", "confirmations.jsonl", *(path.name for start in STARTS for path in SHIPPED.glob(f"{start}-*{PROFILE}"))):
        shutil.copy(SHIPPED / name, machine)
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
        by_case = [name for name in row if isinstance(row[name], list) and (name in ("result", "samples") or name.startswith("stats_"))]
        picked = {name: [row[name][index] for index in retained[suite]] for name in by_case}
        rows[suite] = list({**row, **picked, "params": [axis[:CHOICES] for axis in row["params"]]}.values())
    records = [_small_record(record, retained) for record in document["passes"]]
    return {**document, "results": rows, "passes": records, "methods": dict(list(document["methods"].items())[:CHOICES])}


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


def kinds(results: Path) -> dict[str, list[Path]]:
    """Return the files of a folder of results by kind: every kind that is read."""
    machine = results / SHIPPED.name
    return {
        "benchmarks.json": [results / "benchmarks.json"],
        "machine.json": [machine / "machine.json"],
        "confirmations": [machine / "confirmations.jsonl"],
        "profile": sorted(machine.glob(f"*{PROFILE}")),
        "result": sorted(machine.glob("*-*.json")),
    }


def mutate(path: Path, choose: Choose) -> str:
    """Damage one file and return what was done."""
    kind = choose([*[_mutate_value] * 8, *[_mutate_bytes] * 3, _mutate_file])
    done: str = kind(path, choose)
    return f"{path.name}: {done}"


def _mutate_value(path: Path, choose: Choose) -> str:
    """Change a value somewhere in the JSON: of lines, in one of them."""
    data = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    lines = data.decode("utf-8").splitlines() if path.suffix == ".jsonl" else [data.decode("utf-8")]
    place = choose(range(len(lines)))
    document = json.loads(lines[place])
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
    lines[place] = json.dumps(document)
    text = "\n".join(lines).encode("utf-8")
    path.write_bytes(lzma.compress(text) if path.suffix == ".xz" else text)
    return f"{what} at {'.'.join(map(str, keys))}"


def _mutate_bytes(path: Path, choose: Choose) -> str:
    """Change bytes anywhere."""
    data = path.read_bytes()
    start = choose(range(len(data)))
    length = choose([0, 1, 1, 2, 10, 1000, len(data)])
    new = choose([*BYTES, data[:start][-20:], data[start : start + 1000] * 2])
    path.write_bytes(data[:start] + new + data[start + length :])
    return f"{length} bytes at {start} replaced by {new[:20]!r}"


def _mutate_file(path: Path, choose: Choose) -> str:
    """Put something else in the file's place, or the file in another one."""
    what = choose([*FILE_MUTATIONS])
    FILE_MUTATIONS[what](path)
    return str(what)


def _link(target: Path) -> Callable[[Path], None]:
    def link(path: Path) -> None:
        path.unlink()
        path.symlink_to(target)

    return link


def _outside(path: Path) -> None:
    outside = path.absolute().parents[2] / "outside.json"
    path.rename(outside)
    path.symlink_to(outside)


def _made(make: Callable[[Path], object]) -> Callable[[Path], None]:
    """Return the mutation that makes something else in a file's place."""

    def replace(path: Path) -> None:
        path.unlink()
        make(path)

    return replace


def _large(path: Path) -> None:
    """Lengthen the file without using the disk."""
    with path.open("r+b") as file:
        file.truncate(2**26 + 1)


FILE_MUTATIONS: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "many brackets": lambda path: path.write_bytes(b"[" * 100_000),
    "nested objects": lambda path: path.write_bytes(b'{"a":' * 3000 + b"1" + b"}" * 3000),
    "many lists": lambda path: path.write_bytes(b'{"a":[' + b"[]," * 3_000_000 + b"[]]}"),
    "a large file": _large,
    "a FIFO": _made(os.mkfifo),
    "a folder": _made(Path.mkdir),
    "a device": _link(Path("/dev/zero")),
    "a link to itself": lambda path: _link(path)(path),
    "a link to nothing": _link(Path("/nowhere")),
    "a link that leaves the folder": _outside,
    "another name": lambda path: path.rename(path.with_name(f"0{path.name}")),
}
