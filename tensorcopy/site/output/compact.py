"""Pages without the end tags that HTML lets out, which are a fifteenth of a page with a long table. Pure."""

from __future__ import annotations

import re

OPTIONAL = ("li", "td", "th", "tr", "tbody", "thead")  # a parser ends them where the next one begins, or their parent ends
END_TAGS = re.compile(rf"</(?:{'|'.join(OPTIONAL)})>\s*")


def compact(html: str) -> str:
    """Return a page without optional end tags, and without the space after them."""
    return END_TAGS.sub("", html)
