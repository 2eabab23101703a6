"""Processes that write results with the program's own functions, for tests that let several of them run at once."""

from __future__ import annotations

import json
import random
import time
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


def slowed(seed: int, pause: float) -> random.Random:
    """Make this process slow between what it reads and writes, so that others come between."""
    chance, read, write = random.Random(seed), files.read, writing.write_result

    def slow_read(path: Path, inside: Path | None = None):
        document = read(path, inside)
        time.sleep(chance.random() * pause)
        return document

    def slow_write(path: Path, document):
        time.sleep(chance.random() * pause)
        write(path, document)

    files.read, writing.write_result = slow_read, slow_write
    return chance


def store_pass(results: Path, source: Path, seed: int, pause: float) -> None:
    """Add a pass as the plugin does at the end of asv: the draft began as a copy of the results."""
    chance = slowed(seed, pause)
    time.sleep(chance.random() * pause)
    (draft,) = (path for path in source.glob("*/*.json") if path.name != "machine.json")
    merge.add_pass(draft, merge.last_pass(files.read(draft), {}), results / draft.relative_to(source), "asv run", summary)


def merge_folders(results: Path, source: Path, seed: int, pause: float) -> None:
    """Merge a folder into the results, as `tensorcopy merge` does."""
    chance = slowed(seed, pause)
    time.sleep(chance.random() * pause)
    merge.merge([source], results, summary)


WRITERS = {"asv run": store_pass, "merge": merge_folders}


def pass_ids(results: Path) -> list[str]:
    """Return the id of every stored pass, of all files."""
    records = [json.loads(path.read_text()).get("passes", []) for path in results.glob("*/*.json") if path.name != "machine.json"]
    return sorted(record["id"] for of_file in records for record in of_file)
