"""The advice for a tensor as a value, in words, and as what a notebook shows of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tensorcopy.analysis.advice.matching import CopyRequest
from tensorcopy.report.units import count, duration
from tensorcopy.worker.html_table import code, paragraph, table, unbroken

FASTEST = "fastest"


@dataclass(frozen=True)
class MatchingMethod:
    """A method that does what is requested.

    seconds : per call; None if it was not measured
    multiple : the time over the memcpy baseline; None if either was not measured
    verdict : against the fastest: "fastest", "slower", "unchanged" or "inconclusive"; "" without a time
    ratio : the time over the fastest time; None for the fastest and without a time
    caveats : a sentence each
    """

    method: str
    code: str
    seconds: float | None
    multiple: float | None
    verdict: str
    ratio: float | None
    caveats: tuple[str, ...]


@dataclass(frozen=True)
class Advice:
    """The advice for a tensor `x`; converted to a string it is the code to type.

    choices : all matching methods, the recommended one first; empty if no method matches
    why : why the first one is recommended
    numel : elements that it was measured with
    measured : "here", or "shipped" with the package
    torch, on, day : the release, the processor and the date of the measurement
    quiet : the share of samples beside which the machine was quiet; None for shipped results
    """

    request: CopyRequest
    numel: int
    choices: tuple[MatchingMethod, ...]
    why: str
    measured: str
    torch: str
    on: str
    day: str
    quiet: float | None = None

    @property
    def code(self) -> str:
        """The code to type; "" if no method matches."""
        return self.choices[0].code if self.choices else ""

    def __str__(self) -> str:
        return self.code

    def document(self) -> dict[str, Any]:
        """Return the advice as plain values."""
        return {"code": self.code, **asdict(self)}

    def _repr_html_(self) -> str:
        header = ("matching methods", "time", f"vs {FASTEST}", "caveats")
        rows = [
            (code(choice.code), unbroken(time_text(choice)), unbroken(against_fastest(choice)), _short_caveats(choice))
            for choice in self.choices
        ]
        if not rows:
            return paragraph(self.why)
        caveats = [paragraph(f"Caveat: {caveat}") for caveat in self.choices[0].caveats]
        return "".join([paragraph("Use ", code(self.code), f". {self.why}"), *caveats, table(header, rows), paragraph(origin(self))])


def time_text(choice: MatchingMethod) -> str:
    """Return the time of a method; "–" where it was not measured."""
    return duration(choice.seconds) if choice.seconds else "–"


def _short_caveats(choice: MatchingMethod) -> str:
    """Return the caveats of a method, without the text of a warning."""
    return ", ".join(dict.fromkeys(caveat.partition(":")[0] for caveat in choice.caveats)) or "none"


def cost(choice: MatchingMethod) -> str:
    """Return the time of a method, also as a multiple of memcpy, as far as it was measured."""
    multiple = f"{choice.multiple:.2g}× memcpy" if choice.multiple else ""
    return ", ".join(filter(None, [duration(choice.seconds) if choice.seconds else "", multiple]))


def against_fastest(choice: MatchingMethod) -> str:
    """Return the verdict on a method's time against the fastest, with its size."""
    verdict = choice.verdict if choice.verdict in ("", FASTEST, "slower") else "tied"  # unchanged or inconclusive
    return f"{verdict} {100 * (choice.ratio - 1):+.0f} %" if choice.ratio else verdict


def origin(advice: Advice) -> str:
    """Return where an advice's times come from: release, machine, tensor and day."""
    request = advice.request
    tensor = (
        f"{count(advice.numel)} float32 on {request.device}{', a leaf that requires grad' if request.requires_grad else ''}, one thread"
    )
    where = "measured here" if advice.measured == "here" else "from the shipped results, not measured here"
    return f"{where}: torch {advice.torch}, {advice.on}, {tensor}, {advice.day}{quiet_text(advice.quiet)}"


def quiet_text(quiet: float | None) -> str:
    """Return the share of quiet samples, after a comma; "" where it is not known."""
    return "" if quiet is None else f", {quiet:.0%} of the samples quiet"
