"""The pages of any campaign: history, comparisons, open regressions, methods, data. Values for the templates of the same names. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from markupsafe import Markup

from tensorcopy.numbers import counted, number, percent, quantity, signed_interval, signed_percent, size_range
from tensorcopy.report import causes
from tensorcopy.site import facts
from tensorcopy.site.chart import Line, chart, spark
from tensorcopy.site.facts import (
    LAST,
    Case,
    Cause,
    Comparison,
    OpenMethod,
    OpenSince,
    ShownHistory,
    Site,
    Standing,
    Verdict,
    pair_address,
    told,
)

NUMEL = 2**14  # elements, of the chart on the first page and of the case that is unfolded on a method's page
SHOWN = 3  # open regressions on the first page
LARGEST = 3  # changes of a case that stand above its table

Values = dict[str, Any]


class Page(NamedTuple):
    """A page: the values for its template; title and description are unlike those of any other page."""

    address: str
    template: str
    title: str
    description: str
    values: Values
    language: str = "en"


def pages(site: Site) -> Iterator[Page]:
    """Yield the pages of any campaign; one with pages of its own adds to them, and replaces some."""
    name = site.campaign.name
    blocks = [overview(site, device, history) for device, history in site.answering.items()]
    yield Page("index.html", "overview.html", site.campaign.title, f"{name} over torch releases: what changed.", {"blocks": blocks})
    yield Page(
        "history.html",
        "history.html",
        "History over torch releases",
        f"Times of {name} with each torch release, drawn by group and size.",
        {"blocks": [_history(site, history, device) for history in site.histories for device in history.devices]},
    )
    yield Page(
        "regressions.html",
        "regressions.html",
        "What is slower than before",
        f"What takes longer in {name} than with an earlier torch release, since when, and why.",
        {"blocks": [_open(site, device, history) for device, history in site.answering.items()]},
    )
    for history, subject, device in site.subjects():
        yield _subject(history, subject, device)
    yield Page(
        "compare/index.html",
        "comparisons.html",
        "Compare two torch releases",
        f"Every comparison of two torch releases in {name}: how many cases are slower and faster.",
        {"tables": [*_pairs(site)]},
    )
    for (before, after), compared in site.pairs.items():
        yield Page(
            pair_address(before, after),
            "compare.html",
            f"torch {after} against {before}",
            f"Is torch {after} slower than {before} in {name}? Every case with its interval, on each device.",
            {"blocks": [_compared(site, history, comparison) for history, comparison in compared]},
        )
    yield Page(
        "data.html",
        "data.html",
        "Data and machines",
        f"Files with all times and counts of {name}, and what they were measured on.",
        {"blocks": [_provenance(history) for history in site.histories]},
    )
    yield Page("404.html", "404.html", "No such page", "This address has no page.", {})


def overview(site: Site, device: str, history: ShownHistory) -> Values:
    """Return what the first page shows of a device: the newest release, what is slower than before, a chart and all times by size."""
    results = history.on(device) or history.results
    latest = history.compare(results[-2], results[-1], device) if len(results) > 1 else None
    by_group = facts.charted(history, device)
    headline = [
        of for of in by_group.values() if of[0].spec.headline and not of[0].spec.latency and "requires_grad" not in dict(of[0].parameters)
    ]
    drawn = min(headline or [*by_group.values()], key=_from_middle, default=[])
    return {
        "device": device,
        "history": history,
        "hardware": history.hardware(device),
        "release": results[-1].version,
        "day": history.day(device),
        "releases": [result.version for result in results],
        "latest": {**facts.tally(history, latest), **facts.evidence(latest)} if latest else None,
        "open": [_open_row(history, each) for each in history.open_methods(device) if each.since is not OpenSince.BACK],
        "open_cases": sum(len(each.cases) for each in history.open_methods(device) if each.since is not OpenSince.BACK),
        "shown": SHOWN,
        "chart": _chart(site, history, drawn) if drawn else "",
        "grids": grids(history, [case for case in history.cases if case.device == device and case.spec.timed and case.spec.rank < 2]),
    }


def _from_middle(cases: Sequence[Case]) -> float:
    numel = dict(cases[0].parameters).get("numel", "")
    return abs(int(numel).bit_length() - NUMEL.bit_length()) if numel.isdecimal() else 0.0


# charts and tables of times


def _chart(site: Site, history: ShownHistory, cases: Sequence[Case]) -> Markup:
    """Return the chart of cases that differ in the method alone; its title says how the newest release compares with the first."""
    releases = history.cases[cases[0]].releases
    links = [pair_address(*pair) if pair in site.pairs else "" for pair in zip(["", *releases], releases)]
    shown = [case for case in cases if history.cases[case].releases == releases]
    return chart([_line(history, case) for case in shown], releases, finding(history, shown), shown[0].spec.unit, links)


def finding(history: ShownHistory, cases: Sequence[Case]) -> str:
    """Return in a sentence how the newest release compares with the first one over some cases of one size."""
    first, newest = history.cases[cases[0]].releases[0], history.cases[cases[0]].releases[-1]
    changes = [change for case in cases if (change := history.cases[case].change(0, -1))]
    noun = cases[0].spec.module if len(cases) > 1 else history.code(cases[0])
    of = f"{noun} of {told(cases[0])}" if cases[0].spec.shipped else noun
    sizes = {word: [each.size for each in changes if each.verdict is word] for word in facts.CHANGED}
    parts = [
        f"{len(ratios)} of {len(cases)} {of if index == 0 else ''} {'are' if len(ratios) > 1 else 'is'} {size_range(ratios)} {word.value}"
        for index, (word, ratios) in enumerate((word, ratios) for word, ratios in sizes.items() if ratios)
    ]
    if parts:
        return " and ".join(" ".join(part.split()) for part in parts) + f" with torch {newest} than with {first}"
    if changes and all(each.verdict is Verdict.UNCHANGED for each in changes):
        return f"{of} {'take' if len(cases) > 1 else 'takes'} as long with torch {newest} as with {first}"
    return f"{of}: no difference between torch {newest} and {first} can be told"


def _line(history: ShownHistory, case: Case, *, detailed: bool = False) -> Line:
    """Return a case as a line over its releases; detailed : with intervals, and the launches at the newest change."""
    of_case = history.cases[case]
    steps = {step.index: step.rises for step in of_case.steps}
    newest = max(steps, default=len(of_case.values) - 1)
    ends: list[tuple[float, float] | None] = []
    dots: list[list[float]] = []
    for index, result in enumerate(of_case.results if detailed else ()):
        timing = result.timings.get(case)
        ends.append(timing.interval if timing and len(set(timing.interval)) > 1 else None)
        dots.append(result.column.launch_times(case) if index in (newest - 1, newest) and timing and result.column else [])
    return Line(history.code(case), of_case.values, ends, dots, steps)


def grids(history: ShownHistory, cases: Sequence[Case]) -> list[facts.Grid]:
    return facts.grids({case: cell(history, case) for case in cases})


def cell(history: ShownHistory, case: Case) -> Values:
    """Return a case in a table of times: its newest time, its line, and what it is slower than it was, or its newest change."""
    of_case, standing = history.cases[case], history.standings.get(case)
    value = quantity(of_case.values[of_case.places[-1]] if of_case.places else None, of_case.unit)
    step = of_case.steps[-1] if of_case.steps else None
    return {
        "css": "",
        "address": history.address(case),
        "value": "fails" if case in history.results[-1].failures else value,
        "line": spark(of_case.values, max(0, len(of_case.values) - LAST)),
        "open": signed_percent(standing.ratio) if standing and history.is_open(case) else "",
        "newest": f"{'▲' if step.rises else '▼'} {facts.step_text(case, step)} {of_case.releases[step.index]}"
        if step
        else "?"
        if of_case.unknown
        else "=",
    }


def _history(site: Site, history: ShownHistory, device: str) -> Values:
    """Return the charts of a device by group and size, and a table of all its cases."""
    groups: dict[str, list[tuple[str, Markup, bool]]] = {}
    charted = facts.charted(history, device)
    for (group, size), cases in charted.items() if device in history.answers_for else ():
        drawn = _chart(site, history, cases)
        if drawn:
            groups.setdefault(group, []).append((size, drawn, _from_middle(cases) == 0))
    return {
        "history": history,
        "device": device,
        "hardware": history.hardware(device),
        "groups": groups,
        "grids": grids(history, [case for case in history.shown if case.device == device]),
    }


# the page of a method or suite on a device


def _subject(history: ShownHistory, subject: str, device: str) -> Page:
    block = _of_subject(history, subject, device)
    code, place = block["code"], device.upper() if device in history.answers_for else f"{device.upper()} ({history.name})"
    return Page(
        history.page_of(subject, device),
        "subject.html",
        f"{code} on {place}",
        f"{code} on {place}: its time with each torch release, every change with its interval, and why.",
        {"code": code, "subject": subject, **block},
    )


def _of_subject(history: ShownHistory, subject: str, device: str) -> Values:
    """Return the cases of a method on a device, the instructions of its smallest tensor, and what changed them."""
    cases = [case for case in history.shown if history.subject(case) == subject and case.device == device]
    cases.sort(key=lambda case: case.spec.rank)
    main = min((case for case in cases if case.spec.rank == 0), key=lambda case: _from_middle([case]), default=cases[0])
    counted_cases = [
        case
        for case, of_case in history.cases.items()
        if history.subject(case) == subject and case.device == device and case not in history.shown and case.spec.metric != "instructions"
    ]
    shares = history.shares(subject) if device == "cpu" else None
    total = sum(part for _, part in shares[2]) if shares else 0.0
    return {
        "history": history,
        "code": history.code(cases[0]),
        "hardware": history.hardware(device),
        "device": device,
        "conditions": _conditions(history, device),
        "counts": [
            (told(case), facts.spans((row["torch"], quantity(row["value"], row["unit"])) for row in history.rows(case)))
            for case in counted_cases
        ],
        "grids": grids(history, cases),
        "cases": [_case(history, case, case == main) for case in cases],
        "json": json_address(history, subject, device),
        "shares": shares
        and {
            "of": causes.case_text(shares[0]),
            "release": shares[1],
            "total": number(total),
            "rows": [(name, percent(part / total, 0), number(part)) for name, part in shares[2]],
        },
        "causes": [_cause(cause) for cause in history.causes.get(subject, ()) if device == "cpu" and cause.difference.changed],
    }


def json_address(history: ShownHistory, subject: str, device: str) -> str:
    """Return the address of the file with the launches of all cases of a method or suite on a device."""
    return history.page_of(subject, device).replace("methods/", "data/", 1).replace(".html", ".json")


def _case(history: ShownHistory, case: Case, is_main: bool) -> Values:
    """Return a case with its chart, its largest changes and a row for each release."""
    of_case, rows = history.cases[case], history.rows(case)[::-1]
    by_size = sorted(of_case.steps, key=lambda step: -step.size)[:LARGEST] if case.spec.timed else []
    overall = facts.over(of_case) if case.spec.timed else None
    releases = of_case.releases
    return {
        "anchor": history.anchor(case),
        "name": told(case),
        "is_main": is_main,
        "value": next((quantity(row["value"], of_case.unit) for row in rows if row["value"] is not None), ""),
        "is_open": history.is_open(case),
        "overall": overall
        and {"text": _against_first(overall), "first": releases[of_case.places[0]], "newest": releases[of_case.places[-1]]},
        "largest": [
            {
                "release": releases[step.index],
                "size": signed_percent(step.ratio),
                "rises": step.rises,
                "why": _why(history, case, step.index),
                "meaning": history.meaning(case, step),
            }
            for step in sorted(by_size, key=lambda step: -step.index)
        ],
        "chart": chart(
            [_line(history, case, detailed=True)],
            releases,
            f"{history.code(case)}, {told(case)}, on {history.hardware(case.device)}",
            case.spec.unit,
        ),
        "rows": rows,
        "skipped": next((result.skips[case] for result in history.results if case in result.skips), ""),
    }


def _against_first(change: facts.Change) -> str:
    """Return how the newest release compares with the first: "12.0 % faster than", "as fast as", "not told apart from"."""
    if change.verdict in facts.CHANGED:
        return f"{size_range([change.size])} {change.verdict.value} than"
    return "as fast as" if change.verdict is Verdict.UNCHANGED else "not told apart from"


def _why(history: ShownHistory, case: Case, index: int) -> Values:
    """Return what is known of the reason of a change: its instructions, and the functions behind them where they were profiled."""
    of_case = history.cases[case]
    first, second = of_case.releases[of_case.before(index)], of_case.releases[index]
    text = history.instructions_text(case, first, second)
    cause = history.cause(case, second)
    is_same = text == facts.SAME
    told_as = {facts.SAME: f"{facts.SAME}: probably the layout of the binary", facts.NOT_COUNTED: "instructions not counted"}
    return {
        "instructions": told_as.get(text, text),
        "other": dict(case.parameters).get("requires_grad") == "True",  # functions were counted without grad
        "functions": cause.sentence if cause and cause.difference.changed and not is_same else "",
        "profiled": (cause.before.version, cause.after.version) if cause else None,
        "address": f"{history.page_of(history.subject(case), case.device)}#{_cause_anchor(cause)}"
        if cause and cause.difference.changed
        else "",
    }


def _cause(cause: Cause) -> Values:
    return {
        "anchor": _cause_anchor(cause),
        "before": cause.before.version,
        "after": cause.after.version,
        "of": causes.case_text(cause.case),
        "sentence": cause.sentence,
        "rows": [
            {"name": row.name, "is_group": row.change is None, **{each.title: each.text(row) for each in causes.COLUMNS if each.text}}
            for row in causes.rows(cause.difference)
        ],
    }


def _cause_anchor(cause: Cause) -> str:
    return f"why-{cause.after.history}-{cause.before.version}-{cause.after.version}"


def _conditions(history: ShownHistory, device: str) -> str:
    """Return what the times of a device depend on: "driver 580.159.04, CUDA 13.2, 1980 MHz"; "" for a CPU."""
    provenance = history.newest(device).provenance
    gpu = provenance.get("gpu") or {}
    texts = {"driver": provenance.get("driver"), device.upper(): provenance.get(device), "MHz": gpu.get("clock_mhz")}
    if device == "cpu":
        return ""
    return ", ".join(f"{value} {name}" if name == "MHz" else f"{name} {value}" for name, value in texts.items() if value)


# what is slower than before


def _open(site: Site, device: str, history: ShownHistory) -> Values:
    """Return the open cases of a device by method and age, and the slowdowns that a later release took back."""
    methods = history.open_methods(device)
    standings = [each for case, each in history.standings.items() if case.device == device]
    return {
        "device": device,
        "history": history,
        "hardware": history.hardware(device),
        "release": history.newest(device).version,
        "last": LAST,
        "groups": {
            since.name.lower(): rows
            for since in OpenSince
            if (rows := [_open_row(history, each) for each in methods if each.since is since])
        },
        "number": sum(len(each.cases) for each in methods if each.since is not OpenSince.BACK),
        "cases": len(standings),
        "compared": sum(each.history.is_compared for each in standings),
        "closed": _closed(history, device),
    }


def _open_row(history: ShownHistory, method: OpenMethod) -> Values:
    """Return a method with its open cases of one age: the largest cost, the largest single slowdown, and why."""
    worst, slowed = method.worst, method.slowed_most
    step, of_case, cost = slowed.step, slowed.history, worst.cost
    case = worst.history.case
    return {
        "code": history.code(case),
        "device": case.device,
        "address": history.address(of_case.case),
        "worst": history.address(case),
        "since": method.cases[0].release,
        "anchor": facts.identifier(f"{history.subject(case)}-{case.device}-{method.since.name.lower()}"),
        "line": spark(worst.history.values, worst.best or 0),
        "release": slowed.release,
        "size": signed_percent(step.ratio) if step else "",
        "size_interval": signed_interval(step.interval) if step and step.interval else "",
        "cost": signed_percent(worst.ratio),
        "cost_interval": signed_interval(cost.interval) if cost and cost.interval else "",
        "best": worst.best_release,
        "first": worst.history.releases[0],
        "accepted": "; ".join(dict.fromkeys(each.accepted for each in method.cases if each.accepted)),
        "why": _why(history, of_case.case, step.index) if step else None,
        "cases": [_open_case(history, each) for each in method.cases],
    }


def _open_case(history: ShownHistory, of: Standing) -> Values:
    cost = of.cost
    return {
        "name": told(of.case),
        "address": history.address(of.case),
        "cost": f"{signed_percent(of.ratio)} ({signed_interval(cost.interval)})" if cost and cost.interval else "",
        "best": of.best_release,
        "times": of.times,
        "since": of.release,
    }


def _closed(history: ShownHistory, device: str) -> list[Values]:
    """Return the slowdowns that a later release took back: the largest of each method and pair of releases."""
    found: dict[tuple[str, str, str], Values] = {}
    for case, of_case in history.cases.items():
        for step in of_case.steps if case.device == device and case.spec.timed else ():
            meaning = history.meaning(case, step) if step.rises else ""
            release = of_case.releases[step.index]
            key = history.code(case), release, meaning
            if meaning.startswith("taken back") and step.ratio > found.get(key, {"ratio": 0.0})["ratio"]:
                text = f"{signed_percent(step.ratio)} with {release}, {meaning}"
                found[key] = {"code": key[0], "ratio": step.ratio, "address": history.address(case), "text": text}
    return sorted(found.values(), key=lambda each: -each["ratio"])


# comparisons


def _pairs(site: Site) -> Iterator[Values]:
    """Yield a table for each history and device: each release against the one before it, and the newest against it."""
    for history in site.histories:
        for device in history.devices:
            results = history.on(device) or history.results
            rows = []
            for index in reversed(range(len(results))):
                before = _of_pair(site, history, device, results[index - 1], results[index]) if index else None
                newest = _of_pair(site, history, device, results[index], results[-1]) if index < len(results) - 1 else None
                if before or newest:
                    rows.append((results[index].version, before, newest))
            if rows:
                place = f"{history.name}, Python {results[-1].python}"
                yield {
                    "device": device,
                    "hardware": history.hardware(device),
                    "on": place,
                    "is_first": device in history.answers_for,
                    "newest": results[-1].version,
                    "rows": rows,
                }


def _of_pair(site: Site, history: ShownHistory, device: str, before: Any, after: Any) -> Values | None:
    compared = site.pairs.get((before.version, after.version), [])
    sides = before, after
    of_device = (each for owner, each in compared if owner is history and each.sides == sides and each.device == device)
    comparison = next(of_device, None)
    return facts.tally(history, comparison) if comparison else None


def _compared(site: Site, history: ShownHistory, comparison: Comparison) -> Values:
    """Return the comparison of two releases on one device, history and Python."""
    before, after = comparison.sides
    device = comparison.device
    timed = {case: change for case, change in comparison.changes.items() if change.timed}
    with_counts = [change for change in timed.values() if change.count]
    rows = facts.changed(history, comparison)
    changed_subjects = {history.subject(row["case"]) for row in rows}
    tables = facts.grids(
        {case: {**facts.compact(change), "address": history.address(case)} for case, change in timed.items() if case in history.cases}
    )
    return {
        "device": device,
        "history": history,
        "before": before,
        "after": after,
        "on": f"{after.hardware(device)} ({history.name}, Python {after.python})",
        "tally": facts.tally(history, comparison),
        **facts.evidence(comparison),
        "counted": len(with_counts),
        "more": sum(bool(change.count and change.count.changed and change.count.size > 1) for change in with_counts),
        "fewer": sum(bool(change.count and change.count.changed and change.count.size < 1) for change in with_counts),
        "rows": rows,
        "grids": {
            True: [each for grid in tables if (each := _part(grid, lambda case: history.subject(case) in changed_subjects)).rows],
            False: [each for grid in tables if (each := _part(grid, lambda case: history.subject(case) not in changed_subjects)).rows],
        },
        "causes": _causes(history, comparison),
        "tracked": [(case.name, *texts) for case, *texts in facts.tracked(comparison)],
        "behaviour": [],
        "environment": comparison.environment,
    }


def _part(grid: facts.Grid, is_shown: Callable[[Case], bool]) -> facts.Grid:
    """Return the rows of a table whose first case is shown."""
    return replace(grid, rows=tuple(row for row in grid.rows if is_shown(row[0])))


def _causes(history: ShownHistory, comparison: Comparison) -> list[Values]:
    """Return the methods whose functions were counted on both sides, where they differ."""
    found = []
    for method, of_method in history.causes.items() if comparison.device == "cpu" else ():
        for cause in of_method:
            if (cause.before, cause.after) == comparison.sides and cause.difference.changed:
                address = f"{history.page_of(method, 'cpu')}#{_cause_anchor(cause)}"
                code = history.methods.get(method, {}).get("code", method)
                found.append({"code": code, "address": address, "sentence": cause.sentence})
    return found


# data


def _provenance(history: ShownHistory) -> Values:
    """Return what a history was measured on, and its files."""
    stored = history.results[-1].provenance
    flat: dict[str, Any] = {}
    for name, value in stored.items():
        flat |= (
            {f"{name} {key}" if name == "gpu" else key: each for key, each in value.items()} if isinstance(value, dict) else {name: value}
        )
    texts = {name: ", ".join(map(str, value)) if isinstance(value, list) else str(value) for name, value in flat.items()}
    return {
        "history": history,
        "csv": f"data/{facts.slug(history.name)}.csv",
        "provenance": {name: text for name, text in texts.items() if text not in ("", "None")},
        "releases": counted(len(history.releases), "torch release"),
        "devices": [(device, history.hardware(device), len(history.on(device)), history.day(device)) for device in history.devices],
    }
