"""The article's questions in its order, answered with what every release did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, combinations, groupby, product
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from tensorcopy import files
from tensorcopy.copying import memory
from tensorcopy.copying.drawings import draw_graph, draw_methods
from tensorcopy.copying.inside.printed import SECTIONS, drawn_graph, session
from tensorcopy.judge import comparisons
from tensorcopy.judge.paired import Verdict
from tensorcopy.numbers import count, ratio_text, size
from tensorcopy.report import words
from tensorcopy.report.words import LANGUAGES
from tensorcopy.results.cases import memory_case
from tensorcopy.results.result import Result
from tensorcopy.site import addresses, plots
from tensorcopy.site.content import Content
from tensorcopy.site.machine import CostTable, Machine, costs, methods_of
from tensorcopy.site.page import Page, Translate, code_markup, translator

TABLE = Path(__file__).with_name("article.toml")
THREE = ("clone_detach", "empty_like_copy", "detach_clone")  # equally fast, according to the article
TWO = ("new_tensor", "tensor")  # and slower than these three
ARTICLE_NUMELS = tuple(2**exponent for exponent in range(15))  # that the article times
WASTES, ALTERNATIVE = "detach_clone_numpy", "detach_numpy_copy"  # of GPU memory


@dataclass(frozen=True)
class Statement:
    """A statement with the devices and releases on which it was observed, as text.

    holds : on each of them
    """

    text: Markup
    where: Markup
    holds: bool


@dataclass(frozen=True)
class Value:
    """A value that the article prints, beside those that were seen; or a line of its code, without an expression.

    seen : on each device: "same", or what was seen, with the releases; "" where the value is about two devices, and this is the CPU
    """

    code: str
    expression: str
    printed: str
    seen: tuple[Markup, ...] = ()


@dataclass(frozen=True)
class ArticleAnswer:
    """A question of the article with its answer.

    drawings : names of methods, or "graph"; group : whose times are drawn, "" for none; memory : whether bytes are shown
    values : that the article prints, with its code; devices : where they were seen
    """

    name: str
    title: Markup
    text: Markup
    code: str
    drawings: tuple[str, ...]
    group: str
    memory: bool
    statements: tuple[Statement, ...]
    values: tuple[Value, ...]
    devices: tuple[Markup, ...]

    @property
    def where(self) -> Markup:
        """Where most of its statements were observed."""
        texts = [statement.where for statement in self.statements]
        return max(texts, key=texts.count, default=Markup(""))

    @property
    def printed(self) -> int:
        """How many values the article prints."""
        return sum(bool(value.expression) for value in self.values)


def pages(content: Content) -> Iterator[Page]:
    """Yield the page in every language."""
    machine = content.machine
    languages = {language: addresses.translated(addresses.ARTICLE, language) for language in LANGUAGES}
    for language, address in languages.items():
        translate = translator(language)
        values: dict[str, Any] = {"machine": machine, **(_values(content, machine, language) if machine else {})}
        title, description = str(translate("article_title")), str(translate("article_description"))
        yield Page(address, "article.html", title, values, language, languages, description)


def _values(content: Content, machine: Machine, language: str) -> dict[str, Any]:
    translate, results = translator(language), machine.by_release
    heading, glossary = str(translate("article_heading")), "glossary" if language == "en" else f"glossary.{language}"
    on_device = memory.measured_on(content, "cuda")
    newest = {**(on_device[-1].methods if on_device else {}), **results[-1].methods}
    by_device = {device: each.by_release for device, each in content.by_device.items()}
    drawings = {**draw_methods(content.methods, language), "graph": draw_graph(drawn_graph())}
    return {
        "releases": [result.version for result in results],
        "answers": answers(by_device, language),
        "scores": _scores(by_device, translate),
        "drawings": {name: Markup(svg) for name, svg in drawings.items()},  # noqa: S704 - our own SVG
        "times": {group: times(content.by_device, group) for group in ("conversion", "copy")},
        "plot": lambda shown: Markup(plots.of_sizes(shown.table, linear=True, label=plot_label(shown, language))),  # noqa: S704 - our own SVG
        "sizes": lambda shown: addresses.of_sizes(shown.result) if addresses.of_sizes(shown.result) in shown.machine.with_sizes else "",
        "concluded": _marked(str(translate("article_concluded"))),
        "fastest": lambda shown: fastest(shown, translate),
        "conclusion": lambda shown: conclusion(shown, translate),
        "sizes_texts": lambda rows: sizes_texts(rows, translate),
        "device": lambda shown: _device_name(shown.table.device, [shown.result], translate),
        "about": f"#{heading.lower()}" if f"## {heading}\n" in content.docs.get(glossary, "") else "",
        "waste": _waste(on_device[-1] if on_device else machine.result, translate),
        "device_name": on_device[-1].hardware("cuda") if on_device else "",
        "memory_page": content.web.of_file("docs/memory.md"),
        "memory": [
            (method, row["code_on_accelerator"], *_peaks_of(method, row, results, on_device, translate))
            for method in memory.INDEPENDENT
            if (row := newest.get(method))
        ],
    }


@cache
def questions() -> list[dict[str, Any]]:
    """Return the sections of article.toml."""
    sections: list[dict[str, Any]] = files.read_toml(TABLE)["section"]
    return sections


def answers(by_device: Mapping[str, Sequence[Result]], language: str) -> list[ArticleAnswer]:
    """Return the answer to every question in a language.

    by_device : of each device the results, one for each release, in order
    """
    translate = translator(language)
    return [
        ArticleAnswer(
            name=row["name"],
            title=Markup(row["title"][language]),  # noqa: S704 - the texts are ours
            text=_marked(row["answer"][language]),
            code=row.get("code", ""),
            drawings=tuple(row.get("drawings", ())),
            group=row.get("group", ""),
            memory=row.get("memory", False),
            statements=tuple(_statements(row, by_device, language)),
            values=tuple(_values_of(row.get("claims", ()), by_device, translate)),
            devices=tuple(_device_name(device, results, translate) for device, results in _checked(by_device).items()),
        )
        for row in questions()
    ]


def _statements(row: Mapping[str, Any], by_device: Mapping[str, Sequence[Result]], language: str) -> Iterator[Statement]:
    translate = translator(language)
    for statement in row.get("statements", ()):
        holds: dict[str, dict[str, bool]] = {}
        for device, results in by_device.items():
            for result in results if device in statement.get("devices", by_device) else ():
                if outcome := result.outcome(statement["method"], statement["input"], device):
                    got, value = outcome[statement["field"]], statement["value"]
                    holds.setdefault(device, {})[result.version] = str(got).startswith(value) if isinstance(value, str) else got == value
        yield _statement(_marked(statement[language]), holds, by_device, translate)
    claims = tuple(f"{name}:" for name in row.get("claims", ()))  # of values that the article prints
    printed = {
        device: {result.version: not any(text.startswith(claims) for text in result.article[device]["fail"]) for result in results}
        for device, results in _checked(by_device).items()
    }
    if claims and printed:
        yield _statement(translate("article_printed"), printed, by_device, translate)


def _checked(by_device: Mapping[str, Sequence[Result]]) -> dict[str, list[Result]]:
    """Return the results that checked every value which the article prints, by device."""
    sessions = [value for section in SECTIONS for value in session(section, "cuda:0") if value.expression]
    numbers = {device: sum(device != "cpu" or not value.on_accelerator for value in sessions) for device in by_device}
    checked = {
        device: [result for result in results if device in result.article and result.article[device]["statements"] == numbers[device]]
        for device, results in by_device.items()
    }
    return {device: results for device, results in checked.items() if results}


def _values_of(claims: Sequence[str], by_device: Mapping[str, Sequence[Result]], translate: Translate) -> Iterator[Value]:
    """Yield what the article prints in some sections, with its code and with what each device was seen to print."""
    checked = _checked(by_device)
    for value in chain.from_iterable(session(section, "cuda:0") for section in claims):
        if value.on_accelerator and not checked.keys() - {"cpu"}:
            continue
        if not value.expression:
            yield Value(value.code, "", "")
            continue
        seen = []
        for device, results in checked.items():
            if value.on_accelerator and device == "cpu":
                seen.append(Markup(""))
                continue
            others: dict[str, list[str]] = {}
            for result in results:
                if other := value.got(result.article[device]["fail"]):
                    others.setdefault(other, []).append(result.version)
            texts = [
                translate("article_other", value=other, releases=translate("and").join(versions)) for other, versions in others.items()
            ]
            same = [translate("article_same")] if sum(map(len, others.values())) < len(results) else []
            seen.append(translate("semicolon").join([*same, *texts]))
        yield Value("", value.expression, repr(value.value), tuple(seen))


def _device_name(device: str, results: Sequence[Result], translate: Translate) -> Markup:
    """Return a device as it is called in a sentence: "CUDA (NVIDIA H200)"."""
    return translate(f"article_name_{'cpu' if device == 'cpu' else 'device'}", device=device.upper(), hardware=results[-1].hardware(device))


def _scores(by_device: Mapping[str, Sequence[Result]], translate: Translate) -> Markup:
    """Return how many of the values that the article prints are the same with the newest release on each device."""
    texts = [
        translate(
            "article_score_on",
            hold=results[-1].article[device]["hold"],
            total=results[-1].article[device]["statements"],
            device=_device_name(device, results, translate),
        )
        for device, results in _checked(by_device).items()
    ]
    return translate("article_score", scores=translate("also").join(texts)) if texts else Markup("")


def _statement(
    text: Markup, seen: Mapping[str, Mapping[str, bool]], by_device: Mapping[str, Sequence[Result]], translate: Translate
) -> Statement:
    """Return a statement with the devices and releases on which it holds, of those where it was seen.

    seen : by device and release
    """
    devices = [
        translate("article_where", device=_device_name(device, by_device[device], translate), releases=_releases(of_device, translate))
        for device, of_device in seen.items()
    ]
    where = translate("semicolon").join(devices) if devices else translate("article_not_observed")
    return Statement(text, where, bool(devices) and all(holds for of_device in seen.values() for holds in of_device.values()))


def _releases(seen: Mapping[str, bool], translate: Translate) -> Markup:
    """Return the releases on which something holds, of those where it was seen."""
    releases, missing = list(seen), [release for release, holds in seen.items() if not holds]
    if len(releases) == 1:
        return translate("article_none" if missing else "article_one", torch=releases[0])
    if not missing:
        form = "article_both" if len(releases) == 2 else "article_all"
        return translate(form, count=len(releases), first=releases[0], last=releases[-1])
    names = translate("and").join(missing)
    return translate("article_some", count=len(releases) - len(missing), total=len(releases), missing=names)


def _marked(text: str) -> Markup:
    """Return a text with its parts between backticks as code."""
    parts = text.split("`")
    return Markup("").join(code_markup(part) if index % 2 else escape(part) for index, part in enumerate(parts))


@dataclass(frozen=True)
class Times:
    """The times of a group of methods on a device with one release, at the article's sizes."""

    machine: Machine
    result: Result
    table: CostTable

    @property
    def codes(self) -> list[str]:
        """The code of each method."""
        return [self.machine.code(method, self.table.device) for method in self.table.methods]

    def release(self, translate: Translate) -> Markup:
        """Return its release, and a device that is not the CPU: "2.15.0, CUDA (NVIDIA H200)"."""
        device = self.table.device
        return translate("and").join(
            [escape(self.result.version), *([] if device == "cpu" else [_device_name(device, [self.result], translate)])]
        )


def times(by_device: Mapping[str, Machine], group: str) -> dict[str, list[Times]]:
    """Return the times of a group by device: of the newest release, and on the CPU of the oldest, which is near the article's 1.9."""
    rows: dict[str, list[Times]] = {}
    for device, machine in by_device.items():
        measured = [result for result in machine.by_release if methods_of(result, group, device)]
        ends = {result.version: result for result in (*measured[-1:], *(measured[:1] if device == "cpu" else ()))}
        of_device = [Times(machine, result, costs(result, group, device, between=True, only=ARTICLE_NUMELS)) for result in ends.values()]
        if shown := [each for each in of_device if each.table.numels]:
            rows[device] = shown
    return rows


def sizes_texts(rows: Sequence[Times], translate: Translate) -> list[Markup]:
    """Return which of the article's sizes each release has; and why not all, where only the first, the newest one, has the others."""
    ends = {"number": len(ARTICLE_NUMELS), "first": count(ARTICLE_NUMELS[0]), "last": count(ARTICLE_NUMELS[-1])}
    texts = []
    for numels, group in groupby(rows, key=lambda each: each.table.numels):
        torch = translate("and").join(each.release(translate) for each in group)
        form = "article_all_sizes" if numels == ARTICLE_NUMELS else "article_sizes"
        texts.append(translate(form, torch=torch, part=len(numels), sizes=translate("and").join(map(count, numels)), **ends))
    if rows[0].table.numels == ARTICLE_NUMELS and len(texts) > 1:
        texts.append(translate("article_sizes_why"))
    return texts


def plot_label(shown: Times, language: str) -> str:
    """Return what a plot shows; plain text, which the SVG escapes."""
    codes = words.translate("and", language).join(shown.codes)
    return words.translate("article_plot", language, codes=codes, device=shown.table.device)


def fastest(shown: Times, translate: Translate) -> Markup:
    """Return which methods are the fastest or tied with it at the most sizes, of those whose launches can tell."""
    table, torch = shown.table, shown.release(translate)
    among = [sum(cost.among_fastest for cost in row) for row in table.costs]
    codes = [code_markup(code) for code, sizes in zip(shown.codes, among) if sizes == max(among)]
    total = sum(any(cost.fastest for cost in at_size) for at_size in zip(*table.costs))
    numbers = {"part": max(among), "total": total, "last": count(table.numels[-1])}
    text = translate("article_fastest", torch=torch, codes=translate("and").join(codes), **numbers)
    return translate("space").join([text, *_larger(shown, table.methods[among.index(max(among))], translate)])


def _larger(shown: Times, method: str, translate: Translate) -> Iterator[Markup]:
    """Yield how much longer than the fastest a method takes at the first size beyond the article's at which it is slower."""
    table = costs(shown.result, shown.table.group, shown.table.device)
    larger = [cases for numel, cases in zip(table.numels, table.cases) if numel > shown.table.numels[-1]]
    for cases in larger:
        changes = {case["method"]: change for case, change in comparisons.against_fastest(shown.result, cases).items()}
        change = changes.get(method)
        if change and change.interval and change.verdict is Verdict.SLOWER:
            fastest = next(name for name, other in changes.items() if other is None)
            code, other = (code_markup(shown.machine.code(name, table.device)) for name in (method, fastest))
            low, high = map(ratio_text, change.interval)
            yield translate("article_larger", numel=count(int(cases[0]["numel"])), code=code, fastest=other, low=low, high=high)
            return


def conclusion(shown: Times, translate: Translate) -> Markup:
    """Return whether three copies are still as fast as each other, and faster than the other two; "" where launches cannot tell.

    All sizes and pairs are judged together. It has the largest difference between two of the three, and the largest end of an interval.
    """
    result, table = shown.result, shown.table
    cases = [dict(zip(table.methods, at_size)) for at_size in table.cases if {*THREE, *TWO} <= {*table.methods}]
    complete = [case for case in cases if {*case.values()} <= result.timings.keys()]
    pairs = [[(case[one], case[two]) for one, two in (*product(THREE, TWO), *combinations(THREE, 2))] for case in complete]
    changes = comparisons.of_pairs(result, chain(*pairs))
    judged = [[changes[pair] for pair in row] for row in pairs if all(pair in changes and changes[pair].interval for pair in row)]
    if not judged:
        return Markup("")
    against_two = len(THREE) * len(TWO)
    apart = sum(all(change.verdict is Verdict.SLOWER for change in row[:against_two]) for row in judged)
    between = [change for row in judged for change in row[against_two:]]
    ratio = max(max(change.size, 1 / change.size) for change in between)
    end = max(max(high, 1 / low) for change in between for low, high in [change.interval or (1.0, 1.0)])
    numbers = {"apart": apart, "sizes": len(judged), "ratio": ratio_text(ratio), "end": ratio_text(end)}
    return translate("article_three", torch=shown.release(translate), **numbers)


def _peaks_of(
    method: str, row: Mapping[str, Any], results: Sequence[Result], on_device: Sequence[Result], translate: Translate
) -> tuple[Markup, ...]:
    """Return the memory of a method: of the host on the CPU; of a CUDA device counted without one, and measured; and of its host."""
    host_alone = Markup("–") if "devices" in row else memory.spans(results, memory.cases(row, method, "cpu")[1], translate)
    counted = memory.spans(results, memory_case("cuda_peak", method, "cuda"), translate)
    device, host = (memory.spans(on_device, case, translate) for case in memory.cases(row, method, "cuda"))
    return host_alone, counted, device, translate("article_pinned", spans=host) if "devices" in row else host


def _device_peaks(result: Result, *methods: str) -> tuple[tuple[float, ...], str]:
    """Return the peaks of methods on a CUDA device, for an input of 4 MiB, and "measured" or "counted"; none where one is unknown."""
    for metric, source in (("device_peak", "measured"), ("cuda_peak", "counted")):
        peaks = tuple(peak for name in methods if (peak := result.counts.get(memory_case(metric, name, "cuda"))) is not None)
        if len(peaks) == len(methods):
            return peaks, source
    return (), ""


def _waste(result: Result, translate: Translate) -> Markup:
    """Answer the open question: how much memory of a device and of its host the article's expression takes, and its alternative."""
    peaks, source = _device_peaks(result, WASTES, ALTERNATIVE)
    if not peaks:
        return translate("article_not_counted")
    code, other = (code_markup(result.methods[name]["code_on_accelerator"]) for name in (WASTES, ALTERNATIVE))
    how = translate(f"article_{source}", torch=result.version, device=result.hardware("cuda"))
    answer = translate("article_waste", code=code, other=other, clone=size(int(peaks[0])), copy=size(int(peaks[1])), source=how)
    clone, copy = (result.counts.get(memory_case("peak", name, "cuda")) for name in (WASTES, ALTERNATIVE))
    if clone is None or copy is None:
        return answer
    return translate("space").join([answer, translate("article_waste_host", clone=size(int(clone)), copy=size(int(copy)))])
