"""What a module in pages/ yields: a page to be rendered, or a file of data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Page:
    """A page: where it lies, the template it is written with, and what that is told.

    languages : by language, where the same page lies in it
    """

    address: str
    template: str
    title: str
    values: Mapping[str, Any] = field(default_factory=dict)
    language: str = "en"
    languages: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class File:
    """Data beside the pages."""

    address: str
    text: str
