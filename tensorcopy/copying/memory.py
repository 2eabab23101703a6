"""The memory that a method takes, of the device of its tensor and of the host: the article's table and the page of each method show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from markupsafe import Markup

from tensorcopy.numbers import size
from tensorcopy.results.cases import Case, host_peak, memory_case
from tensorcopy.results.result import Result
from tensorcopy.site.content import Content
from tensorcopy.site.page import Translate, code_markup

INDEPENDENT = ("detach_clone_numpy", "clone_detach_numpy", "detach_numpy_copy", "detach_to_cpu_copy_numpy", "pinned_numpy")  # ndarrays


@dataclass(frozen=True)
class MemoryUse:
    """The memory of a method for a tensor of 4 MiB on a device.

    hardware : the vendor's name of the device
    peaks : with the releases that have them, by memory: "device" and "host"; on the CPU there is the host's alone
    waste : a sentence about what it takes that another method does not
    """

    device: str
    hardware: str
    peaks: Mapping[str, Markup]
    waste: Markup


def measured_on(content: Content, device: str) -> list[Result]:
    """Return the results, one for each release, that have the memory of any method on a device."""
    machine = content.by_device.get(device)
    metric = "peak" if device == "cpu" else "device_peak"
    return [each for each in machine.by_release if _counted(each, metric, device)] if machine else []


def _counted(result: Result, metric: str, device: str) -> bool:
    return any(case == memory_case(metric, case["method"], device) for case in result.counts if case.spec.metric == metric)


def cases(row: Mapping[str, Any], method: str, device: str) -> tuple[Case | None, Case]:
    """Return the cases that count the memory of a method on a device and on its host; on the CPU there is the host alone.

    row : of the method; of one that is for accelerators alone, the host's memory is pinned
    """
    if device == "cpu":
        return None, host_peak(method, "cpu")
    on_host = host_peak(method, device) if "devices" in row else memory_case("peak", method, device)
    return memory_case("device_peak", method, device), on_host


def spans(results: Sequence[Result], case: Case | None, translate: Translate) -> Markup:
    """Return each amount of a count with the releases that have it; "–" for no case."""
    if case is None:
        return Markup("–")
    texts = []
    counted = [result for result in results if case in result.counts]
    for amount, group in groupby(counted, key=lambda result: size(int(result.counts[case]))):
        releases = [*dict.fromkeys(result.version for result in group)]
        form = "article_span" if len(releases) > 1 else "article_span_of_one"
        texts.append(translate(form, amount=amount, first=releases[0], last=releases[-1]))
    return translate("and").join(texts) if texts else translate("article_not_observed")


def uses(content: Content, method: str, translate: Translate) -> list[MemoryUse]:
    """Return the memory of a method on each device on which it was measured."""
    found = []
    for device in content.by_device:
        results = measured_on(content, device)
        of_method = [result for result in results if method in result.methods]
        if not of_method:
            continue
        row, outcome = of_method[-1].methods[method], of_method[-1].outcome(method, "plain", device) or {}
        on_device, on_host = cases(row, method, device)
        if not outcome.get("raises") and any(case in result.counts for result in of_method for case in (on_device, on_host)):
            counted = {"device": on_device, "host": on_host} if on_device else {"host": on_host}
            peaks = {kind: spans(of_method, case, translate) for kind, case in counted.items()}
            found.append(MemoryUse(device, of_method[-1].hardware(device), peaks, _waste(of_method[-1], method, device)))
    return found


def _waste(result: Result, method: str, device: str) -> Markup:
    """Return what a method takes that another one with the same outcome does not; "" for a method that is not compared."""
    copies = [name for name, row in result.methods.items() if row["group"] == "copy"]
    alike = next((names for names in (copies, INDEPENDENT) if method in names), ())
    peaks = {
        name: [int(result.counts.get(case, 0)) if case else 0 for case in of_method]
        for name in alike
        if name in result.methods and (of_method := cases(result.methods[name], name, device))[1] in result.counts
    }
    if method not in peaks:
        return Markup("")
    least = min(peaks, key=lambda name: sum(peaks[name]))
    more = {kind: taken - needed for kind, taken, needed in zip(("device", "host"), peaks[method], peaks[least]) if taken > needed}
    own, other = (code_markup(str(result.methods[name]["code" if device == "cpu" else "code_on_accelerator"])) for name in (method, least))
    if sum(peaks[method]) == sum(peaks[least]):
        return Markup("On {}, no other {} takes less memory than {}.").format(device, "copy" if method in copies else "conversion", own)
    amounts = " and ".join(f"{size(amount)} of {kind} memory" for kind, amount in more.items())
    return Markup("On {}, {} takes {} that {} does not.").format(device, own, amounts, other)
