"""Results to pages: what is true (`answers`), drawn (`pictures`), and written as HTML (`pages`). Knows no torch and no asv."""

from tensorcopy.site.pages import write

__all__ = ["write"]
