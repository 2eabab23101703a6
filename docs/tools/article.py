"""What docs/article.md shows of results/: the values that the article prints beside those observed, its two figures, and memory.

Times and memory are of the first history of each device. What a release prints depends on no other one, so that every history on the same
hardware has a part in it: releases as old as the article's have one of their own.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice, product
from math import exp, isnan
from pathlib import Path
from typing import NamedTuple

from docs.tools import standalone
from tensorcopy.copying import memory, recommend
from tensorcopy.copying.inside.printed import SECTIONS, Printed, session
from tensorcopy.judge import methods
from tensorcopy.judge.methods import Ratio, Word
from tensorcopy.numbers import count, ratio_text
from tensorcopy.report.table import code, escaped, markdown_table
from tensorcopy.results.result import Result
from tensorcopy.site.chart import Line, chart
from tensorcopy.site.facts import ShownHistory, Site

SIZES = [2**exponent for exponent in range(15)]  # of the article's figures
FIGURES = {"copies": ("copy", "detach_clone"), "conversions": ("conversion", "detach_numpy_copy")}  # a group, and its recommended method


def named(history: ShownHistory, device: str) -> str:
    """Return a device with its hardware: "CUDA (NVIDIA H200)"."""
    return escaped(f"{device.upper()} ({history.hardware(device)})")


def releases(versions: Iterable[str]) -> str:
    """Return releases in words: "22 releases, torch 1.9.0 to 2.15.0"."""
    names = [*dict.fromkeys(versions)]
    return f"torch {' and '.join(names)}" if len(names) < 3 else f"{len(names)} releases, torch {names[0]} to {names[-1]}"


def checked(site: Site) -> dict[str, list[Result]]:
    """Return by device the results that checked every value that the article prints, the oldest first."""
    values = [value for section in SECTIONS for value in session(section, "cuda:0") if value.expression]
    found: dict[str, list[Result]] = {}
    for device, first in site.answering.items():
        number = sum(device != "cpu" or not value.on_accelerator for value in values)
        alike = [each for each in site.histories if each.hardware(device) == first.hardware(device)]
        for result in (result for history in alike for result in history.results):
            if result.article.get(device, {}).get("statements") == number:
                found.setdefault(device, []).append(result)
    order = site.campaign.releases.index
    return {device: sorted(results, key=lambda each: order(each.release)) for device, results in found.items()}


def score(site: Site) -> str:
    """Return how many of the printed values each device observed, and with which releases."""
    observed: dict[tuple[str, str], dict[str, list[str]]] = {}
    for device, results in checked(site).items():
        for result in results:
            text = "{hold} of {statements} printed values are the same".format_map(result.article[device])
            observed.setdefault((device, result.history), {}).setdefault(text, []).append(result.version)
    lines = []
    for (device, history), by_text in sorted(observed.items()):
        texts = "; ".join(f"{text} with {releases(versions)}" for text, versions in by_text.items())
        lines.append(f"- {named(site.answering[device], device)}, history {escaped(history)}: {texts}.")
    return "\n".join(lines)


def values(section: str, site: Site) -> str:
    """Return a section of the article's code line by line, with the values that it prints and what each device saw instead."""
    results, following = checked(site), iter(session(section, "cuda:0"))
    rows = []
    for line in SECTIONS[section].strip().splitlines():
        if line.startswith(("#", "needs_")):
            continue
        left, arrow, _ = line.partition(" -> ")
        expression = ast.parse(left, mode="eval").body if arrow else None
        of_line = [*islice(following, len(expression.elts) if isinstance(expression, ast.Tuple) else 1)]
        seen = [_seen(of_line, device, of) if arrow else "" for device, of in results.items()]
        rows.append([code(left), code(", ".join(repr(each.value) for each in of_line)) if arrow else "", *seen])
    header = ["code, and what it prints", "printed", *(named(site.answering[device], device) for device in results)]
    return markdown_table(header, rows, "l" * len(header))


def _seen(values: Sequence[Printed], device: str, results: Sequence[Result]) -> str:
    """Return "same", or what a device saw in place of printed values, with the releases that did."""
    if device == "cpu" and values[0].on_accelerator:
        return "–"
    others: dict[str, list[str]] = {}
    for value, result in product(values, results):
        if other := value.got(result.article[device]["fail"]):
            others.setdefault(f"{code(value.expression)} is {code(other)}", []).append(result.version)
    return "; ".join(f"{other} with {releases(versions)}" for other, versions in others.items()) or "same"


class Figure(NamedTuple):
    """The times of a group of methods at the article's sizes, on the CPU."""

    release: str
    recommended: str
    seconds: Mapping[str, Mapping[int, float]]  # by code and size
    against: Mapping[str, Mapping[int, Ratio]]  # the recommended method: by code and size

    @property
    def title(self) -> str:
        """What the figure shows: the methods that are slower than the recommended one at every size."""
        slower = {name: of for name, of in self.against.items() if all(each.word is Word.SLOWER for each in of.values())}
        ratios = [each.ratio for of in slower.values() for each in of.values()]
        if not slower:
            return f"No method is slower than {self.recommended} at each of {len(SIZES)} sizes"
        factor = f"{ratio_text(min(ratios))} to {ratio_text(max(ratios))}"
        return f"{' and '.join(slower)} take {factor} × as long as {self.recommended}, at each of {len(SIZES)} sizes"

    def svg(self) -> str:
        """Draw the time over the size."""
        lines = [Line(name, [of.get(numel) for numel in SIZES]) for name, of in self.seconds.items()]
        return standalone.chart(chart(lines, [count(numel) for numel in SIZES], self.title))


def measured(site: Site, name: str) -> Figure:
    """Return a figure of the newest release: of a contiguous float32 tensor on the CPU that requires no grad."""
    group, usual = FIGURES[name]
    history = site.answering["cpu"]
    result = history.newest("cpu")
    cases = {
        (dict(case.parameters)["method"], int(dict(case.parameters)["numel"])): case
        for case in result.timings
        if (case.spec.methods, case.spec.parameters, case.device) == (group, ("method", "numel"), "cpu")
        and result.methods[dict(case.parameters)["method"]]["group"] == group
    }
    codes = {method: str(result.methods[method]["code"]) for method, _ in cases}
    seconds = {code: {n: result.timings[cases[method, n]].seconds for n in SIZES if (method, n) in cases} for method, code in codes.items()}
    against: dict[str, dict[int, Ratio]] = {code: {} for method, code in codes.items() if method != usual}
    for numel in SIZES:
        logs = {method: result.logs_of(cases[method, numel]) for method in codes if (method, numel) in cases}
        launches = {method: [None if isnan(each) else exp(each) for each in of] for method, of in logs.items()}
        for method, ratio in methods.ratios(launches, usual).items():
            against[codes[method]][numel] = ratio
    return Figure(result.version, codes[usual], seconds, against)


def figure(name: str, site: Site) -> str:
    """Return a figure with what its launches tell of each method against the recommended one."""
    shown = measured(site, name)
    history = site.answering["cpu"]
    rows = []
    for method, ratios in shown.against.items():
        words = {word: [each for each in ratios.values() if each.word is word] for word in Word}
        ends = [ratio_text(end(each.ratio for each in words[Word.SLOWER])) for end in (min, max) if words[Word.SLOWER]]
        factor = {Word.SLOWER: f" (× {' to '.join(ends)})"}
        texts = [f"{word.value} at {len(of)}{factor.get(word, '')}" for word, of in words.items() if of]
        rows.append([code(method), ", ".join(texts)])
    launches = sorted({each.launches for ratios in shown.against.values() for each in ratios.values()})
    on = f"torch {shown.release} on {history.hardware('cpu')}, history {history.name}, {history.day('cpu')}"
    about = f"{escaped(on)}; float32, no grad, one thread, {launches[0]} to {launches[-1]} launches."
    table = markdown_table(["", f"against {code(shown.recommended)}, of {len(SIZES)} sizes up to {count(SIZES[-1])}"], rows, "ll")
    return f"![{shown.title}.]({name}.svg)\n\n{about}\n\n{table}"


def peaks(site: Site) -> str:
    """Return the memory that each independent ndarray takes on each device."""
    return "\n\n".join(_peaks(site.answering[device], device) for device in site.answering)


def _peaks(history: ShownHistory, device: str) -> str:
    table = recommend.table(recommend.of_result(history.newest(device), device), recommend.common_request("ndarray", device))
    used = {row.code: use for row in table.rows if (use := memory.use(history.results, row.method, device))}
    places = {"host": "on the host"} if device == "cpu" else {"device": "on the device", "host": "on the host"}
    rows = [[code(of), *(_amounts(use.peaks[place]) for place in places)] for of, use in used.items()]
    counted = {release for use in used.values() for _, versions in use.peaks["host"] for release in versions}
    title = f"{named(history, device)}, {releases(each for each in history.releases if each in counted)}: peak above the input of 4 MiB."
    return f"{title}\n\n{markdown_table(['', *places.values()], rows, 'l' * (1 + len(places)))}"


def _amounts(peaks: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Return the amount of the newest release, and the others with their releases: "4 MiB (8 MiB with torch 2.0.1)"."""
    by_amount: dict[str, list[str]] = {}
    for amount, versions in peaks:
        by_amount.setdefault(amount, []).extend(versions)
    newest = amount
    others = [f"{amount} with {releases(versions)}" for amount, versions in by_amount.items() if amount != newest]
    return f"{newest} ({'; '.join(others)})" if others else newest


def drawings(site: Site) -> dict[Path, str]:
    """Return the figures as files."""
    return {Path(f"docs/{name}.svg"): measured(site, name).svg() for name in FIGURES}


PARTS: dict[str, Callable[[Site], str]] = {
    "article_score": score,
    "article_memory": peaks,
    **{f"article_{section}": partial(values, section) for section in SECTIONS},
    **{f"article_{name}": partial(figure, name) for name in FIGURES},
}
