"""The pages of any campaign: history, comparisons, open regressions, methods, data. Values for the templates of the same names. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from markupsafe import Markup

from tensorcopy.numbers import counted, extent, number, percent, quantity, signed_interval, signed_percent
from tensorcopy.report import explanation
from tensorcopy.site import facts
from tensorcopy.site.chart import Line, chart, spark
from tensorcopy.site.facts import LAST, Case, Cause, Comparison, History, OpenMethod, OpenSince, Site, Verdict, pair_address, told

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
    for subject, device, histories in site.subjects():
        yield _subject(site, subject, device, histories)
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


def overview(site: Site, device: str, history: History) -> Values:
    """Return what the first page shows of a device: the newest release, what is slower than before, a chart and all times by size."""
    axis = [result for result in history.axes[0] if any(case.device == device for case in result.timings)] or history.axes[0]
    latest = history.compare(axis[-2], axis[-1], device) if len(axis) > 1 else None
    by_group = facts.charted(history, device)
    headline = [
        of for of in by_group.values() if of[0].spec.headline and not of[0].spec.latency and "requires_grad" not in dict(of[0].parameters)
    ]
    drawn = min(headline or [*by_group.values()], key=_from_middle, default=[])
    return {
        "device": device,
        "history": history,
        "hardware": history.hardware(device),
        "release": axis[-1].version,
        "day": history.day(device),
        "releases": history.releases_on(device),
        "latest": _latest(site, history, latest) if latest else None,
        "open": [_open_row(history, each) for each in facts.open_methods(history, device) if each.since is not OpenSince.BACK],
        "open_cases": sum(each.device == device and since is not OpenSince.BACK for each, since in history.open.items()),
        "shown": SHOWN,
        "chart": _chart(site, history, drawn) if drawn else "",
        "grids": grids(history, [case for case in history.cases if case.device == device and case.spec.timed and case.spec.rank < 2]),
    }


def _latest(site: Site, history: History, comparison: Comparison) -> Values:
    """Return how the newest release compares with the one before it on a device."""
    before, after = (side.version for side in comparison.sides)
    return {
        **_tally(history, comparison),
        "seen": _seen(comparison),
        "launches": extent(facts.launches_of(comparison)),
        "few": facts.not_judged(comparison),
        "is_published": (before, after) in site.pairs,
    }


def _tally(history: History, comparison: Comparison) -> Values:
    """Return the numbers of a comparison's verdicts on times, with the sizes and the methods of those that changed."""
    tally, changes = facts.tally(history, comparison), comparison.changes

    def of(cases: Sequence[Case]) -> Values:
        sizes = sorted(changes[case].size for case in cases)
        return {"number": len(cases), "sizes": _range(sizes), "methods": [*dict.fromkeys(history.code(case) for case in cases)]}

    before, after = (side.version for side in comparison.sides)
    return {
        "before": before,
        "after": after,
        "slower": of(tally.slower),
        "back": {
            **of(tally.back),
            "earlier": (earlier := facts.earlier(history, tally.back, comparison)),
            "not_more": facts.are_not_more(history, tally.back, earlier or before, after),
        },
        "faster": of(tally.faster),
        "unchanged": tally.unchanged,
        "unknown": tally.unknown,
        "failing": [(history.code(case), told(case), history.address(case), changes[case].failure) for case in tally.failing],
        "cases": tally.cases,
        "address": pair_address(before, after),
    }


def _seen(comparison: Comparison) -> list[tuple[str, str]]:
    """Return the smallest slowdown that would be noticed 9 times in 10 by size; that of cases without a size comes last."""
    sizes = sorted(facts.sensitivity(comparison).items(), key=lambda each: not each[0])
    return [(percent(share, 1), f"{size} elements" if size else "without a size") for size, share in sizes]


def _range(ratios: Sequence[float]) -> str:
    """Return the sizes of some changes of one direction, without a sign: "3.2 to 4.1 %"."""
    ends = [f"{100 * abs(ratio - 1):.1f}" for ratio in sorted(ratios, key=lambda ratio: abs(ratio - 1))]
    return f"{' to '.join(dict.fromkeys((ends[0], ends[-1])))} %" if ends else ""


def _from_middle(cases: Sequence[Case]) -> float:
    numel = dict(cases[0].parameters).get("numel", "")
    return abs(int(numel).bit_length() - NUMEL.bit_length()) if numel.isdecimal() else 0.0


# charts and tables of times


def _chart(site: Site, history: History, cases: Sequence[Case]) -> Markup:
    """Return the chart of cases that differ in the method alone; its title says how the newest release compares with the first."""
    releases = history.cases[cases[0]].releases
    links = [pair_address(*pair) if pair in site.pairs else "" for pair in zip(["", *releases], releases)]
    shown = [case for case in cases if history.cases[case].releases == releases]
    return chart([_line(history, case) for case in shown], releases, finding(history, shown), shown[0].spec.unit, links)


def finding(history: History, cases: Sequence[Case]) -> str:
    """Return in a sentence how the newest release compares with the first one over some cases of one size."""
    first, newest = history.cases[cases[0]].releases[0], history.cases[cases[0]].releases[-1]
    changes = [change for case in cases if (change := facts.over(history.cases[case]))]
    noun = cases[0].spec.module if len(cases) > 1 else history.code(cases[0])
    of = f"{noun} of {told(cases[0])}" if cases[0].spec.shipped else noun
    sizes = {word: [each.size for each in changes if each.verdict is word] for word in facts.CHANGED}
    parts = [
        f"{len(ratios)} of {len(cases)} {of if index == 0 else ''} {'are' if len(ratios) > 1 else 'is'} {_range(ratios)} {word.value}"
        for index, (word, ratios) in enumerate((word, ratios) for word, ratios in sizes.items() if ratios)
    ]
    if parts:
        return " and ".join(" ".join(part.split()) for part in parts) + f" with torch {newest} than with {first}"
    if changes and all(each.verdict is Verdict.UNCHANGED for each in changes):
        return f"{of} {'take' if len(cases) > 1 else 'takes'} as long with torch {newest} as with {first}"
    return f"{of}: no difference between torch {newest} and {first} can be told"


def _line(history: History, case: Case, *, detailed: bool = False) -> Line:
    """Return a case as a line over its releases, an older Python's scaled; detailed : with intervals, and launches at the newest change."""
    of_case = history.cases[case]
    values, results = of_case.values, of_case.results
    steps = {step.index: step.rises for step in of_case.steps}
    ends: list[tuple[float, float] | None] = []
    dots: list[list[float]] = []
    newest = max(steps, default=len(values) - 1)
    for index, result in enumerate(results if detailed else ()):
        timing, scale = result.timings.get(case), of_case.scale(index)
        ends.append((timing.interval[0] * scale, timing.interval[1] * scale) if timing and len(set(timing.interval)) > 1 else None)
        has_dots = index in (newest - 1, newest) and timing and result.column
        dots.append([time * scale for time in result.column.launch_times(case)] if has_dots and result.column else [])
    return Line(history.code(case), values, ends, dots, steps, max((joint.index for joint in of_case.joints), default=0))


def grids(history: History, cases: Sequence[Case]) -> list[facts.Grid]:
    return facts.grids({case: cell(history, case) for case in cases})


def cell(history: History, case: Case) -> Values:
    """Return a case in a table of times: its newest time, its line, and what it is slower than it was, or its newest change."""
    of_case, standing = history.cases[case], history.standings.get(case)
    steps = of_case.all_steps
    newest = history.axes[0][-1]
    is_open = history.open.get(case, OpenSince.BACK) is not OpenSince.BACK
    value = quantity(next((value for value in reversed(of_case.measured) if value is not None), None), of_case.unit)
    step = steps[-1] if steps else None
    size = signed_percent(step.ratio) if step and not case.tracked else ""
    return {
        "css": "",
        "address": history.address(case),
        "value": "fails" if case in newest.failures else value,
        "line": spark(of_case.values, max(0, len(of_case.values) - LAST)),
        "open": signed_percent(standing.ratio) if standing and is_open else "",
        "newest": f"{'▲' if step.rises else '▼'} {size} {of_case.releases[step.index]}" if step else "?" if of_case.unknown else "=",
    }


def _history(site: Site, history: History, device: str) -> Values:
    """Return the charts of a device by group and size, and a table of all its cases."""
    groups: dict[str, list[tuple[str, Markup, bool]]] = {}
    charted = facts.charted(history, device)
    for (group, size), cases in charted.items():
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


def _subject(site: Site, subject: str, device: str, histories: Sequence[History]) -> Page:
    parts = [_of_subject(site, history, subject, device) for history in histories]
    code = parts[0]["code"]
    return Page(
        facts.subject_address(subject, device),
        "subject.html",
        f"{code} on {device.upper()}",
        f"{code} on {device.upper()}: its time with each torch release, every change with its interval, and why.",
        {"code": code, "device": device, "subject": subject, "blocks": parts},
    )


def _of_subject(site: Site, history: History, subject: str, device: str) -> Values:
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
    causes = history.causes.get(subject, []) if device == "cpu" else []
    return {
        "history": history,
        "code": history.code(cases[0]),
        "hardware": history.hardware(device),
        "device": device,
        "conditions": _conditions(history, device),
        "counts": [(told(case), facts.spans((row.release, row.value) for row in history.rows(case)[::-1])) for case in counted_cases],
        "grids": grids(history, cases),
        "cases": [_case(history, case, case == main) for case in cases],
        "json": json_address(history, subject, device),
        "shares": shares
        and {
            "of": explanation.case_text(shares[0]),
            "release": shares[1],
            "total": number(total),
            "rows": [(name, percent(part / total, 0), number(part)) for name, part in shares[2]],
        },
        "causes": [_cause(cause) for cause in causes if cause.difference.changed],
    }


def json_address(history: History, subject: str, device: str) -> str:
    """Return the address of the file with the launches of all cases of a method or suite on a device."""
    name = facts.subject_address(subject, device).removeprefix("methods/").removesuffix(".html")
    return f"data/{facts.slug(history.name)}/{name}.json"


def launches(history: History, case: Case) -> Values:
    """Return a case with each release as plain values: its time in seconds, that of each launch, and its instructions."""
    of_case, releases = history.cases[case], {}
    for result, release in zip(of_case.results, of_case.releases):
        if measured := result.measured(case):
            times = result.column.launch_times(case) if result.column and case.spec.timed else result.count_repeats.get(case, ())
            instructions = result.count_of(case) if case.spec.timed else None
            releases[release] = {
                "python": result.python,
                "value": float(f"{measured.value:.6g}"),
                "launches": [float(f"{time:.6g}") for time in times],
                "instructions": round(instructions.value) if instructions else None,
            }
    return {"unit": of_case.unit, "releases": releases}


def _case(history: History, case: Case, is_main: bool) -> Values:
    """Return a case with its chart, its largest changes and a row for each release."""
    of_case, rows = history.cases[case], history.rows(case)
    newest = next((row for row in rows if row.value), None)
    by_size = sorted(of_case.steps, key=lambda step: -step.size)[:LARGEST] if case.spec.timed else []
    overall = facts.over(of_case) if case.spec.timed else None
    releases = of_case.releases
    return {
        "anchor": history.anchor(case),
        "name": told(case),
        "is_main": is_main,
        "value": newest.value if newest else "",
        "is_open": history.open.get(case, OpenSince.BACK) is not OpenSince.BACK,
        "overall": overall and {"text": _against_first(overall), "first": releases[0], "newest": releases[-1]},
        "largest": [
            {
                "release": releases[step.index],
                "size": signed_percent(step.ratio),
                "rises": step.rises,
                "why": _why(history, case, step.index),
                "meaning": history.meaning(case, step.index),
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
        return f"{_range([change.size])} {change.verdict.value} than"
    return "as fast as" if change.verdict is Verdict.UNCHANGED else "not told apart from"


def _why(history: History, case: Case, index: int) -> Values:
    """Return what is known of the reason of a change: its instructions, and the functions behind them where they were profiled."""
    first, second = (side.version for side in history.cases[case].sides(index))
    text = history.instructions_text(case, first, second)
    cause = history.cause(case, second)
    is_same = text == "same instructions"
    return {
        "instructions": f"{text}: probably the layout of the binary" if is_same else text,
        "functions": explanation.sentence(cause.difference) if cause and cause.difference.changed and not is_same else "",
        "profiled": (cause.before.version, cause.after.version) if cause else None,
        "address": f"{facts.subject_address(history.subject(case), case.device)}#{_cause_anchor(cause)}"
        if cause and cause.difference.changed
        else "",
    }


def _cause(cause: Cause) -> Values:
    return {
        "anchor": _cause_anchor(cause),
        "before": cause.before.version,
        "after": cause.after.version,
        "python": cause.after.python,
        "of": explanation.case_text(cause.case),
        "sentence": explanation.sentence(cause.difference),
        "rows": [*explanation.rows(cause.difference)],
    }


def _cause_anchor(cause: Cause) -> str:
    return f"why-{cause.before.version}-{cause.after.version}-{cause.after.python}"


def _conditions(history: History, device: str) -> str:
    """Return what the times of a device depend on: "driver 580.159.04, CUDA 13.2, 1980 MHz"; "" for a CPU."""
    provenance = history.newest(device).provenance
    gpu = provenance.get("gpu") or {}
    texts = {"driver": provenance.get("driver"), device.upper(): provenance.get(device), "MHz": gpu.get("clock_mhz")}
    if device == "cpu":
        return ""
    return ", ".join(f"{value} {name}" if name == "MHz" else f"{name} {value}" for name, value in texts.items() if value)


# what is slower than before


def _open(site: Site, device: str, history: History) -> Values:
    """Return the open cases of a device by method and age, and the slowdowns that a later release took back."""
    methods = facts.open_methods(history, device)
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


def _open_row(history: History, method: OpenMethod) -> Values:
    """Return a method with its open cases of one age: the largest cost, the largest single slowdown, and why."""
    worst = history.standings[method.cases[0]]
    steps = [(step, history.standings[case]) for case in method.cases for step in history.standings[case].open]
    if method.since is OpenSince.NEW:
        steps = [each for each in steps if each[0].index == each[1].newest]
    step, owner = max(steps, key=lambda each: each[0].ratio, default=(None, worst))
    of_case, cost = owner.history, worst.cost
    case = worst.history.case
    return {
        "code": history.code(case),
        "device": case.device,
        "address": history.address(of_case.case),
        "anchor": facts.identifier(f"{history.subject(case)}-{case.device}-{method.since.name.lower()}"),
        "line": spark(worst.history.values, worst.best or 0),
        "release": of_case.releases[step.index] if step else "",
        "size": signed_percent(step.ratio) if step else "",
        "size_interval": signed_interval(step.interval) if step and step.interval else "",
        "cost": signed_percent(worst.ratio),
        "cost_interval": signed_interval(cost.interval) if cost and cost.interval else "",
        "best": worst.best_release,
        "first": worst.history.releases[0],
        "accepted": "; ".join(dict.fromkeys(reason for each in method.cases if (reason := history.standings[each].acknowledged))),
        "why": _why(history, of_case.case, step.index) if step else None,
        "cases": [_open_case(history, each) for each in method.cases],
    }


def _open_case(history: History, case: Case) -> Values:
    standing = history.standings[case]
    cost = standing.cost
    back = standing.history.sides(standing.newest)[0].version if history.open[case] is OpenSince.BACK else ""
    return {
        "name": told(case),
        "address": history.address(case),
        "cost": f"{signed_percent(standing.ratio)} ({signed_interval(cost.interval)})" if cost and cost.interval else "",
        "best": standing.best_release,
        "times": standing.times,
        "since": [*standing.since],
        "back": back,
    }


def _closed(history: History, device: str) -> list[Values]:
    """Return the slowdowns that a later release took back: the largest of each method and pair of releases."""
    found: dict[tuple[str, str, str], Values] = {}
    for case, of_case in history.cases.items():
        for step in of_case.steps if case.device == device and case.spec.timed else ():
            meaning = history.meaning(case, step.index) if step.rises else ""
            release = of_case.releases[step.index]
            key = history.code(case), release, meaning
            if meaning.startswith("taken back") and step.ratio > found.get(key, {"ratio": 0.0})["ratio"]:
                text = f"{signed_percent(step.ratio)} with {release}, {meaning}"
                found[key] = {"code": key[0], "ratio": step.ratio, "address": history.address(case), "text": text}
    return sorted(found.values(), key=lambda each: -each["ratio"])


# comparisons


def _pairs(site: Site) -> Iterator[Values]:
    """Yield a table for each history, Python and device: each release against the one before it, and the newest against it."""
    for history in site.histories:
        for device in history.devices:
            for axis in history.axes:
                versions = [result.version for result in axis]
                rows = []
                for index in reversed(range(len(versions))):
                    before = _of_pair(site, history, device, axis[index - 1], axis[index]) if index else None
                    newest = _of_pair(site, history, device, axis[index], axis[-1]) if index < len(versions) - 1 else None
                    if before or newest:
                        rows.append((versions[index], before, newest))
                if rows:
                    place = f"{history.name}, Python {axis[-1].python}"
                    yield {"device": device, "hardware": history.hardware(device), "on": place, "newest": versions[-1], "rows": rows}


def _of_pair(site: Site, history: History, device: str, before: Any, after: Any) -> Values | None:
    compared = site.pairs.get((before.version, after.version), [])
    sides = before, after
    of_device = (each for owner, each in compared if owner is history and each.sides == sides and each.device == device)
    comparison = next(of_device, None)
    return _tally(history, comparison) if comparison else None


def _compared(site: Site, history: History, comparison: Comparison) -> Values:
    """Return the comparison of two releases on one device, history and Python."""
    before, after = comparison.sides
    device = comparison.device
    timed = {case: change for case, change in comparison.changes.items() if change.timed}
    with_counts = [change for change in timed.values() if change.count]
    rows = facts.changed(history, comparison)
    changed_subjects = {history.subject(row.case) for row in rows}
    tables = facts.grids(
        {case: {**facts.compact(change), "address": history.address(case)} for case, change in timed.items() if case in history.cases}
    )
    return {
        "device": device,
        "history": history,
        "before": before,
        "after": after,
        "on": f"{after.hardware(device)} ({history.name}, Python {after.python})",
        "tally": _tally(history, comparison),
        "seen": _seen(comparison),
        "launches": extent(facts.launches_of(comparison)),
        "few": facts.not_judged(comparison),
        "counted": len(with_counts),
        "more": sum(bool(change.count and change.count.changed and change.count.ratio > 1) for change in with_counts),
        "fewer": sum(bool(change.count and change.count.changed and change.count.ratio < 1) for change in with_counts),
        "rows": [
            {**row._asdict(), "code": history.code(row.case), "told": told(row.case), "address": history.address(row.case)} for row in rows
        ],
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


def _causes(history: History, comparison: Comparison) -> list[Values]:
    """Return the methods whose functions were counted on both sides, where they differ."""
    found = []
    for method, causes in history.causes.items() if comparison.device == "cpu" else ():
        for cause in causes:
            if (cause.before, cause.after) == comparison.sides and cause.difference.changed:
                address = f"{facts.subject_address(method, 'cpu')}#{_cause_anchor(cause)}"
                code = history.methods.get(method, {}).get("code", method)
                found.append({"code": code, "address": address, "sentence": explanation.sentence(cause.difference)})
    return found


# data


def _provenance(history: History) -> Values:
    """Return what a history was measured on, and its files."""
    stored = history.axes[0][-1].provenance
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
        "devices": [
            (device, history.hardware(device), len(history.releases_on(device)), history.day(device)) for device in history.devices
        ],
    }
