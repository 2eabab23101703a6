"""Progress as one line that is written again and again: in a notebook and on a terminal."""

from __future__ import annotations

import sys

WIDTH = 40  # columns of the current step, so that a shorter one covers a longer one


def show_progress(share: float, doing: str) -> None:
    """Write the finished share (0 to 1) and the current step to stderr, over the line before.

    For `report_progress` of `advise` and `plot`, which write nothing by default.
    """
    sys.stderr.write(f"\r{share:4.0%}  {doing[:WIDTH]:<{WIDTH}}" + ("\n" if share >= 1 else ""))
    sys.stderr.flush()
