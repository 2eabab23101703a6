"""The functions behind each change."""

from __future__ import annotations

from tensorcopy.site.pages.functions.causes import machine_pages, pages

__all__ = ["machine_pages", "pages"]
