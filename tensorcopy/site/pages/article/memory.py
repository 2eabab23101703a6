"""The article's open question, answered in bytes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from tensorcopy.analysis.comparisons import version
from tensorcopy.report.numbers import size
from tensorcopy.results.passes import Case
from tensorcopy.results.reader import Result
from tensorcopy.site.filters import code_markup
from tensorcopy.site.model.machine import Machine
from tensorcopy.site.translate import Translate

NUMEL = 2**20  # of the memory suites: 4 MiB of float32
METHODS = ("detach_clone_numpy", "clone_detach_numpy", "detach_numpy_copy", "detach_to_cpu_copy_numpy")  # independent on every device
ON_CUDA = (("Device", (("device", "cuda"),), "article_measured"), ("Counted", (), "article_counted"))  # the first that has counts


@dataclass(frozen=True)
class MemoryRow:
    """A method's peak above its input, in the host's memory and in that of a CUDA device, with the releases."""

    method: str
    code: str
    host: Markup
    device: Markup


def answer(machine: Machine, translate: Translate) -> Markup:
    """Return how much memory of the device the article's expression takes, and how much its alternative."""
    for suite, device, source in ON_CUDA:
        peaks = [machine.result.counts.get(_case(suite, method, *device)) for method in (METHODS[0], METHODS[2])]
        if None not in peaks:
            codes = [code_markup(machine.code(method, "cuda")) for method in (METHODS[0], METHODS[2])]
            clone, copy = (size(int(peak)) for peak in peaks if peak is not None)
            return translate("article_waste", code=codes[0], clone=clone, other=codes[1], copy=copy, source=translate(source))
    return translate("article_not_counted")


def rows(results: Sequence[Result], translate: Translate) -> list[MemoryRow]:
    """Return the peaks of each conversion.

    results : one for each release, in order
    """
    newest = results[-1].methods
    shown = [method for method in METHODS if method in newest]
    return [
        MemoryRow(
            method,
            str(newest[method]["code_on_accelerator"]),
            _spans([(version(result), result.counts.get(_case("Host", method, ("device", "cpu")))) for result in results], translate),
            _spans([(version(result), _on_device(result, method)) for result in results], translate),
        )
        for method in shown
    ]


def _on_device(result: Result, method: str) -> float | None:
    peaks = (result.counts.get(_case(suite, method, *device)) for suite, device, _ in ON_CUDA)
    return next((peak for peak in peaks if peak is not None), None)


def _spans(values: Sequence[tuple[str, float | None]], translate: Translate) -> Markup:
    """Return each amount with the releases that have it."""
    known = [(release, value) for release, value in values if value is not None]
    spans = [(amount, [release for release, _ in group]) for amount, group in groupby(known, key=lambda pair: pair[1])]
    if not spans:
        return translate("article_not_observed")
    texts = (translate("article_span", amount=size(int(amount)), first=names[0], last=names[-1]) for amount, names in spans)
    return translate("and").join(texts)


def _case(suite: str, method: str, *device: tuple[str, str]) -> Case:
    return Case(f"memory.{suite}.track_peak", (("method", method), ("numel", str(NUMEL)), *device))
