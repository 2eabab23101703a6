"""Remove what is optional in HTML: end tags, quotes and space between blocks, a tenth of a page with a long table. Pure."""

from __future__ import annotations

import re

OPTIONAL = ("li", "td", "th", "tr", "tbody", "thead")  # a parser ends them where the next one begins, or their parent ends
END_TAGS = re.compile(rf"</(?:{'|'.join(OPTIONAL)})>\s*")
BLOCKS = "body|details|div|dl|dt|dd|figcaption|figure|footer|h[1-4]|header|link|main|meta|nav|ol|p|section|summary|table|title|ul"
SPACE = re.compile(rf"\n+(?=</?(?:{BLOCKS})[ >])")
QUOTES = re.compile(r"""(?<==)"([^\s"'=<>`]+)"(?=(?:\s[^<>]*)?>)""")  # of attributes; a "/" after a value would belong to it
NAMESPACE = ' xmlns="http://www.w3.org/2000/svg"'  # of a picture in a page, which implies it


def compact(html: str) -> str:
    """Return a page without optional end tags, the space after them and before blocks, and the quotes of values that need none."""
    return QUOTES.sub(r"\1", SPACE.sub("", END_TAGS.sub("", html)).replace(NAMESPACE, ""))
