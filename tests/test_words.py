"""Code, docs, pages and workflows use the words of the field, not words that this repository once made up."""

from __future__ import annotations

import ast
import re
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

from tests.conftest import ROOT

PYTHON = sorted(ROOT.glob("tensorcopy/**/*.py"))
TEXTS = sorted(
    path
    for path in chain(
        PYTHON,
        *(
            ROOT.glob(pattern)
            for pattern in ("tensorcopy/**/*.html", "tensorcopy/**/*.toml", "tensorcopy/**/*.js", "benchmarks/*.py", "docs/*.md")
        ),
        (ROOT / ".github").rglob("*"),
        (ROOT / name for name in ("README.md", "CONTRIBUTING.md", "pyproject.toml", ".ci/run", "docs/slurm.sh")),
    )
    if path.is_file()
)


def test_every_kind_of_text_is_searched():
    """A pattern that matches no file would find no word."""
    assert {path.suffix for path in TEXTS} >= {".py", ".html", ".js", ".toml", ".md", ".yml"}


INSTEAD = {
    r"moods?": "machine drift, drift-corrected",
    r"surely": "significantly slower, tied",
    r"undecided": "inconclusive",
    r"the least": "fastest, vs fastest",
    r"ledgers?": "provenance",
    r"floors?": "memcpy baseline, x memcpy",
    r"no step is seen": "no change detected",
    r"what moved together": "changes by release",
}

# Texts in which a word may stand: they are keys of stored results, names of suites and files, or another meaning of the word.
ALLOWED = [
    r"""["'`]ledger["'`]""",  # the key of a result file
    r"\bfloors\.(\w+|py\b)",  # suites and their file
    r"benchmarks/floors",
    r"""["'`]\^?floors?\b[^"'`\n]*["'`]""",  # an expression that selects these suites
    r"\b(math|np|numpy)\.floor\b",
    r"from math import[^\n]*",
    r"\bfloor\(",
]
ALLOWED_NAMES = {("tensorcopy/worker/probes/conformance.py", "kept")}  # a promise is kept; also a key of `check --json`


def without_allowed(text: str) -> str:
    return re.sub("|".join(ALLOWED), "", text)


@cache
def lines_of(path: Path) -> list[str]:
    """Return a text's lines without the allowed words."""
    return [without_allowed(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("word", INSTEAD)
def test_a_word_of_our_own_does_not_occur(word):
    """The table in this file has the word to use instead."""
    pattern = re.compile(rf"(?<![a-z]){word}(?![a-z])", re.IGNORECASE)
    lines = []
    for path in TEXTS:
        for number, line in enumerate(lines_of(path), 1):
            if pattern.search(line):
                lines.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    assert lines == [], f"write: {INSTEAD[word]}"


def names_defined_in(path: Path) -> list[tuple[str, int]]:
    """Return every name that a file gives to a variable, an argument, an attribute or a function, with its line."""
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append((node.id, node.lineno))
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.append((node.attr, node.lineno))
        elif isinstance(node, ast.arg):
            names.append((node.arg, node.lineno))
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.append((node.name, node.lineno))
    return names


def test_names_say_what_they_are():
    """No variable, argument or function is called `one`, `found`, `told` or `kept`."""
    vague = ("one", "found", "told", "kept")
    names = [(path.relative_to(ROOT).as_posix(), name, line) for path in PYTHON for name, line in names_defined_in(path)]
    assert [row for row in names if row[1].strip("_") in vague and row[:2] not in ALLOWED_NAMES] == []
