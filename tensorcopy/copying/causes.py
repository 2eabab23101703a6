"""`tensorcopy.why`: which functions make the difference of a case, from Python."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tensorcopy.copying.shipped import of_folder
from tensorcopy.errors import TensorcopyError
from tensorcopy.report import explanation
from tensorcopy.report.explanation import Cause, PartsChange
from tensorcopy.results import select


def why(case: str, before: str, after: str, *, machine: str = "", device: str = "") -> Cause | PartsChange:
    """Return which functions make the difference of a case between two releases; on a device whose launches tell them, which parts.

    case : a method such as "detach", or a name or regular expression of one case
    before, after : releases as `tensorcopy compare` takes them, such as "2.5.1" or "1.13.1@3.9"
    machine : a machine in results; by default the one with the longest history of the device, of those that measured both
    device : whose results are meant; by default the CPU where both were measured on it

    Reads results/ of the current folder. Raises TensorcopyError where the case is unknown, a side was not measured on the device, or its
    functions were not counted.
    """
    try:
        re.compile(case)  # before the results are read
    except re.error as error:
        raise TensorcopyError(
            "no regular expression", got=f"{case!r}: {error}", allowed="a method, a case or a regular expression", next="escape it: \\["
        ) from error
    own = of_folder(Path.cwd())
    command = shlex.join(["tensorcopy", "why", case, before, after])
    pair = select.pair(before, after, Path("results"), own.releases, machine, device, command=command)
    return explanation.parts_of_pair(pair, case, own.verdicts) or explanation.of_pair(pair, case, own.verdicts)
