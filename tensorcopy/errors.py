"""The one error a user of tensorcopy sees."""

from __future__ import annotations


class TensorcopyError(Exception):
    """What was wrong, what was got, what is allowed and what to do next, in one line.

    The command line prints it and exits with 2.
    """

    def __init__(self, what: str, *, got: str, allowed: str, next: str) -> None:
        super().__init__(f"{what}: got {got}; allowed: {allowed}; next: {next}")

    def __str__(self) -> str:
        return str(self.args[0])  # also for an error that is a KeyError too, which would quote it


class Relayed(TensorcopyError):
    """A TensorcopyError of another process, as the line it was printed as."""

    def __init__(self, line: str) -> None:
        Exception.__init__(self, line)
