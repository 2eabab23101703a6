"""Answers and pictures, written as HTML with one stylesheet. No script, no other host."""

from __future__ import annotations

import shutil
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tensorcopy import __version__, releases, report_card
from tensorcopy.results import Result
from tensorcopy.site import answers, pictures
from tensorcopy.units import count, duration, size

HERE = Path(__file__).parent
FLOAT32 = 4  # bytes an element of the sizes shown


def write(found: tuple[Result, ...], card: dict[str, Any] | None, directory: Path) -> None:
    """Write index.html, its stylesheet and the report card's data into `directory`, which exists."""
    shutil.copyfile(HERE / "tensorcopy.css", directory / "tensorcopy.css")
    if card:
        (directory / "report-card.json").write_text(report_card.document(card), encoding="utf-8")
    (directory / "index.html").write_text(index(found, card), encoding="utf-8")


def index(found: tuple[Result, ...], card: dict[str, Any] | None = None) -> str:
    """The landing page: what is fastest here, the history, what each method does, how often the judge is right."""
    machines = answers.machines(found, releases.load())
    return (
        _templates()
        .get_template("index.html")
        .render(
            machines=machines,
            written=datetime.now(timezone.utc).strftime("%Y-%m-%d"),
            version=__version__,
            picture=_picture,
            outcome=answers.outcome,
            memory=answers.memory,
            card=report_card.tables(card) if card else [],
        )
    )


def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("tensorcopy.site"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(duration=duration, count=count, nbytes=lambda numel: size(numel * FLOAT32), breakable=_breakable)
    return environment


def _breakable(code: str) -> Markup:
    """Code that may be broken before a call, where a phone is too narrow."""
    return Markup("<wbr>.").join(code.split("."))


def _picture(machine: answers.Machine, history: answers.History) -> Markup:
    return Markup(pictures.history(history, {method: machine.code(method) for method in history.methods}))  # noqa: S704 - our own SVG
