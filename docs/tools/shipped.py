"""Write shipped.json, which `tensorcopy advise --shipped` reads: what the newest release of each device observed and timed.

uv run python -m docs.tools.shipped
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from tensorcopy import files
from tensorcopy.copying import advise, recommend
from tensorcopy.results import reader
from tensorcopy.results import result as of_releases
from tensorcopy.results.result import Result
from tensorcopy.worker.devices import DEVICES


def newest(results: Iterable[Result], device: str) -> Result | None:
    """Return the newest release that the answering machine of a device measured; None where none did."""
    measured = of_releases.on_device(results, device)
    machine = of_releases.answering_machine(measured, device)
    histories = of_releases.by_history(each for each in measured if each.machine == machine)
    return histories[of_releases.shown_history(histories)][0][-1] if histories else None


def main() -> None:
    """Write the evidence of each device."""
    results = reader.load_results(Path("results")).results
    shipped = {device: recommend.of_result(result, device) for device in DEVICES if (result := newest(results, device))}
    files.replace(advise.SHIPPED, msgspec.json.encode(shipped).decode() + "\n")


if __name__ == "__main__":
    main()
