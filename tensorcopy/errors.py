"""The one error that users of tensorcopy see."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Container, Sequence
from typing import Any

LONGEST_QUOTE = 1000  # characters of what an error quotes of a file or an argument, which may have millions


class TensorcopyError(Exception):
    """An error in one line: what is wrong, got, allowed, and to do next.

    The command line prints it and exits with 2.
    """

    earlier: Sequence[TensorcopyError] = ()  # of the same run, which did not end it: they are printed first

    def __init__(self, what: str, *, got: str, allowed: str, next: str) -> None:
        quoted = (text if len(text) <= LONGEST_QUOTE else f"{text[: LONGEST_QUOTE - 1]}…" for text in (what, got))
        self.what, self.got, self.allowed, self.next = (" ".join(part.splitlines()) for part in (*quoted, allowed, next))
        super().__init__(f"{self.what}: got {self.got}; allowed: {self.allowed}; next: {self.next}")

    def document(self) -> dict[str, str]:
        """Return the four parts, its arguments, as plain values for another process to read as JSON."""
        return {"what": self.what, "got": self.got, "allowed": self.allowed, "next": self.next}


class DiskError(TensorcopyError):
    """A disk that is full or cannot be written. Whatever is tried next fails too."""


REMEDIES = {
    errno.ENOSPC: ("a disk with free space", "free some space", ": finished work is kept"),
    errno.EDQUOT: ("less than your quota of the disk", "remove files of yours", ": finished work is kept"),
    errno.EROFS: ("a file system that can be written", "mount it writable or use another folder", ""),
    errno.EACCES: ("a file and a folder that you may write", "change their owner or mode (ls -ld)", ""),
    errno.EPERM: ("a file and a folder that you may write", "change their owner or mode (ls -ld)", ""),
}  # by the number of the system's error: what is allowed, what to do before repeating, and a note on that
NOWHERE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)  # nothing else can be written either; missing permissions are those of one file


def of_os_error(error: OSError) -> DiskError | None:
    """Return the error to show for a system's error; None for one that is not about the disk."""
    if error.errno == errno.ENOENT and "temporary directory" in str(error):  # tempfile could write none of them
        return _of_number(errno.ENOSPC, "a temporary file")
    if error.errno is None:
        return of_text(str(error))  # shutil's error of many files
    name = error.filename2 or error.filename
    return _of_number(error.errno, f"{os.fsdecode(name)!r}" if isinstance(name, (str, bytes)) else "a file")


def of_text(text: str, numbers: Container[int] = REMEDIES) -> DiskError | None:
    """Return the error of the disk, of one of these numbers, that a program quotes: as Python, "[Errno 28]", or Rust, "(os error 28)"."""
    quoted = map(int, re.findall(r"(?:\[Errno |\(os error )(\d{1,4})[\])]", text))
    return _of_number(next((number for number in quoted if number in numbers), 0), "a file")


def _of_number(number: int, name: str) -> DiskError | None:
    if number not in REMEDIES:
        return None
    allowed, repair, note = REMEDIES[number]
    verb = "written" if number in NOWHERE else "accessed"
    return DiskError(f"{name} cannot be {verb}", got=os.strerror(number), allowed=allowed, next=f"{repair}, then repeat{note}")


def exception_line(output: str) -> str:
    """Return the first line of the exception in which a process's error output ends; the last line where there is no traceback.

    An error of CUDA has further lines, with advice that is the same for every error. A process that faulthandler ends has no exception.
    """
    lines = output.strip().splitlines()
    if late := [line for line in lines if line.startswith("Timeout (")]:
        return late[0]
    begin = max((number for number, line in enumerate(lines) if line.startswith("Traceback (most recent call last)")), default=len(lines))
    return next((line for line in lines[begin + 1 :] if line and not line[0].isspace()), lines[-1] if lines else "")


def line_of(error: BaseException) -> str:
    """Return an error's type and the first line of its text, if it has one, without torch's list of dispatch keys."""
    return ": ".join(filter(None, [type(error).__name__, first_line(error)]))


def first_line(message: Any) -> str:
    """Return the first line, without the source line of torch that triggered it, which differs between builds."""
    first = str(message).strip().split("\n")[0]
    return first.split(" (Triggered internally")[0].split(" This could be because the operator doesn't exist")[0].strip()
