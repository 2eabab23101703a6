"""Everything that is produced in README.md, docs/ and the package, as texts by their path. Writes nothing."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import tensorcopy
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import crosscheck, injected_slowdowns
from tensorcopy.releases import release_table
from tensorcopy.report import report_card
from tensorcopy.report.local import advise
from tensorcopy.results import files, load, select
from tensorcopy.results.load import Result
from tensorcopy.site.charts import charts, method_drawings
from tensorcopy.site.docgen import methodology, readme, reference
from tensorcopy.site.model.machine import Machine, machines


def documents(found: Sequence[Result], parser: argparse.ArgumentParser) -> dict[Path, str]:
    """Return the text of every file with a produced part, by its path in the checkout that is the current folder.

    parser : of the command line, for docs/commands.md
    Raises TensorcopyError where a file that a part is made from is missing, and where a page has no place for one.
    """
    machine = readme.best_known(tuple(found))
    return {
        **_pages(machine),
        Path("docs/history.svg"): readme.picture(machine),
        advise.SHIPPED: _shipped(found),
        Path("docs/commands.md"): reference.commands(parser),
        Path("docs/api.md"): reference.api(tensorcopy.API, Path(tensorcopy.__file__).parent),
        **_drawings(select.newest(found)),
    }


def methodology_parts(found: Sequence[Result]) -> dict[str, str]:
    """Return the produced parts of docs/methodology.md by name."""
    if not crosscheck.FILE.exists():
        raise TensorcopyError("no agreement was kept", got=f"no {crosscheck.FILE}", allowed="its figures", next="tensorcopy verify --keep")
    if not report_card.FILE.exists():
        raise TensorcopyError("no report card", got=f"no {report_card.FILE}", allowed="its figures", next="tensorcopy report-card")
    known = {release.sha: release for release in release_table.load()}
    kept, schema, card = (json.loads(path.read_text(encoding="utf-8")) for path in (crosscheck.FILE, files.SCHEMA, report_card.FILE))
    return {
        "card": report_card.markdown(card),
        "agreement": methodology.agreement(kept),
        "quiet": methodology.quiet(found),
        "moods": methodology.drifts(found),
        "repeated": methodology.repeated(found, known),
        "sets": methodology.sets(found, load.load_results(injected_slowdowns.FOLDER).results),
        "memory": methodology.memory(found, known),
        "seen": methodology.seen(found, known),
        "ledger": methodology.provenance(schema),
    }


def _pages(machine: Machine) -> dict[Path, str]:
    """Pages with produced parts between markers: the text around them is kept."""
    parts = methodology_parts(machine.results)
    pages = {"README.md": readme.parts(machine), "docs/methodology.md": parts, "docs/memory.md": {"memory": parts["memory"]}}
    return {Path(name): readme.written(Path(name).read_text(encoding="utf-8"), part, name) for name, part in pages.items()}


def _drawings(newest: Result) -> dict[Path, str]:
    """The drawings of docs/guide.md, for those who read it as a file."""
    drawings = method_drawings.of_methods(newest.methods)
    return {Path(f"docs/drawings/{name}.svg"): charts.standalone(svg, "drawings") + "\n" for name, svg in drawings.items()}


def _shipped(found: Sequence[Result]) -> str:
    """The answers of `tensorcopy advise` where torch is missing: those of the chooser's pages."""
    machine = machines(found, release_table.load())[0]
    document = advise.shipped(machine.result, machine.series[0].results)
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n"
