"""The functions behind the changes between neighbouring releases: a page and a script for each change whose functions were counted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from tensorcopy.report import explanation
from tensorcopy.site import addresses
from tensorcopy.site.content import Content
from tensorcopy.site.documents import findings
from tensorcopy.site.machine import Machine
from tensorcopy.site.page import File, Page


def machine_pages(content: Content, machine: Machine) -> Iterator[Page | File]:
    """Yield a page and a script for each change of a machine whose functions were counted."""
    known = findings(content)
    for change in machine.causes.values():
        case = machine.profiled[change.name]
        result = content.cause_of(machine, change)
        script = addresses.data(change.address, "py") if explanation.script_problem(result) is None else ""
        file_name = PurePosixPath(script).name
        values = {
            "cause": result,
            "circumstances_text": explanation.case_text(result.name),
            "sentence": explanation.sentence(change.difference),
            "time_only": explanation.TIME_ONLY if result.time_only else "",
            "kernel": explanation.kernel_text(change.difference),
            "named": explanation.named_text(change.difference),
            "time": explanation.time_text(result.time),
            "rows": list(explanation.rows(change.difference)),
            "history": machine.case_address(case),
            "comparison": content.comparison_address(change.before, change.after),
            "findings": [each for each in known if each.is_about(result.code, change.before.version, change.after.version)],
            "script": script,
            "commands": [explanation.command(side, file_name) for side in (change.before, change.after)] if script else [],
        }
        title = f"Why {result.code} changed with {result.labels[1]}, {values['circumstances_text']}"
        size = explanation.sentence(change.difference).partition(": ")[0]  # without the groups of functions
        description = f"{result.code}, {values['circumstances_text']}, {' → '.join(result.labels)}: {size}, by function."
        yield Page(change.address, "why.html", title, values, description=description)
        if script:
            yield File(script, explanation.script(result, file_name))
