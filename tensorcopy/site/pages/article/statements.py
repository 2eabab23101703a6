"""Statements about methods, and the releases on which they hold. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from tensorcopy.analysis.comparisons import version
from tensorcopy.report import words
from tensorcopy.results.reader import Result
from tensorcopy.site.filters import code_markup
from tensorcopy.site.pages.semantics import observed
from tensorcopy.site.translate import Translate, translator
from tensorcopy.worker import toml

TABLE = Path(words.__file__).with_name("article.toml")


@dataclass(frozen=True)
class Statement:
    """A statement with the releases on which it was observed, as text.

    holds : on each of them
    """

    text: Markup
    releases: Markup
    holds: bool


@dataclass(frozen=True)
class Section:
    """A question of the article with its answer.

    drawings : names of methods; group : whose times are drawn, "" for none; memory : whether bytes are shown
    """

    name: str
    title: Markup
    answer: Markup
    code: str
    drawings: tuple[str, ...]
    group: str
    memory: bool
    statements: tuple[Statement, ...]

    @property
    def releases(self) -> Markup:
        """The releases of most of its statements."""
        texts = [statement.releases for statement in self.statements]
        return max(texts, key=texts.count, default=Markup(""))


@cache
def table() -> list[dict[str, Any]]:
    """Return the sections of article.toml."""
    sections: list[dict[str, Any]] = toml.load(TABLE)["section"]
    return sections


def sections(results: Sequence[Result], language: str) -> list[Section]:
    """Return every section in a language.

    results : one for each release, in order
    """
    return [
        Section(
            name=row["name"],
            title=Markup(row["title"][language]),  # noqa: S704 - the texts are ours
            answer=marked(row["answer"][language]),
            code=row.get("code", ""),
            drawings=tuple(row.get("drawings", ())),
            group=row.get("group", ""),
            memory=row.get("memory", False),
            statements=tuple(_statements(row, results, language)),
        )
        for row in table()
    ]


def marked(text: str) -> Markup:
    """Return a text with its parts between backticks as code."""
    parts = text.split("`")
    return Markup("").join(code_markup(part) if index % 2 else escape(part) for index, part in enumerate(parts))


def _statements(row: Mapping[str, Any], results: Sequence[Result], language: str) -> list[Statement]:
    translate = translator(language)
    rows = []
    for statement in row.get("statement", ()):
        outcomes = {version(result): observed(result, statement["method"], statement["input"]) for result in results}
        seen = {release: _holds(statement, outcome) for release, outcome in outcomes.items() if outcome}
        rows.append(_statement(marked(statement["text"][language]), seen, translate))
    for device in dict.fromkeys(device for result in results for device in result.article):
        printed = {version(result): _printed(result.article[device], row) for result in results if device in result.article}
        if row.get("claims"):
            name = "article_printed" if device == "cpu" else "article_printed_on"
            rows.append(_statement(translate(name, device=device), printed, translate))
    return rows


def _holds(statement: Mapping[str, Any], outcome: Mapping[str, Any]) -> bool:
    got, value = outcome[statement["field"]], statement["value"]
    return str(got).startswith(value) if isinstance(value, str) else got == value


def _printed(article: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    """Return whether every value that the article prints in these sections was the same here."""
    return not any(str(failed).startswith(tuple(f"{name}:" for name in row.get("claims", ()))) for failed in article["fail"])


def _statement(text: Markup, seen: Mapping[str, bool], translate: Translate) -> Statement:
    holding = [release for release, holds in seen.items() if holds]
    return Statement(text, on_releases(holding, list(seen), translate), bool(seen) and len(holding) == len(seen))


def on_releases(holding: Sequence[str], of: Sequence[str], translate: Translate) -> Markup:
    """Return on which of some releases a statement holds, as text."""
    if not of:
        return translate("article_not_observed")
    if len(of) == 1:
        return translate("article_one" if holding else "article_none", torch=of[0])
    if len(holding) == len(of):
        return translate("article_all", count=len(of), first=of[0], last=of[-1])
    missing = translate("and").join(release for release in of if release not in holding)
    return translate("article_some", count=len(holding), total=len(of), missing=missing)
