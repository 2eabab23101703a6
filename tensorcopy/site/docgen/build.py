"""All generated files and parts of README.md, docs/ and the package, by path.

Nothing is written here.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import tensorcopy
from tensorcopy.asv_plugin import configuration
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tensorcopy.report import advise
from tensorcopy.report.why import reproduction
from tensorcopy.report.words import translate
from tensorcopy.results import reader, schemas, select
from tensorcopy.results.reader import Result
from tensorcopy.site import web_addresses
from tensorcopy.site.charts import charts, method_drawings
from tensorcopy.site.data_files import badge
from tensorcopy.site.docgen import findings, memory_table, methodology, readme, reference, reliability
from tensorcopy.site.model.machine import Machine
from tensorcopy.site.pages import accuracy_report

AGREEMENT = Path("docs/agreement.json")  # written by docs.tools.verify
KNOWN_CHANGES = Path("docs/known_changes")  # measured by docs.tools.accuracy


def documents(results: Sequence[Result], parser: argparse.ArgumentParser) -> dict[Path, str]:
    """Return the text of every generated file, by path in the checkout.

    The current folder is the checkout.
    parser : of the command line, for docs/commands.md
    Raises TensorcopyError when an input file is missing, and when a page has no markers for a part.
    """
    machine = readme.shown_machine(tuple(results))
    return {
        **_pages(machine),
        Path("docs/history.svg"): readme.history_svg(machine),
        readme.BADGE: badge.badge(badge.message(machine)),
        advise.SHIPPED: _shipped(machine),
        reproduction.CODES: reproduction.codes(select.newest(results).methods),
        Path("docs/commands.md"): reference.commands(parser),
        Path("docs/api.md"): reference.api(tensorcopy.API, Path(tensorcopy.__file__).parent),
        **_drawings(select.newest(results)),
    }


def methodology_parts(results: Sequence[Result]) -> dict[str, str]:
    """Return the generated parts of docs/methodology.md by name."""
    if not AGREEMENT.exists():
        raise TensorcopyError(
            "the cross-check of the timer is missing",
            got=f"no {AGREEMENT}",
            allowed="its figures",
            next="uv run python -m docs.tools.verify --keep",
        )
    if not accuracy_report.FILE.exists():
        raise TensorcopyError(
            "the accuracy report is missing",
            got=f"no {accuracy_report.FILE}",
            allowed="its figures",
            next="uv run python -m docs.tools.accuracy",
        )
    releases = {release.sha: release for release in release_table.load()}
    crosschecked, schema, card = (
        json.loads(path.read_text(encoding="utf-8")) for path in (AGREEMENT, schemas.RESULT, accuracy_report.FILE)
    )
    return {
        "card": methodology.card(card),
        "agreement": methodology.agreement(crosschecked),
        "quiet": methodology.quiet(results),
        "drift": methodology.drift(results),
        "repeated": methodology.repeated(results, releases),
        "sets": methodology.sets(results, reader.load_results(KNOWN_CHANGES).results),
        "memory": memory_table.memory(results, releases),
        "seen": methodology.seen(results, releases),
        "provenance": methodology.provenance(schema),
    }


def _pages(machine: Machine) -> dict[Path, str]:
    """Return the pages with generated parts; the text around them is kept."""
    parts = methodology_parts(machine.results)
    tries = json.loads(reliability.FILE.read_text(encoding="utf-8"))
    pages = {
        "README.md": readme.readme_parts(machine, web_addresses.of_configuration(*configuration.web_addresses())),
        "docs/methodology.md": parts,
        "docs/memory.md": {"memory": parts["memory"]},
        "docs/reliability.md": {"tries": reliability.tries(tries)},
        "docs/findings.md": findings.parts(machine.results),
        "docs/guide.md": {"torch": translate("guide_torch", "en", torch=machine.newest.version)},
        "docs/guide.ja.md": {"torch": translate("guide_torch", "ja", torch=machine.newest.version)},
    }
    return {
        Path(name): readme.replace_parts(Path(name).read_text(encoding="utf-8"), page_parts, name) for name, page_parts in pages.items()
    }


def _drawings(newest: Result) -> dict[Path, str]:
    """Return the drawings of docs/guide.md as files, for readers of the Markdown."""
    drawings = method_drawings.of_methods(newest.methods)
    return {Path(f"docs/drawings/{name}.svg"): charts.standalone(svg, "drawings") + "\n" for name, svg in drawings.items()}


def _shipped(machine: Machine) -> str:
    """Return shipped.json: the chooser's answers, for `advise` without torch."""
    document = advise.shipped(machine.result, machine.series[0].results)
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n"
