"""The one error that users of tensorcopy see."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any


class TensorcopyError(Exception):
    """An error in one line: what is wrong, got, allowed, and to do next.

    The command line prints it and exits with 2.
    """

    def __init__(self, what: str, *, got: str, allowed: str, next: str) -> None:
        super().__init__(f"{what}: got {got}; allowed: {allowed}; next: {next}")
        self.what, self.got, self.allowed, self.next = what, got, allowed, next

    def __str__(self) -> str:
        return str(self.args[0])  # also for an error that is a KeyError too, which would quote it

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how another process raises the error again."""
        return partial(type(self), self.what, got=self.got, allowed=self.allowed, next=self.next), ()

    def document(self) -> dict[str, str]:
        """Return the four parts as plain values, for another process to read as JSON."""
        return {"what": self.what, "got": self.got, "allowed": self.allowed, "next": self.next}

    @staticmethod
    def of_document(document: Mapping[str, str]) -> TensorcopyError:
        """Return the error whose parts another process wrote with `document`."""
        return TensorcopyError(document["what"], got=document["got"], allowed=document["allowed"], next=document["next"])
