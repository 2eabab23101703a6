"""The pages of any campaign: history, comparisons, open regressions, methods, data. Values for the templates of the same names. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from markupsafe import Markup

from tensorcopy.numbers import quantity, signed_percent, size_range
from tensorcopy.site import facts
from tensorcopy.site.chart import SIGNS, Line, chart, spark
from tensorcopy.site.facts import Case, OpenMethod, OpenSince, Pair, ShownHistory, Site, Verdict, pair_address, told

NUMEL = 2**14  # elements, of the chart on the first page and of the case that is unfolded on a method's page
SHOWN = 2  # open regressions on the first page
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
    name, devices = site.campaign.name, site.answering.items()
    each = [(history, device) for history in site.histories for device in history.devices]
    single = {  # by template, and by address where that is another: title, description and blocks
        "overview": (site.campaign.title, f"{name} over torch releases: what changed.", [overview(*of) for of in devices]),
        "history": (
            "History over torch releases",
            f"Times of {name} with each torch release, drawn by group and size.",
            [_history(*of) for of in each],
        ),
        "regressions": (
            "What is slower than before",
            f"What takes longer in {name} than with an earlier torch release, since when, and why.",
            [_open(site, *of) for of in devices],
        ),
        "comparisons": (
            "Compare two torch releases",
            f"Every comparison of two torch releases in {name}: how many cases are slower and faster.",
            [block for of in each if (block := _pairs(*of))["rows"]],
        ),
        "data": (
            "Data and machines",
            f"Files with all times and counts of {name}, and what they were measured on.",
            [_provenance(history) for history in site.histories],
        ),
        "404": ("No such page", "This address has no page.", []),
    }
    for template, (title, description, blocks) in single.items():
        address = {"overview": "index.html", "comparisons": "compare/index.html"}.get(template, f"{template}.html")
        yield Page(address, f"{template}.html", title, description, {"blocks": blocks})
    for history, subject, device in site.subjects():
        yield _subject(site, history, subject, device)
    for (before, after), compared in site.pairs.items():
        description = f"Is torch {after} slower than {before} in {name}? Every case with its interval, on each device."
        blocks = [_compared(history, pair) for history, pair in compared]
        yield Page(pair_address(before, after), "compare.html", f"torch {after} against {before}", description, {"blocks": blocks})


def _place(history: ShownHistory, device: str) -> Values:
    """Return what heads each block of a page: the history, and a device."""
    return {"history": history, "device": device, "hardware": history.hardware(device)}


def overview(device: str, history: ShownHistory) -> Values:
    """Return what the first page shows of a device: the newest release, what is slower than before, a chart and all times by size."""
    releases = [result.version for result in history.on(device) or history.results]
    drawn = _first_drawn(facts.charted(history, device).values())
    methods: dict[str, OpenMethod] = {}
    for each in history.open_methods(device):
        if each.since is not OpenSince.BACK:
            methods.setdefault(facts.subject(each.cases[0].case), each)
    return {
        **_place(history, device),
        "day": history.day(device),
        "releases": releases,
        "latest": history.tallies.get((device, releases[-2], releases[-1])) if len(releases) > 1 else None,
        "open": [*methods.values()],
        "shown": SHOWN,
        "chart": _chart(history, drawn) if drawn else "",
        "grids": grids(history, [case for case in history.cases if case.device == device and case.spec.timed and case.spec.rank < 2]),
    }


def _first_drawn(groups: Collection[Sequence[Case]]) -> Sequence[Case]:
    """Return the cases whose chart is shown first: copies called in a row, with grad where that was timed, of the middle size."""
    headline = [of for of in groups if of[0].spec.headline and not of[0].spec.latency]
    return min(headline or groups, key=lambda of: ("requires_grad" not in dict(of[0].parameters), _from_middle(of)), default=[])


def _from_middle(cases: Sequence[Case]) -> int:
    return abs(facts.numel(cases[0]).bit_length() - NUMEL.bit_length())


# charts and tables of times


def _chart(history: ShownHistory, cases: Sequence[Case]) -> Markup:
    """Return the chart of cases that differ in the method alone; its title says how the newest release compares with the first."""
    releases = history.cases[cases[0]].releases
    pairs = [(cases[0].device, *pair) for pair in zip(["", *releases], releases)]
    links = [history.tallies[pair]["address"] if pair in history.tallies else "" for pair in pairs]
    shown = [case for case in cases if history.cases[case].releases == releases]
    return chart([_line(history, case) for case in shown], releases, finding(history, shown), shown[0].spec.unit, links)


def finding(history: ShownHistory, cases: Sequence[Case]) -> str:
    """Return in a sentence how the newest release compares with the first one over some cases of one size."""
    number, spec, releases = len(cases), cases[0].spec, history.cases[cases[0]].releases
    places = history.cases[cases[0]].places if number == 1 else [0, len(releases) - 1]
    of = f"{history.code(cases[0])} ({told(cases[0])})"
    if not spec.timed or len(places) < 2:
        return of
    first, newest = releases[places[0]], releases[places[-1]]
    changes = {case: change for case in cases if (change := history.cases[case].change(places[0], places[-1]))}
    size, _, rest = told(cases[0]).partition(", ")
    if number > 1:
        of = f"{facts.heading(cases[0]).lower()} of {size}{f' ({rest})' if rest else ''}" if spec.shipped else spec.label
    parts: list[str] = []
    for word in facts.CHANGED:
        if ratios := {case: each.size for case, each in changes.items() if each.verdict is word}:
            count = f"{len(ratios)} of {number}" if len(ratios) < number else f"All {number}"
            subject = count if parts else f"{count} {of}" if number > 1 else of
            named = f", {history.code(next(iter(ratios)))}," if len(ratios) == 1 < number else ""
            parts.append(f"{subject}{named} {'are' if len(ratios) > 1 else 'is'} {size_range([*ratios.values()])} {word.value}")
    if parts:
        return f"{' and '.join(parts)} with torch {newest} than with {first}"
    title = of[0].upper() + of[1:] if number > 1 and spec.shipped else of
    if changes and all(each.verdict is Verdict.UNCHANGED for each in changes.values()):
        return f"{title} {'take' if number > 1 else 'takes'} as long with torch {newest} as with {first}"
    return f"{title}: no difference between torch {newest} and {first} can be told"


def _line(history: ShownHistory, case: Case, *, detailed: bool = False) -> Line:
    """Return a case as a line over its releases; detailed : with intervals, and the launches at the newest change."""
    of_case = history.cases[case]
    steps = {step.index: history.style(case, step) for step in of_case.steps}
    newest = max(steps, default=len(of_case.values) - 1)
    ends: list[tuple[float, float] | None] = []
    dots: list[list[float]] = []
    for index, result in enumerate(of_case.results if detailed else ()):
        timing = result.timings.get(case)
        ends.append(timing.interval if timing and len(set(timing.interval)) > 1 else None)
        dots.append(result.launch_times(case) if index in (newest - 1, newest) and timing else [])
    return Line(history.code(case), of_case.values, ends, dots, steps)


def grids(history: ShownHistory, cases: Sequence[Case]) -> list[facts.Grid]:
    return facts.grids({case: cell(history, case) for case in cases})


def cell(history: ShownHistory, case: Case) -> Values:
    """Return a case in a table of times: its newest time, its line, and what it is slower than it was, or its change from the first."""
    of_case, standing, places = history.cases[case], history.standings.get(case), history.cases[case].places
    first, value = (of_case.values[places[place]] if places else None for place in (0, -1))
    change = of_case.change(places[0], places[-1]) if len(places) > 1 else None
    mark = "?" if change and change.verdict is Verdict.UNKNOWN else "=" if change else ""
    if change and change.changed:
        size = signed_percent(change.size) if case.spec.timed else case.kind.size(first or 0.0, value or 0.0, case.spec.unit)
        mark = f"{SIGNS['slower' if change.verdict.value == case.kind.rises else 'faster']} {size}"
    return {
        "css": "",
        "address": history.address(case),
        "value": "fails" if case in history.results[-1].failures else quantity(value, of_case.unit),
        "line": spark(of_case.values),
        "open": signed_percent(standing.ratio) if standing and standing.since not in (None, OpenSince.BACK) else "",
        "mark": mark,
    }


def _history(history: ShownHistory, device: str) -> Values:
    """Return the charts of a device by group and size, and a table of all its cases."""
    charted = facts.charted(history, device) if device in history.answers_for else {}
    first = _first_drawn(charted.values())
    drawn = [(f"{group}; {size}", _chart(history, cases), cases is first) for (group, size), cases in charted.items()]
    return {
        **_place(history, device),
        "charts": [each for each in drawn if each[1]],
        "grids": grids(history, [case for case in history.shown if case.device == device]),
    }


# the page of a method or suite on a device


def _subject(site: Site, history: ShownHistory, subject: str, device: str) -> Page:
    """Return the page of a method or suite: its cases, the instructions of its smallest tensor, and what changed them."""
    own = {case: of_case for case, of_case in history.cases.items() if facts.subject(case) == subject and case.device == device}
    cases = sorted((case for case in own if case in history.shown), key=lambda case: (case.spec.rank, case.spec.label, facts.numel(case)))
    main = min((case for case in cases if case.spec.rank == cases[0].spec.rank), key=lambda case: _from_middle([case]))
    counts = {case: of for case, of in own.items() if case not in history.shown and case.spec.metric != "instructions"}
    is_first = device in history.answers_for
    code, place = history.code(cases[0]), f"{device.upper()}{'' if is_first else f' ({history.name})'}"
    return Page(
        history.page_of(subject, device),
        "subject.html",
        f"{code} on {place}",
        f"{code} on {place}: its time with each torch release, every change with its interval, and why.",
        {
            **_place(history, device),
            "code": code,
            "subject": subject,
            "others": [of for of, *rest in site.subjects() if of is not history and rest == [subject, device]],
            "counts": {
                case: facts.spans(zip(of.releases, (quantity(value, of.unit) for value in of.values))) for case, of in counts.items()
            },
            "grids": grids(history, cases),
            "cases": [_case(history, case, case == main) for case in cases],
            "json": json_address(history, subject, device),
            "shares": history.shares(subject) if device == "cpu" else None,
            "causes": [cause for cause in history.causes.get(subject, ()) if device == "cpu" and cause.difference.changed],
        },
    )


def json_address(history: ShownHistory, subject: str, device: str) -> str:
    """Return the address of the file with the launches of all cases of a method or suite on a device."""
    return history.page_of(subject, device).replace("methods/", "data/", 1).replace(".html", ".json")


def _case(history: ShownHistory, case: Case, is_main: bool) -> Values:
    """Return a case with its chart, a row for each release, and its largest changes with the slowdown since which it is slower."""
    of_case, rows = history.cases[case], history.rows[case][::-1]
    steps = sorted(of_case.steps, key=lambda step: -step.size)[:LARGEST] if case.spec.timed else []
    since = history.open[case].step if history.is_open(case) else None
    return {
        "case": case,
        "is_main": is_main,
        "value": next((quantity(row["value"], of_case.unit) for row in rows if row["value"] is not None), ""),
        "changes": sorted({step.index: step for step in (*steps, *([since] if since else []))}.values(), key=lambda step: -step.index),
        "since": since,
        "chart": chart([_line(history, case, detailed=True)], of_case.releases, finding(history, [case]), case.spec.unit),
        "rows": rows,
        "skipped": next((result.skips[case] for result in history.results if case in result.skips), ""),
    }


# what is slower than before


def _open(site: Site, device: str, history: ShownHistory) -> Values:
    """Return the open cases of a device by method and age."""
    methods = history.open_methods(device)
    back, slower = ([of for each in methods if (each.since is OpenSince.BACK) is wanted for of in each.cases] for wanted in (True, False))
    standings = [each for case, each in history.standings.items() if case.device == device]
    return {
        **_place(history, device),
        "others": [each for each in site.histories if each is not history and device in each.devices],
        "release": history.newest(device).version,
        "groups": {since: of for since in OpenSince if (of := [each for each in methods if each.since is since])},
        "slower": slower,
        "methods": len({facts.subject(each.case) for each in slower}),
        "back": back,
        "gained": facts.gained(back),
        "cases": len(standings),
        "compared": sum(each.history.is_compared for each in standings),
        "unknown": history.undecided(device),
    }


def _pairs(history: ShownHistory, device: str) -> Values:
    """Return how each release compares with the one before it, and the newest with it, on a device of a history."""
    results = history.on(device) or history.results
    releases = [result.version for result in results]
    rows = []
    for before, release in zip(["", *releases], releases):
        pairs = [history.tallies.get((device, *pair)) for pair in ((before, release), (release, releases[-1]))]
        rows += [(release, *pairs)] if any(pairs) else []
    return {
        **_place(history, device),
        "is_first": device in history.answers_for,
        "newest": releases[-1],
        "rows": rows[::-1],
    }


def _compared(history: ShownHistory, pair: Pair) -> Values:
    """Return the comparison of two releases on one device of a history."""
    comparison, device = history.compared[pair], pair[0]
    before, after = comparison.sides
    timed = {case: change for case, change in comparison.changes.items() if change.timed}
    counts = [change.count for change in timed.values() if change.count]
    changed = facts.changed(comparison)
    subjects = {facts.subject(case) for case, _ in changed}
    cells = {
        case: (history.address(case), change, facts.word(comparison, case)[0]) for case, change in timed.items() if case in history.cases
    }
    parts: dict[bool, list[facts.Grid]] = {True: [], False: []}
    for grid in facts.grids(cells):
        for is_changed, part in parts.items():
            if rows := tuple(row for row in grid.rows if (facts.subject(row[0]) in subjects) is is_changed):
                part.append(replace(grid, rows=rows))
    behind = [cause for of_method in history.causes.values() for cause in of_method if device == "cpu"]
    return {
        **_place(history, device),
        "before": before,
        "after": after,
        "on": f"{after.hardware(device)} ({history.name}, Python {after.python})",
        "tally": history.tallies[pair],
        "counted": len(counts),
        "more": sum(count.changed and count.size > 1 for count in counts),
        "fewer": sum(count.changed and count.size < 1 for count in counts),
        "rows": [(case, change, *facts.word(comparison, case)) for case, change in changed],
        "grids": parts,
        "causes": [cause for cause in behind if (cause.before, cause.after) == comparison.sides and cause.difference.changed],
        "tracked": {case: change for case, change in comparison.changes.items() if not change.timed},
        "behaviour": [],
        "environment": comparison.environment,
    }


def _provenance(history: ShownHistory) -> Values:
    """Return what a history was measured on, and its files."""
    provenance = facts.texts(history.results[-1].provenance)
    return {
        "history": history,
        "csv": f"data/{facts.slug(history.name)}.csv",
        "provenance": {name: text for name, text in provenance.items() if text and not name.startswith("threads")},
        "devices": [(device, history.hardware(device), len(history.on(device)), history.day(device)) for device in history.devices],
    }
