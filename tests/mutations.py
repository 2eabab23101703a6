"""Damage to files of results: small results of every kind of file, and one mutation of them at a time.

A mutation is drawn with `choose`, which returns one of several values.
"""

import json
import lzma
import os
import shutil
from collections.abc import Callable, Sequence
from copy import deepcopy
from datetime import timedelta
from pathlib import Path
from typing import Any

import json5
import tomlkit

from tensorcopy.configuration import FILE
from tensorcopy.results import function_profiles
from tests import launch_files
from tests.conftest import ROOT
from tests.site import world

Choose = Callable[[Sequence[Any]], Any]

RELEASES = ("2.4.1", "2.15.0")  # compared; 2.4.1 has launches on two Pythons

NUMBERS = (0, -1, 1, 1.0, 1.5, 2**63, 10**30, 10**400, 5e-324, 1e308, float("nan"), float("inf"), float("-inf"), -0.0)
TEXTS = ("", "x", "9" * 5020, "a" * 100_000, "../../etc/passwd", "\x00", "\x1b[31m", "\ud800", "[/]", "<script>", "é", "٣", "1/0", "\n")
OTHERS = (None, True, False, [], {}, [[]], {"": ""}, [None], {"a": {"b": {}}})
VALUES = (*NUMBERS, *TEXTS, *OTHERS)
BYTES = (b"", b"\x00", b"\xff", b"\xef\xbb\xbf", b"[", b"{", b"}", b'"', b",", b"\\", b"1e999", b"NaN", b"\xed\xa0\x80", b"0" * 5000)


def small_results(folder: Path) -> Path:
    """Write launches of both kinds with a few cases each, and profiles, and return their folder."""
    results = folder / "results"
    launch_files.write_small(results, "2.4.1", "2.12.1", "2.15.0", reference="2.12.1")
    launch_files.write_small(results, "2.4.1@3.9", start=launch_files.START + timedelta(hours=2))
    for number, release in enumerate(RELEASES):
        world.write_profile(results / "box", release, {"detach_clone 1 float32 contiguous": 1000.0 + number})
    shutil.copy(ROOT / "asv.conf.json", folder)
    return results


def kinds(results: Path) -> dict[str, list[Path]]:
    """Return the files of a folder of results by kind: every kind that is read."""
    launches = sorted(results.glob("*/*.json"))
    counts = [path for path in launches if '"kind":"counts"' in path.read_text(encoding="utf-8", errors="replace")]
    return {
        "times": [path for path in launches if path not in counts],
        "counts": counts,
        "profile": sorted(results.glob(f"*/*{function_profiles.ENDING}")),
    }


def mutate(path: Path, choose: Choose) -> str:
    """Damage one file and return what was done."""
    kind = choose([*[_mutate_value] * 8, *[_mutate_bytes] * 3, _mutate_file])
    done: str = kind(path, choose)
    return f"{path.name}: {done}"


def _mutate_value(path: Path, choose: Choose) -> str:
    """Change a value somewhere in the JSON."""
    data = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    loads = (lambda text: tomlkit.parse(text).unwrap()) if path.suffix == ".toml" else json5.loads if path.name == FILE else json.loads
    document: Any = deepcopy(loads(data.decode()))  # tests read asv.conf.json once
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
    try:
        text = (tomlkit.dumps(document) if path.suffix == ".toml" else json.dumps(document)).encode("utf-8")
    except (ValueError, TypeError):  # TOML has no null
        return f"no {what}"
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


def _packed(path: Path) -> None:
    """Put a small file in the place of another, which unpacks to the same with millions of spaces."""
    data = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    path.write_bytes(lzma.compress(data + b" " * function_profiles.MAX_JSON_BYTES, preset=0))


FILE_MUTATIONS: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "no text": lambda path: path.write_bytes(b"\xff\xfe"),
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:-20]),
    "many brackets": lambda path: path.write_bytes(b"[" * 100_000),
    "nested arrays of TOML": lambda path: path.write_bytes(b"a = " + b"[" * 100_000),
    "a long key of TOML": lambda path: path.write_bytes(b"a." * 100_000 + b"a = 1"),
    "nested objects": lambda path: path.write_bytes(b'{"a":' * 3000 + b"1" + b"}" * 3000),
    "many lists": lambda path: path.write_bytes(b'{"a":[' + b"[]," * 3_000_000 + b"[]]}"),
    "a large file": _large,
    "a small file that unpacks to a huge one": _packed,
    "a FIFO": _made(os.mkfifo),
    "a folder": _made(Path.mkdir),
    "a device": _link(Path("/dev/zero")),
    "a link to itself": lambda path: _link(path)(path),
    "a link to nothing": _link(Path("/nowhere")),
    "a link that leaves the folder": _outside,
    "another name": lambda path: path.rename(path.with_name(f"0{path.name}")),
}
