"""The landing page, by device: what to use and what it costs, open regressions, the history, upgrades, and how reliable this is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from math import log, log2
from statistics import median
from typing import Any

from markupsafe import Markup

from tensorcopy.copying import recommend
from tensorcopy.copying.recommend import Option
from tensorcopy.judge import comparisons
from tensorcopy.judge.case_history import LAST, CaseHistory, standing
from tensorcopy.judge.change_points import Step
from tensorcopy.judge.comparisons import SIZES, sensitivity
from tensorcopy.judge.groups import DISPATCHER, OpenRegression, ReleaseChange, by_age
from tensorcopy.judge.paired import Change, Verdict
from tensorcopy.numbers import count, duration, percent, ratio_text, signed_interval, signed_percent, unbroken
from tensorcopy.report.sentences import TIME, against_earlier, age_text, by_word, headwords, word_key
from tensorcopy.report.words import LANGUAGES, texts
from tensorcopy.results import suite_specs
from tensorcopy.results.cases import Case
from tensorcopy.results.result import Result
from tensorcopy.site import addresses, history_chart, plots
from tensorcopy.site.content import Content, changes_of, recent
from tensorcopy.site.machine import CostTable, DeviceResults, Machine, case_of
from tensorcopy.site.page import Page, Translate, code_markup, translator, waiting, with_links
from tensorcopy.site.plots import spark_span, sparkline, whole_percent
from tensorcopy.worker.devices import DEVICES

RECENT_CHANGES = 6  # so that the page stays short; a release of which some are left out leads to all of them
REGRESSIONS = 5  # open ones that are listed, for the same reason; at least one of each age
UPGRADED = 10  # releases back, some two years: the upgrade that is shown first
SOME_TIMES = "some times"  # what the data of the chart has, in contrast to the "times" of the explorer
NUMEL = 2**14  # of the article's largest tensor, and of the chart on the landing page
COPIES, CONVERSIONS = "copies", "conversions"  # the modules of suites that are counted, each apart


@dataclass(frozen=True)
class OwnMachine:
    """The machine that measured last on a device, with its recommended copy at one size.

    ratio : of the copy's time to the shown machine's, of the same method with the same release; None where that was not measured
    """

    results: DeviceResults
    copy: Option
    ratio: float | None


@dataclass(frozen=True)
class UpgradeTally:
    """How many cases of one kind became slower and faster, of how many."""

    slower: int
    faster: int
    cases: int


@dataclass(frozen=True)
class Upgrade:
    """An upgrade from one release to a newer one.

    address : of the comparison page; "" where no Python has both releases: then they are compared by way of one that two Pythons have
    changed : the address of what the earlier release itself changed; "" for the first one
    """

    before: str
    after: str
    copies: UpgradeTally
    conversions: UpgradeTally
    address: str
    changed: str


def pages(content: Content) -> Iterator[Page]:
    """Yield the landing page in every language, with a block for each device."""
    languages = {language: addresses.translated(addresses.LANDING, language) for language in LANGUAGES}
    measured = {each.device: each for each in content.devices}
    first = next(iter([*content.by_device, *measured]), "")  # whose block is shown first, and whose anchors are plain
    shared = {device: _shared(content, each, "" if device == first else f"-{device}") for device, each in measured.items()}
    for language, address in languages.items():
        translate = translator(language)
        blocks: list[dict[str, Any]] = [
            {"device": device, **shared[device], **_translated(content, measured[device], shared[device], language)}
            if device in measured
            else {"device": device, "results": None, "answer": ""}
            for device in DEVICES
        ]
        values = {"first": first, "blocks": blocks, "timed": _timed(content, translate)}
        yield Page(address, "landing.html", str(translate("question")), values, language, languages, str(translate("description")))


def _timed(content: Content, translate: Translate) -> Markup:
    """Return the number of releases that were timed on each device; "" where nothing was."""
    parts: list[Markup] = []
    for each in content.devices:
        number = len({result.sha for result in each.measured})
        form = "timed_other" if parts else "timed_first" if number > 1 else "timed_once"
        parts += [translate(form, number=number, device=each.device.upper())] if number else []
    return translate("timed", devices=translate("and").join(parts)) if parts else Markup("")


def _shared(content: Content, results: DeviceResults, suffix: str) -> dict[str, Any]:
    """Return the values of a device's block that do not depend on the language.

    suffix : of the block's anchors
    """
    machine, own = results.machine, own_machine(content, results)
    every, shown = upgrades(content, results), _shown(results)
    numel = shown[0]["numel"] if shown else ""
    return {
        "results": results,
        "machine": machine,
        "suffix": suffix,
        "own": own,
        "chart_documents": [
            _script(each) if suffix else _document(content, each, numel) for each in (results, *([own.results] if own else []))
        ]
        if shown
        else [],
        "charted": shown,
        "chart_numel": numel,
        "chart_codes": [machine.code(case["method"], case.device) for case in shown],
        "counted": (suite_specs.INSTRUCTIONS,) if results.device == "cpu" and machine.counts_instructions else (),
        "csv": addresses.of_machine_data(machine.name),
        "histories": content.histories_address(machine),
        "accuracy": addresses.ACCURACY if "measurement" in content.docs else "",
        "explorer": history_chart.link(machine, *shown),
        "own_explorer": history_chart.link(own.results.machine, own.copy.case) if own else "",
        "open_address": content.regressions_address(results.machine, results.device)
        + (f"#{results.anchor}" if suffix else ""),  # the first part is at the top, below what is new on each device
        "upgrades": every,
        "joints": dict.fromkeys(  # of those upgrades: the release, and the older Python before it
            (history.releases[joint.index], joint.older.python)
            for case, history in results.history.items()
            if case.spec.module in (COPIES, CONVERSIONS)
            for joint in history.joints
        ),
        "first_upgrade": every[min(len(every), UPGRADED) - 1] if every else None,
        "changed_releases": [release for release in results.releases[:0:-1] if release in content.changed_releases],
        "newest_address": content.comparison_address(*results.latest.sides) if results.latest else "",
        "grids": _grids(results),
        "last": LAST,
    }


def _translated(content: Content, results: DeviceResults, shared: Mapping[str, Any], language: str) -> dict[str, Any]:
    """Return the values of a device's block in a language."""
    translate, page = translator(language), addresses.translated(addresses.LANDING, language)
    machine, own, charted = results.machine, shared["own"], shared["charted"]
    other = own.results.machine if own else None
    return {
        **_answer(results, translate),
        "regressions": _regressions(content, results, language),
        "new_against": against_earlier(results.regressions, language),
        "chart_svg": Markup(plots.of_methods(machine, charted, results.releases, other, language).svg() if charted else ""),  # noqa: S704 - our own SVG
        "chart_data": _chart_data(shared["chart_documents"], translate),
        "own_text": _own_text(results, own, translate),
        "news": _news(results, translate),
        "changes": _changes(content, results, translate),
        "waiting": lambda table: waiting(table.cases[0][0], language),
        "tiles": _tiles(results, translate),
        "upgrade_data": history_chart.json_text(_upgrade_data(shared["upgrades"], page, language)),
    }


def _charted(results: DeviceResults) -> list[Case]:
    """Return the cases that the chart can show first: copies and conversions of each size without grad."""
    suites = {suite_specs.timed_by_size(group, results.device) for group in suite_specs.headline_groups()}
    return [case for case in results.history if case.suite in suites]


def _document(content: Content, results: DeviceResults, numel: str) -> dict[str, Any]:
    """Return the history of copies and conversions at one size as in `history_chart.chart_data`, with the sizes of each group.

    The script loads the machine's other times when they are asked for, so that the page stays small.
    """
    numels: dict[str, list[int]] = {}
    for case in _charted(results):
        numels.setdefault(case.spec.module, []).append(int(case["numel"]))
    cases = [case for case in _charted(results) if case["numel"] == numel]
    document = history_chart.chart_data(results.machine, cases, content.comparisons)
    return {**document, "quantity": SOME_TIMES, "numels": {group: sorted(set(sizes)) for group, sizes in numels.items()}}


def _script(results: DeviceResults) -> dict[str, Any]:
    """Return where the whole history of a machine is: the chart of a device that is not shown first loads it when it is chosen."""
    return {"machine": results.machine.name, "script": addresses.of_history_data(results.machine.name, history_chart.TIMES)}


def _chart_data(documents: Sequence[dict[str, Any]], translate: Translate) -> Markup:
    """Return the documents as text, the own machine labelled in the language of the page."""
    labels = [{}, {"label": translate("own_machine")}]
    return history_chart.json_text([{**document, **label} for document, label in zip(documents, labels)]) if documents else Markup("")


def _shown(results: DeviceResults) -> list[Case]:
    """Return the cases that the chart shows first: all copies, or else conversions, at the size nearest to `NUMEL` where any has changed.

    A chart with a labelled change shows what the page is about.
    """
    cases = _charted(results)
    copies = [case for case in cases if case.suite == suite_specs.timed_by_size("copy", results.device)]
    by_size: dict[str, list[Case]] = {}
    for case in copies or cases:
        by_size.setdefault(case["numel"], []).append(case)
    changed = [numel for numel, row in by_size.items() if any(results.history[case].steps for case in row)]
    nearest = min(changed or by_size, key=lambda numel: abs(log2(int(numel) / NUMEL)), default="")
    return by_size.get(nearest, [])


def _grids(results: DeviceResults) -> list[tuple[CostTable, list[tuple[str, str, list[dict[str, Any] | None]]]]]:
    """Return each table with the code of each method and its cells by size; None where it was not measured.

    The axes of all sparklines are the same.

    rank : "fastest", "tied" with the fastest, or ""; address : of the case's history
    cost : the change from the best of the last releases to the newest one, where that is slower
    """

    machine = results.machine

    def history_of(table: CostTable, method: str, numel: int) -> CaseHistory | None:
        history = results.history.get(case_of(table.group, method, numel, table.device))
        return history if history and any(history.values) else None

    places = [(table, method, numel) for table in results.costs for method in table.methods for numel in table.numels]
    span = spark_span(history for place in places if (history := history_of(*place)))
    grids = []
    for table in results.costs:
        rows = []
        for method, costs in zip(table.methods, table.costs):
            cells: list[dict[str, Any] | None] = []
            for numel, size_cost in zip(table.numels, costs):
                history = history_of(table, method, numel)
                where = standing(history, LAST) if history else None
                if where is None:
                    cells.append(None)
                    continue
                rank = "fastest" if size_cost.fastest else "tied" if size_cost.among_fastest else ""
                since = where.best if where.is_open and where.best is not None else max(0, len(where.history.releases) - LAST)
                line = sparkline(where.history, results.releases, since, "slower" if where.is_open else "", span)
                value = duration(where.history.measured[where.newest] or 0.0)
                cost = whole_percent(where.cost.size) if where.is_open and where.cost else ""
                best = where.best_release if cost else ""
                address = machine.case_address(where.history.case)
                cells.append({"numel": numel, "rank": rank, "address": address, "line": line, "value": value, "cost": cost, "best": best})
            rows.append((method, machine.code(method, table.device), cells))
        grids.append((table, rows))
    return grids


def _answer(results: DeviceResults, translate: Translate) -> dict[str, Any]:
    """Return which copy and which conversion to use on a device: the sentence, what each costs, and where it was measured.

    The sentence is "" where no copy was measured.
    """
    asked = {name: recommend.common_request(to, results.device) for name, to in (("copy", "tensor"), ("conversion", "ndarray"))}
    answered = {name: recommend.options_without_size(results.result, request) for name, request in asked.items()}
    codes = {name: code_markup(options[0].code) for name, options in answered.items() if options}
    if "copy" not in codes:
        return {"answer": "", "beside": {}}
    day = results.result.day_of(option.case for options in answered.values() for option in options)
    return {
        "answer": translate("answer" if "conversion" in codes else "answer_copy", **codes),
        "costs": [
            {"text": _cost(results.result, options, translate), "address": addresses.of_choice(asked[name].name, options[0].case["numel"])}
            for name, options in answered.items()
            if options and options[0].timing
        ],
        "source": translate("answer_source", torch=results.newest.version, hardware=results.hardware, day=day),
        "beside": {
            table.group: translate("grid_recommended", cost=_time(options[0], translate))
            for table in results.costs
            if (options := answered[table.group]) and options[0].timing and options[0].method not in table.methods
        },
    }


def _cost(result: Result, options: Sequence[Option], translate: Translate) -> Markup:
    """Return what the first method costs in time and device memory, how many are tied with it, and its ratio to another.

    The other is the slowest one; where the first is not the fastest itself, it is the fastest. Of calls that a device queues in a row,
    there is the time of one that is waited for, too.
    """
    first, *others = options
    tied = sum(option.among_fastest for option in others) if first.among_fastest else 0
    slower = max((option for option in others if option.rank == "slower"), key=lambda option: option.time, default=None)
    parts = [_time(first, translate)]
    if waiting(first.case):
        waited = (each for each in result.timings if each.spec.latency and each.parameters == first.case.parameters)
        times = [duration(result.timings[case].seconds) for case in waited if case.spec.methods == first.case.spec.methods]
        parts.append(translate("cost_waited" if times else "cost_in_a_row", time=next(iter(times), "")))
    parts += [translate("cost_tied" if tied > 1 else "cost_tied_once", tied=tied)] if tied else []
    if slower and slower.change and slower.change.interval and first.change is None:  # the ratio to the fastest is that to the first
        low, high = (ratio_text(ratio) for ratio in slower.change.interval)
        parts.append(translate("cost_slower", code=code_markup(slower.code), low=low, high=high))
    fastest = next((option for option in others if option.rank == "fastest"), None)
    if fastest and first.change and first.change.interval:
        low, high = (ratio_text(ratio) for ratio in first.change.interval)
        parts.append(translate("cost_fastest", code=code_markup(fastest.code), low=low, high=high))
    parts += [translate(key) for key, _ in first.caveats if key == "device_copy"]
    return translate("semicolon").join(parts)


def _time(option: Option, translate: Translate) -> Markup:
    """Return the time of a method, for how many elements, and whether x requires grad."""
    form = "cost_grad" if "requires_grad" in dict(option.case.parameters) else "cost"
    return translate(form, code=code_markup(option.code), time=duration(option.time), numel=count(int(option.case["numel"])))


def _regressions(content: Content, results: DeviceResults, language: str) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the largest open regressions by heading: of each age, those with the newest release first."""
    ages, groups, room = by_age(results.regressions), list[tuple[str, list[dict[str, Any]]]](), REGRESSIONS
    for number, (age, of_age) in enumerate(ages.items(), 1):
        shown = of_age[: room - (len(ages) - number)]  # at least one of each later age
        room -= len(shown)
        rows = [_regression(content, results, each, translator(language)) for each in shown]
        groups.append((age_text(age, results.newest.version, language), rows))
    return groups


def _regression(content: Content, results: DeviceResults, regression: OpenRegression, translate: Translate) -> dict[str, Any]:
    """Return a method's slowdowns of one age: the largest that came then, and the largest cost of a case."""
    worst, slowed, number = regression.worst, regression.slowed_most, regression.number_acknowledged
    step, state = slowed.latest, ""
    if regression.acknowledged:
        state = translate("acknowledged", why=with_links(regression.acknowledged))
    elif number:
        state = translate("acknowledged_some", number=number, cases=len(regression.standings))
    return {
        "code": results.machine.case_code(worst.history.case),
        "address": content.regression_address(results, regression),
        "line": plots.since_best(regression.worst, results.releases),
        "cost": whole_percent(worst.ratio),
        "interval": _interval(worst.cost, translate),
        "best": worst.best_release,
        "cases": len(regression.standings),
        "acknowledged": state,
        "release": _releases(step.against, slowed.history.releases[step.index]) if step else "",
        "size": whole_percent(step.ratio) if step else "",
        "size_interval": _interval(step, translate),
    }


def _interval(change: Change | Step | None, translate: Translate) -> str:
    return unbroken(signed_interval(change.interval, digits=0, to=translate("to"))) if change and change.interval else ""


def _own_text(results: DeviceResults, own: OwnMachine | None, translate: Translate) -> Markup:
    """Return the recommended copy on the machine that measured last, beside the shown machine's; "" where they are the same."""
    if own is None:
        return Markup("")
    label, name = Markup("<b>{}</b>").format(translate("own_machine")), own.results.machine.name
    ratio = translate("own_ratio", ratio=ratio_text(own.ratio), shown=results.machine.name) if own.ratio else ""
    return translate("own_fastest", label=label, machine=name, cost=_time(own.copy, translate), ratio=ratio)


def _news(results: DeviceResults, translate: Translate) -> tuple[Markup, Markup]:
    """Return what the newest release changes: of its cases the two numbers of the headline, and for a fold all others.

    Those are the other verdicts, the recommended copy with its interval, and the work.
    """
    latest = results.latest
    if latest is None:
        return translate("news_first"), Markup("")
    changes = [change for change in latest.changes.values() if change.timed]
    number = by_word(changes)
    before, after = (side.version for side in latest.sides)
    first, rest = (
        translate("and").join(translate("news_count", number=number[word], word=_word(word, translate)) for word in words)
        for words in headwords(TIME, number)
    )
    sentences = [translate("news_rest", cases=len(changes), counts=rest)]
    for option in recommend.options_without_size(results.result, recommend.common_request("tensor", results.device))[:1]:
        own = latest.changes.get(option.case)
        if own and own.interval:
            size, ends = (unbroken(text) for text in (signed_percent(own.size), signed_interval(own.interval, to=translate("to"))))
            numel = count(int(option.case["numel"]))
            verdict, code = _word(comparisons.word(own), translate), code_markup(option.code)
            sentences.append(translate("news_recommended", code=code, numel=numel, verdict=verdict, change=size, interval=ends))
    pairs = [change.count.verdict for change in changes if change.count]
    if pairs:
        sentences.append(translate("news_work", more=pairs.count(Verdict.MORE), fewer=pairs.count(Verdict.FEWER), cases=len(pairs)))
    return translate("news", before=before, after=after, counts=first), translate("space").join(sentences)


def _word(word: str, translate: Translate) -> Markup:
    return translate(word_key(word))


def _seen(results: DeviceResults) -> tuple[str, float] | None:
    """Return the smallest slowdown of small tensors that would have been seen, or of the smallest with one, with their size.

    The page of the comparison has those of all sizes.
    """
    by_size = sensitivity(results.latest.changes) if results.latest else {}
    named = [(name, size) for name, size in by_size.items() if name]
    return next((each for each in named if each[0] == SIZES[0]), named[0] if named else None)


def _upgrade_data(every: Sequence[Upgrade], page: str, language: str) -> dict[str, Any]:
    """Return every upgrade for the script: by release the slower, faster and cases of copies and of conversions, and the link."""
    names = ("upgrade_copies", "upgrade_conversions", "evidence", "upgrade_from")
    return {
        "upgrades": {
            upgrade.before: [
                *astuple(upgrade.copies),
                *astuple(upgrade.conversions),
                addresses.relative(page, upgrade.address) if upgrade.address else "",
            ]
            for upgrade in reversed(every)
        },
        "texts": {name: texts()[name][language] for name in names},
    }


def _changes(content: Content, results: DeviceResults, translate: Translate) -> list[tuple[list[dict[str, Any]], str, Markup]]:
    """Return recent changes by release; of each, those of the largest size first, and what leads to the others, "" where all are shown."""
    on_device = [each for each in changes_of(content, results.machine) if each.change.group.device == results.device]
    modules = {spec.module for spec in suite_specs.table().values() if spec.landing}
    certain = [each for each in on_device if each.change.group.module in modules and each.change.is_certain]
    newest_first = {release: place for place, release in enumerate(reversed(results.releases))}
    certain.sort(key=lambda each: (newest_first[each.release], -abs(log(each.change.ratio))))
    return [
        (
            [
                {
                    "date": change.date,
                    "release": _releases(change.change.against, change.release),
                    "address": change.comparison_address,
                    "text": _change_text(results.machine, change.change, translate),
                }
                for change in shown
            ],
            more[0].comparison_address if more else "",
            translate("changes_more", number=len(more), release=shown[0].release),
        )
        for shown, more in recent(certain, RECENT_CHANGES)
    ]


def _releases(against: str, release: str) -> str:
    """Return the release of a change, with the one that it is from where that is not the one before: "2.10.0 → 2.13.0"."""
    return " → ".join(filter(None, [against, release]))


def _change_text(machine: Machine, change: ReleaseChange, translate: Translate) -> Markup:
    """Return a change with the methods that changed, the one with the largest change first."""
    name = translate(change.group.module)
    kind = translate("cases_small" if change.group.small else "cases_large", group=name, numel=count(DISPATCHER))
    kind += translate("of_python", python=change.only_on) if change.only_on else ""
    by_code: dict[str, list[float]] = {}
    for case in change.cases:
        code = machine.code(dict(case.parameters).get("method", case.suite), case.device)
        by_code.setdefault(code, []).append(change.steps[case].ratio)
    methods = translate("and").join(
        translate(
            "method_changed" if len(ratios) > 1 else "method_changed_once",
            code=code_markup(code),
            ratio=whole_percent(median(ratios)),
            cases=len(ratios),
        )
        for code, ratios in by_code.items()
    )
    return translate(f"changed_{change.verdict.value}", kind=kind, methods=methods)


def _tiles(results: DeviceResults, translate: Translate) -> list[tuple[Markup, object]]:
    """Return the figures about freshness and reliability, each with its name; shares are exact fractions."""
    tiles: list[tuple[Markup, object]] = [
        (translate("measured"), results.day),
        (translate("releases"), len({result.sha for result in results.measured})),
        (translate("launches"), results.launches.replace(" to ", translate("to"))),
    ]
    if seen := _seen(results):
        tiles.append((translate("detectable", numel=seen[0]), percent(seen[1], 1)))
    article = results.result.article.get(results.device)
    if article:
        tiles.append((translate("article_holds"), translate("part_of", part=article["hold"], total=article["statements"])))
    return tiles


def own_machine(content: Content, shown: DeviceResults) -> OwnMachine | None:
    """Return the machine that measured last on a device; None where it is the one whose history is shown, or has no copies."""
    own = next((machine.devices[shown.device] for machine in content.machines if shown.device in machine.devices), shown)
    if own is shown or not own.has_copies:
        return None
    option = recommend.recommended(own.result, recommend.common_request("tensor", own.device))
    if option is None or option.timing is None:
        return None
    history, release = shown.history.get(option.case), own.newest.version
    place = history.releases.index(release) if history and release in history.releases else None
    reference = history.measured[place] if history and place is not None else None
    return OwnMachine(own, option, option.time / reference if reference else None)


def upgrades(content: Content, results: DeviceResults) -> list[Upgrade]:
    """Return the upgrade from each release of a history to the newest one, the newest first."""
    axis, every = results.releases, []
    for before in reversed(axis[:-1]):
        verdicts: dict[str, list[Verdict]] = {COPIES: [], CONVERSIONS: []}
        for case, history in results.history.items():
            places = {release: place for place, release in enumerate(history.releases) if history.values[place] is not None}
            if case.spec.module in verdicts and history.unit == suite_specs.SECONDS and {before, axis[-1]} <= places.keys():
                judged = history.change(places[before], places[axis[-1]])
                verdicts[case.spec.module] += [judged.verdict] if judged else []
        tallies = [UpgradeTally(found.count(Verdict.SLOWER), found.count(Verdict.FASTER), len(found)) for found in verdicts.values()]
        address = _comparison_of(content, results.machine, before, axis[-1])
        changed = addresses.of_release(before) if before in content.changed_releases else ""
        every.append(Upgrade(before, axis[-1], tallies[0], tallies[1], address, changed))
    return every


def _comparison_of(content: Content, machine: Machine, before: str, after: str) -> str:
    """Return the address of the comparison of two releases on one Python; "" where none has both."""
    for series in machine.series:
        results = {release.version: result for release, result in zip(series.releases, series.results)}
        if before in results and after in results and (address := content.comparison_address(results[before], results[after])):
            return address
    return ""
