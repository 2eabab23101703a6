"""Processes that write results with the program's own functions, for tests that let several of them run at once."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from pathlib import Path

from tensorcopy.asv_plugin.stamp import summary
from tensorcopy.results import files, merge, writing
from tests.conftest import NEW, OLD, measured_in_passes

RELEASES = (OLD, NEW)
START = "2026-11-21T08:{:02}:{:02}+00:00"


def write_pass(folder: Path, number: int) -> Path:
    """Write a folder of results that has only the pass `number`, and return the path of its file."""
    path = measured_in_passes(folder, RELEASES[number % 2], {"tensor": [1 + number / 100]})
    text = path.read_text().replace('"pass-0"', f'"pass-{number}"').replace("2026-11-21T08:00:00+00:00", START.format(*divmod(number, 60)))
    path.write_text(text)
    return path


def store(draft: Path, results: Path) -> None:
    """Add a pass as the plugin does at the end of asv."""
    merge.add_pass(draft, files.read(draft), results / draft.relative_to(draft.parents[1]), summary)


def write_passes(results: Path, drafts: Sequence[Path], reported: Path, seed: int, pause: float) -> None:
    """Add or merge each pass, and report it in a file once it is stored.

    The process is slow between what it reads and writes, so that others come between.
    """
    chance, read, write = random.Random(seed), files.read, writing.write_result

    def slow_read(path: Path, inside: Path | None = None):
        document = read(path, inside)
        time.sleep(chance.random() * pause)
        return document

    def slow_write(path: Path, document):
        time.sleep(chance.random() * pause)
        write(path, document)

    files.read, writing.write_result = slow_read, slow_write
    for draft in drafts:
        if chance.random() < 0.5:
            store(draft, results)
        else:
            merge.merge([draft.parents[1]], results, summary)
        with reported.open("a") as file:
            file.write(f"{draft.parents[1].name}\n")


def pass_ids(results: Path) -> list[str]:
    """Return the id of every stored pass, of all files."""
    records = [json.loads(path.read_text()).get("passes", []) for path in results.glob("*/*.json") if path.name != "machine.json"]
    return sorted(record["id"] for of_file in records for record in of_file)
