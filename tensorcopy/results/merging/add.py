"""Add a new pass to a folder of results.

asv writes a pass into a draft, which began as a copy of the results. Others may have added passes to the results meanwhile. So only the new
pass is taken from the draft, and merged into the file that is there now (`merge_results`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.results import files
from tensorcopy.results.merging.merge import both_suites
from tensorcopy.results.merging.merge_results import Document, Summary, merged
from tensorcopy.results.reading.problems import FileProblem
from tensorcopy.results.writing.lock import ReportWait, ignore_wait, one_writer


def add_pass(draft: Path, new: Document, target: Path, doing: str, summary: Summary, report_wait: ReportWait = ignore_wait) -> None:
    """Add the pass of a draft to a result file, with the suites and the machine that the draft describes.

    draft, target : paths of result files, in their folders of results; `target` need not exist
    new : what the pass has measured, see `last_pass`
    doing : what other writers read while they wait
    summary : computes asv's own statistics of samples

    The result file is written last: with it, the pass counts as stored. Raises TensorcopyError where the results are damaged or cannot be
    locked, and OSError; the pass is then not stored.
    """
    with one_writer(target.parents[1], doing, report_wait):
        document = merged(files.result(target) if os.path.lexists(target) else new, new, summary)
        suites = [files.benchmarks(each.parents[1]) for each in _present(target, draft, "../benchmarks.json")]
        machines = [files.machine(each.parent) for each in _present(target, draft, "machine.json")]
        files.write_readable(target.parents[1] / "benchmarks.json", reduce(both_suites, suites))
        files.write_readable(target.with_name("machine.json"), files.fullest(machines))
        _write(target, document)


def _present(target: Path, draft: Path, name: str) -> list[Path]:
    """Return the result files beside which there is another file; the draft always has it."""
    return [path for path in (target, draft) if path == draft or os.path.lexists(path.parent / name)]


def _write(target: Path, document: Document) -> None:
    """Write a result file. Raises TensorcopyError where the new pass does not fit the earlier ones."""
    try:
        files.write(target, document)
    except FileProblem as error:
        raise TensorcopyError(
            f"the pass does not fit {files.displayed(target)}",
            got=error.got,
            allowed="the torch, the build and the numpy of its earlier passes",
            next="measure under another name with --machine",
        ) from error


def last_pass(document: Document, before: Document) -> Document:
    """Return only what the last pass of a result file has measured.

    before : the document before that pass; {} for none
    """
    record, rows_before = document["passes"][-1], files.rows_of(before)
    results = {}
    for suite, row in files.rows_of(document).items():
        if row.get("started_at") != rows_before.get(suite, {}).get("started_at") or suite not in rows_before:
            new = _row_of_pass(row, record["suites"].get(suite, {}).get("samples", []))
            results[suite] = [new.get(column) for column in document["result_columns"]]
    return {**document, "results": results, "passes": [record]}


def _row_of_pass(row: Mapping[str, Any], counts: list[int]) -> Document:
    """Return a suite's row with the last samples of each case only.

    counts : how many of each case are new; [] for none

    Cases that have only earlier samples are left out; those without samples keep their number, such as bytes.
    """
    samples, results = [], []
    for index, value in enumerate(row["result"] or ()):
        all_samples = (row.get("samples") or [])[index : index + 1]
        count = counts[index] if index < len(counts) else 0
        samples.append(all_samples[0][-count:] if count else None)
        results.append(value if count or not (all_samples and all_samples[0]) else None)
    statistics = {name: None for name in row if name.startswith("stats_")}
    return {**row, **statistics, "result": results if row["result"] else row["result"], "samples": samples if any(samples) else None}
