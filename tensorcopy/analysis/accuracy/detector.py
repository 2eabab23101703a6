"""The detection that ours is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Detector(Protocol):
    """The detection that ours is compared with."""

    def compared(self, before: Sequence[float], after: Sequence[float], /) -> str:
        """Return "slower", "faster" or "" for two sets of samples."""

    def steps(self, values: Sequence[float], /) -> list[int]:
        """Return the indices at which a series changes."""
