"""Whether valgrind is here. Torch is not needed."""

from __future__ import annotations

import shutil
import sys

from tensorcopy.errors import TensorcopyError


def missing() -> str:
    """Return why counting is not possible here; "" where it is."""
    if not sys.platform.startswith("linux"):
        return "valgrind counts on Linux only"
    if shutil.which("valgrind") is None or shutil.which("callgrind_control") is None:
        return "no valgrind here: apt install valgrind, or your system's package"
    return ""


def require() -> None:
    """Raise TensorcopyError where instructions cannot be counted."""
    reason = missing()
    if reason:
        raise TensorcopyError("instructions cannot be counted", got=reason, allowed="valgrind 3.13 or newer", next="apt install valgrind")
