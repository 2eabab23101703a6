"""Every row of every page, and of the files beside them, is read back and compared with what the judge says of the launches."""

import csv
import json
import re
from collections.abc import Iterator, Mapping
from io import StringIO
from itertools import pairwise
from math import log
from typing import Any

import feedparser
import pytest

from tensorcopy.judge import case_history, comparisons
from tensorcopy.judge.case_history import OpenSince
from tensorcopy.judge.comparisons import Question
from tensorcopy.judge.paired import Verdict
from tensorcopy.numbers import (
    count,
    counted,
    duration,
    duration_range,
    quantity,
    signed_interval,
    signed_percent,
    size_range,
    slowdown,
    tracked_difference,
)
from tensorcopy.results.cases import counted_case
from tensorcopy.site import facts
from tests.site.reading import Element, files_in, read, table, target, unlike

CHANGED = (Verdict.SLOWER, Verdict.FASTER)
SECONDS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}


def plain(text: str) -> str:
    return " ".join(text.split())


class Judge:
    """What the judge says of one case, asked without the site."""

    def __init__(self, history: facts.ShownHistory, case: facts.Case) -> None:
        self.history, self.case, self.of_case = history, case, history.cases[case]
        self.steps = {self.of_case.releases[step.index]: step for step in self.of_case.steps}
        self.standing = case_history.standing(self.of_case)
        self.counts = history.cases.get(counted_case(case)) if case.spec.timed else None

    @property
    def since(self) -> OpenSince | None:
        """When it became slower, where it is open: in the first history of its device."""
        is_open = self.standing and self.standing.since and self.case.device in self.history.answers_for
        return self.standing.since if is_open else None

    @property
    def slowdown(self) -> case_history.Step | None:
        """The slowdown since which it is open; None where it crept."""
        return self.standing.step

    @property
    def mark(self) -> str:
        """What stands below its newest time: the cost of an open case, or else the change from the first release, "=" or "?"."""
        if self.is_slower:
            return signed_percent(self.standing.ratio)
        values, places = self.of_case.values, self.of_case.places
        if not (change := self.change(places[0], places[-1]) if len(places) > 1 else None):
            return ""
        if change.verdict.value not in ("slower", "faster", "higher", "lower"):
            return "?" if change.verdict is Verdict.UNKNOWN else "="
        is_tracked, unit = self.case.spec.metric == "tracked", self.case.spec.unit
        size = tracked_difference(values[places[-1]] - values[places[0]], unit) if is_tracked else signed_percent(change.ratio)
        return plain(f"{'▲' if change.verdict.value in ('slower', 'higher') else '▼'} {size}")

    @property
    def is_slower(self) -> bool:
        """Whether it is slower than with its fastest release, in any history, and not back to an earlier level."""
        return self.standing is not None and self.standing.since not in (None, OpenSince.BACK)

    def sign(self, step: case_history.Step) -> str:
        return "▴" if self.of_case.is_back(step.index) else "▲" if step.rises else "▾" if self.undone(step) else "▼"

    def sides(self, step: case_history.Step) -> tuple[facts.Result, facts.Result]:
        """Return the results between which it changed."""
        return self.of_case.results[self.of_case.before(step.index)], self.of_case.results[step.index]

    def undone(self, step: case_history.Step) -> str:
        """Return the release with the slowdown before a gain that this takes back to within 3 %, and not as much again; "" elsewhere."""
        last = [each for each in self.of_case.steps if each.index < step.index][-1:]
        is_undone = last and last[0].rises and last[0].ratio * step.ratio <= 1.03 and log(last[0].ratio) > log(1 / step.ratio) / 2
        return self.of_case.releases[last[0].index] if is_undone else ""

    def row(self, release: str) -> dict[str, Any]:
        """Return what is to be said of the case with a release; None or "" where there is nothing to say."""
        index, timed = self.of_case.releases.index(release), self.case.spec.timed
        result, step = self.of_case.results[index], self.steps.get(release)
        value, instructions = result.value_of(self.case), result.count_of(self.case) if timed else None
        before = self.of_case.before(index) if index in self.of_case.places[1:] else None
        change = self.change(before, index) if before is not None else None
        low, high = change.interval if change and change.interval else (None, None)
        times = result.launch_times(self.case) if timed else result.count_repeats.get(self.case, ())
        of_count = next((each for each in self.counts.steps if self.counts.releases[each.index] == release), None) if self.counts else None
        return {
            "value": value,
            "unit": self.case.spec.unit,
            "ratio": change.ratio if low else None,
            "low": low,
            "high": high,
            "difference": change.after - change.before if step and not timed else None,
            "verdict": change.verdict.value if change else "",
            "against": self.of_case.releases[before] if step and before < index - 1 else "",
            "meaning": self.meaning(step) if step and timed else "",
            "detectable": change.detectable if change else None,
            "instructions": None if instructions is None else round(instructions),
            "instructions_ratio": of_count.ratio if of_count else None,
            "launches": [*times],
            "failure": " ".join(result.failures.get(self.case, "").split()),
        }

    def change(self, before: int, after: int) -> comparisons.Change | None:
        sides = self.of_case.results[before], self.of_case.results[after]
        return comparisons.between(Question(*sides, self.history.rules)).changes.get(self.case)

    def meaning(self, step: case_history.Step) -> str:
        if self.of_case.is_back(step.index):
            return "back to an earlier level"
        if undone := self.undone(step):
            return f"takes back the slowdown of {undone}"
        following = [each for each in self.of_case.steps if each.index > step.index][:1]
        is_undone = following and self.undone(following[0]) == self.of_case.releases[step.index]
        later = following[0].index if is_undone else self.of_case.taken_back(step)
        return "" if later is None else f"{'gone' if step.rises else 'lost'} again by {self.of_case.releases[later]}"


def cells_of(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts of a row of a method's page by the titles of their columns, and the class of its change."""
    if row["failure"]:
        titles = ("change", "interval", "detectable", "instructions", "their change", "launches")
        return {"value": "fails", **dict.fromkeys(titles, row["failure"]), "class": "w"}
    unit, launches = row["unit"], row["launches"]
    is_changed, is_back = row["verdict"] in ("slower", "faster"), row["meaning"].startswith("back")
    size = signed_percent(row["ratio"]) if row["ratio"] else ""
    tracked = f"{row['verdict']}, {quantity(row['difference'], unit)}" if row["difference"] is not None else ""
    against = f"against {row['against']}" if row["against"] else ""
    texts = {
        "value": quantity(row["value"], unit),
        "change": f"{tracked or size} {against} {row['meaning']}",
        "interval": signed_interval((row["low"], row["high"])) if row["low"] else "",
        "detectable": slowdown(row["detectable"]) if row["detectable"] else "",
        "instructions": quantity(row["instructions"], "instructions"),
        "their change": signed_percent(row["instructions_ratio"]) if row["instructions_ratio"] else "",
        "launches": f"{len(launches)}: {duration_range(launches)}" if unit == "seconds" else str(len(launches)),
        "class": "back" if is_back else row["verdict"] if is_changed else "",
    }
    return {title: plain(text) for title, text in texts.items()}


def shown_cells(cells: Mapping[str, Element]) -> dict[str, str]:
    """Return the same of a row that is shown."""
    texts = {title: cell.text for title, cell in cells.items() if title != "torch"}
    work = texts["their change"]
    return {
        **texts,
        "their change": work if texts["value"] == "fails" else work.partition(" against ")[0],
        "class": cells["change"].attributes.get("class") or "",
    }


def rows_of(of_case: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a case of a JSON file by release: it has a list for each field, and its unit once."""
    columns = {name: column for name, column in of_case.items() if name != "unit"}
    assert {len(column) for column in columns.values()} == {len(of_case["torch"])}
    rows = [dict(zip(columns, values)) for values in zip(*columns.values())]
    return [{"unit": of_case["unit"], **{name: value for name, value in row.items() if value is not None}} for row in rows]


IN_CSV = ["value", "unit", "ratio", "low", "high", "verdict", "meaning", "detectable", "instructions", "launches", "failure"]
IN_JSON = [*IN_CSV, "difference", "against", "instructions_ratio"]


def stored(row: Mapping[str, Any], *, in_csv: bool) -> dict[str, Any]:
    """Return the fields of a row of a data file, whose numbers have five digits, and times of launches four; a CSV has their number."""
    digits, fields = 4 if row["unit"] == "seconds" else 5, dict[str, Any]()
    for name in IN_CSV if in_csv else IN_JSON:
        value = row[name]
        if isinstance(value, list):
            value = len(value) if in_csv else [float(f"{each:.{digits}g}") for each in value]
        value = float(f"{value:.5g}") if isinstance(value, float) else value
        fields[name] = "" if value is None else str(value) if in_csv else value
    return fields


def of_cases(site: facts.Site, files: dict[str, str]) -> Iterator[str]:
    """Yield what is wrong in the rows of the methods' pages, in the CSV and in the JSON files."""
    in_csv: dict[str, list[dict[str, str]]] = {}
    for history in site.histories:
        for line in csv.DictReader(StringIO(files[f"data/{history.name}.csv"])):
            fields = {name: plain(text.lstrip("'")) for name, text in line.items()}  # a quote, so that no spreadsheet runs it
            in_csv.setdefault(f"{history.name} {line['case']}", []).append(fields)
    for history, subject, device in site.subjects():
        address = history.page_of(subject, device)
        page = read(files[address]).first("main")
        folds = {each.first("div").attributes.get("id"): each for each in page.all("details")}
        links = [each for fold in folds.values() for each in fold.all("a") if each.text == "All cases of this method as JSON"]
        (link,) = {each.attributes["href"] for each in links}
        document = {name: rows_of(of_case) for name, of_case in json.loads(files[target(address, link)[0]]).items()}
        for case in [each for each in history.shown if facts.subject(each) == subject and each.device == device]:
            judge, fold, place = Judge(history, case), folds[history.anchor(case)], f"{history.name} {case.name}"
            measured = [each.version for each in history.results if each.value_of(case) is not None or case in each.failures]
            rows = {release: judge.row(release) for release in measured}
            shown = {cells["torch"].text: shown_cells(cells) for cells in table(fold.first("table"))}
            data = {"csv": {each["torch"]: each for each in in_csv[place]}, "json": {each["torch"]: each for each in document[case.name]}}
            yield from unlike(f"{place}, page", shown, {release: cells_of(rows[release]) for release in [*rows][::-1]})
            for name, by_release in data.items():
                expected = {release: stored(row, in_csv=name == "csv") for release, row in rows.items()}
                found = {release: {field: of.get(field, "") for field in expected[release]} for release, of in by_release.items()}
                yield from unlike(f"{place}, {name}", found, expected)
            yield from (f"{place}: {fault}" for fault in of_summary(judge, fold))


def of_summary(judge: Judge, fold: Element) -> Iterator[str]:
    """Yield what is wrong above the table of a case: against the first release, and the largest changes."""
    if not judge.case.spec.timed:
        return
    measured = judge.of_case.places
    overall = judge.change(measured[0], measured[-1]) if len(measured) > 1 else None
    text = fold.first("figcaption").text if overall else ""
    words = {Verdict.UNCHANGED: "takes as long with", Verdict.UNKNOWN: "no difference between"}
    told = [words.get(overall.verdict, overall.verdict.value)] if overall else []
    told += [judge.of_case.releases[measured[place]] for place in (0, -1) if overall]
    told += [f" is {size_range([overall.ratio])} " for _ in told[:1] if overall.verdict in CHANGED]
    yield from (f"overall {text} without {each}" for each in told if each not in text)
    steps = sorted(judge.of_case.steps, key=lambda step: -step.size)[:3]
    since = judge.slowdown if judge.since not in (None, OpenSince.BACK) else None
    largest = sorted({step.index: step for step in (*steps, *([since] if since else []))}.values(), key=lambda step: -step.index)
    expected = {}
    for step in largest:
        meaning = "the last slowdown that remains" if step is since else judge.meaning(step)
        styles = dict(zip("▲▼▴▾", ("slower", "faster", "back", "undone")))
        expected[judge.of_case.releases[step.index]] = signed_percent(step.ratio), meaning, styles[judge.sign(step)]
    shown = {}
    for item in [each for each in fold.first("div").all("li") if each.all("b")]:
        size, release, meaning = re.match(r"(\S+ %) with ([\d.]+)(?:, (.*?))?; ", item.text).groups("")
        shown[release] = size, meaning, item.first("b").attributes["class"]
    yield from unlike("largest", shown, expected)


def of_grids(site: facts.Site, files: dict[str, str]) -> Iterator[str]:
    """Yield what is wrong in the tables of times: on the first page, the history and the methods' pages."""
    by_address = {history.address(case): Judge(history, case) for history in site.histories for case in history.shown}
    seen = set()
    for address in [each for each in files if each.startswith(("methods/c", "history", "index", "ja/"))]:
        for cell in read(files[address]).all("table.grid tbody td"):
            if not cell.all("a"):
                continue
            judge, below = by_address["#".join(target(address, cell.href))], cell.all("small")[-1]
            seen.add((address, judge.case))
            measured = judge.of_case.values[judge.of_case.places[-1]] if judge.of_case.places else None
            fails = "失敗" if address.startswith("ja/") else "fails"
            value = fails if judge.case in judge.history.results[-1].failures else plain(quantity(measured, judge.of_case.unit))
            shown = {"value": cell.first("a").text, "mark": below.text, "open": below.attributes.get("class") == "slower"}
            expected = {"value": value, "mark": judge.mark, "open": judge.is_slower}
            yield from unlike(f"{address}, {judge.case.name}", shown, expected)
    lost = {judge.case for judge in by_address.values()} - {case for address, case in seen if address == "history.html"}
    yield from (f"history.html: no {case.name}" for case in lost)


def of_charts(site: facts.Site, files: dict[str, str]) -> Iterator[str]:
    """Yield what is wrong in the charts of the first page and the history: their titles, values and marks of changes."""
    for history, device in [(each, device) for each in site.histories for device in each.devices]:
        judges = [Judge(history, case) for case in history.cases if case.device == device and case.spec.timed]
        sections = [read(files["history.html"]).by_id(f"{history.name}-{device}")]
        sections += [read(files["index.html"]).by_id(device)] if site.answering[device] is history else []
        for figure in [figure for section in sections for figure in section.all("figure")]:
            columns = [str(area.first("title").children[0]).split("\n") for area in figure.all("rect")]
            lines = [(str(each.attributes["data-line"]), each) for each in figure.all("g") if "data-line" in each.attributes]
            found, points = [], []
            for name, line in lines:
                head = f"{name}: " if len(lines) > 1 else ""
                values = {column[0]: text.removeprefix(head) for column in columns for text in column[1:] if text.startswith(head)}
                alike = [each for each in judges if history.code(each.case) == name and is_drawn(each, values)]
                marks = [sum(each.text == mark for each in line.all("text")) for mark in "▲▼▴▾"]
                if not any(marks == [[*map(each.sign, each.of_case.steps)].count(mark) for mark in "▲▼▴▾"] for each in alike):
                    yield f"{figure.first('figcaption').text}: {name}, {values}, {marks}"
                found += alike[:1]
                (path,) = (str(each.attributes["d"]) for each in line.all("path.p"))
                heights = [float(height) for height in re.findall(r"M[\d.]+ ([\d.]+)h0", path)]
                logs = [log(value) for each in alike[:1] for value in each.of_case.values if value]
                if alike and len(logs) != len(heights):
                    yield f"{figure.first('figcaption').text}: {name} has {len(heights)} points"
                points += [*zip(logs, heights)]
            low, high = min(points, default=(0.0, 0.0)), max(points, default=(0.0, 0.0))
            slope = (high[1] - low[1]) / (high[0] - low[0]) if high[0] > low[0] else -1.0
            if slope < -1000:  # pixels for each unit of the logarithm: a column has 202
                yield f"{figure.first('figcaption').text}: a change of 3 % looks large"
            if slope >= 0 or any(abs(low[1] + slope * (size - low[0]) - height) > 0.2 for size, height in points):
                yield f"{figure.first('figcaption').text}: higher is not slower, on a logarithmic axis"
            for tick in figure.all("text.t") if high[0] - low[0] > 0.01 else ():  # from one height none can be told
                amount, unit = str(tick.children[0]).split()
                if abs(low[1] + slope * (log(float(amount) * SECONDS[unit]) - low[0]) + 4 - float(str(tick.attributes["y"]))) > 1:
                    yield f"{figure.first('figcaption').text}: {amount} {unit} stands at another height"
            title, places = figure.first("figcaption").text, [0, len(columns) - 1]
            places = found[0].of_case.places if len(found) == 1 else places
            changes = [each.change(places[0], places[-1]) for each in found] if len(places) > 1 else []
            for word in CHANGED:
                changed = {each: change.ratio for each, change in zip(found, changes) if change and change.verdict is word}
                number = "" if len(found) == 1 else f"All {len(found)} " if len(changed) == len(found) else f"{len(changed)} .*"
                named = f", {history.code(next(iter(changed)).case)}, is " if len(changed) == 1 < len(found) else ""
                sentence = rf"{number}.*{re.escape(named)}.*\b{size_range([*changed.values()])} {word.value}" if changed else ""
                if bool(changed) != (f" % {word.value}" in title) or not re.search(sentence, title):
                    yield f"{title}: {changed.values()} {word.value}"
            verdicts = {change.verdict if change else Verdict.UNKNOWN for change in changes}
            same, unknown = "as long with" in title, "no difference between" in title
            if (same, unknown) != (verdicts == {Verdict.UNCHANGED}, Verdict.UNKNOWN in verdicts and not verdicts & {*CHANGED}):
                yield f"{title}: {verdicts}"
            if changes and not all(columns[place][0] in title for place in (places[0], places[-1])):
                yield f"{title}: not {columns[0][0]} and {columns[-1][0]}"


def is_drawn(judge: Judge, values: dict[str, str]) -> bool:
    """Return whether the values of a line are those of a case."""
    pairs = zip(judge.of_case.releases, judge.of_case.values)
    return values == {release: plain(quantity(value, judge.of_case.unit)) for release, value in pairs if value is not None}


def of_comparisons(site: facts.Site, files: dict[str, str]) -> Iterator[str]:
    """Yield what is wrong on the pages of two releases, and in the table of all of them."""
    index, place = {}, ""
    for element in read(files["compare/index.html"]).first("main"):
        place = re.match(r"(\S+) .*\((\S+), .* Python ([\d.]+)", element.text).groups() if element.tag == "h2" else place
        if element.tag == "td" and element.all("a"):
            index.setdefault((*place, target("compare/index.html", element.href)[0]), set()).add(element.text)
    for history, device in [(each, device) for each in site.histories for device in each.devices]:
        results = [each for each in history.results if any(case.device == device for case in each.timings)] or history.results
        newest = [(before, results[-1]) for before in results[:-2]] if site.answering[device] is history else []
        for before, after in (*pairwise(results), *newest):
            comparison = comparisons.between(Question(before, after, history.rules)).selected(device=device)
            if comparison.changes:
                address = f"compare/{before.version}..{after.version}.html"
                section = read(files[address]).by_id(f"{device}-{history.name}-{after.python}")
                in_index = index.get((device.upper(), history.name, after.python, address), {"none"})
                yield from (f"{address}, {device}: {fault}" for fault in of_comparison(history, comparison, section, in_index, address))


def of_comparison(history, comparison, section, in_index, address) -> Iterator[str]:
    """Yield what is wrong in the section of a comparison on one device."""
    timed = {case: change for case, change in comparison.changes.items() if change.timed}
    of = {word: [case for case, change in timed.items() if change.verdict is word] for word in Verdict}
    judges = [Judge(history, case) for word in CHANGED for case in of[word]]
    steps = [(judge, step) for judge in judges for step in judge.of_case.steps if judge.sides(step) == comparison.sides]
    back = [judge.case for judge, step in steps if timed[judge.case].verdict is Verdict.SLOWER and judge.of_case.is_back(step.index)]
    undone = [judge.case for judge, step in steps if timed[judge.case].verdict is Verdict.FASTER and judge.undone(step)]
    slower = [case for case in of[Verdict.SLOWER] if case not in back]
    expected = {"slower": len(slower), "back": len(back), "faster": len(of[Verdict.FASTER])}
    expected |= {"unchanged": len(of[Verdict.UNCHANGED]), "not decided": len(of[Verdict.UNKNOWN]), "(of": len(timed)}
    expected["fail"] = sum(change.reason.value == "failed_after" for change in timed.values())
    text = section.first("p.tally").text.replace(f"(of {len(timed)})", f"{len(timed)} (of")
    told = {word: int(number) for number, word in re.findall(rf"(\d+) ({'|'.join(map(re.escape, expected))})", text)}
    yield from unlike(text, {name: told.get(name, 0) for name in expected}, expected)
    numbers_of = (len(slower), len(back), len(of[Verdict.FASTER]), len(of[Verdict.UNKNOWN]))
    marks = [f"{mark} {number}" for mark, number in zip("▲▴▼?", numbers_of) if number]
    if not all(all(mark in cell for mark in marks) and cell.endswith(f"of {len(timed)}") for cell in in_index):
        yield f"{in_index} in the index, not {marks}"
    by_address = {history.address(case): case for case in timed}
    rows = {by_address["#".join(target(address, row["case"].href))]: row for each in section.all("table.changes") for row in table(each)}
    wanted = [case for case, change in timed.items() if change.verdict in CHANGED or change.likely]
    wanted.sort(key=lambda case: (timed[case].verdict is Verdict.FASTER, timed[case].verdict is not Verdict.SLOWER, -timed[case].factor))
    texts = {case: {title: cell.text for title, cell in row.items() if title != "case"} for case, row in rows.items()}
    yield from unlike("changed", texts, {case: of_change(timed[case], case in back, case in undone) for case in wanted})
    layout = facts.grids({case: case for case in timed})  # as a cell has a link only where its case changed
    placed = {}
    for grid in section.all("table.grid"):
        heads = [each.text for each in grid.all("thead th")][1:]
        for row in grid.all("tbody tr"):
            placed |= {(grid.first("caption").text, row.first("th").text, head): cell for head, cell in zip(heads, row.all("td"))}
    wanted = {
        (grid.title, history.code(of), head): case for grid in layout for of, row in grid.rows for head, case in zip(grid.columns, row)
    }
    if placed.keys() != wanted.keys() or {*timed} != {*filter(None, wanted.values())}:
        yield f"cells {placed.keys() ^ wanted.keys()}"
    for place in placed.keys() & wanted.keys():
        yield from of_cell(wanted[place], timed.get(wanted[place]), placed[place], place[-1], address, by_address, wanted[place] in back)


def of_change(change, is_back, is_undone) -> dict[str, str]:
    """Return the texts of a slower, faster or likely changed case by the titles of their columns."""
    word = "back to an earlier level" if is_back else f"{comparisons.word(change)}{', back to an earlier level' if is_undone else ''}"
    ratio = change.count.ratio if change.count else None
    work = "not counted" if ratio is None else "same" if 1 / 1.01 < ratio < 1.01 else signed_percent(ratio)
    return {
        "time": f"{word} {change.accepted}".strip(),
        "change": signed_percent(change.ratio),
        "interval": signed_interval(change.interval),
        "before": duration(change.before),
        "after": duration(change.after),
        "instructions": work,
    }


def of_cell(case, change, cell, head, address, by_address, is_back) -> Iterator[str]:
    """Yield what is wrong in a cell of a table of changes."""
    if case is None:
        yield from unlike(head, {"text": cell.text}, {"text": "–"})
        return
    values = [count(int(value)) if value.isdecimal() else value for _, value in case.parameters]
    if head != "value" and not {*head.split(", ")} <= {*values, *facts.told(case).split(", ")}:
        yield f"{case.name} is in the column {head}"
    css = "back" if is_back else "likely" if change.likely else change.verdict.value
    expected = {"class": css, "links": [case] if change.verdict in CHANGED or change.likely else []}
    shown = {
        "class": cell.attributes["class"],
        "links": [by_address["#".join(target(address, link.attributes["href"]))] for link in cell.all("a")],
    }
    if change.interval:
        sign = "▴ " if is_back else "? " if change.verdict is Verdict.UNKNOWN else ""
        size = f"{signed_percent(change.ratio).removesuffix(' %')} ± {50 * (change.interval[1] - change.interval[0]):.1f}"
        work = f" {signed_percent(change.count.ratio)}" if change.count and change.count.changed else ""
        shown["text"], expected["text"] = cell.text, f"{sign}{size}{work}"
    yield from unlike(case.name, shown, expected)


def of_open_cases(site: facts.Site, files: dict[str, str]) -> Iterator[str]:
    """Yield what is wrong on the page of open cases, in the badge and in the feed."""
    page = read(files["regressions.html"])
    entries = {entry.title: entry.summary for entry in feedparser.parse(files["slowdowns.xml"].encode()).entries}
    for device, history in site.answering.items():
        section = page.by_id(device)
        judges = {history.address(case): Judge(history, case) for case in history.shown if case.spec.timed and case.device == device}
        open_cases = {address: judge for address, judge in judges.items() if judge.since}
        shown = {}
        since = None
        for each in section:
            named = str(each.attributes.get("id", "")).removeprefix(f"{device}-")
            since = OpenSince[named.upper()] if each.tag == "h3" else since
            for row in table(each) if each.matches("table", "fit") else ():
                shown["#".join(target("regressions.html", row["case"].href))] = since, row
            for row in table(each) if each.matches("table", "stack") else ():
                faults = of_open_method(history, device, since, open_cases.values(), row)
                yield from (f"{device}, {row['method'].text}: {fault}" for fault in faults)
        if {address: since for address, (since, _) in shown.items()} != {address: judge.since for address, judge in open_cases.items()}:
            yield f"{device}: open cases"
        for address, (_, row) in shown.items():
            standing, step = judges[address].standing, judges[address].slowdown
            expected = {
                "compared with its fastest": f"{signed_percent(standing.ratio)} ({signed_interval(standing.cost.interval)})",
                "release": standing.best_release,
                "time then": duration(standing.times[0]),
                "time now": duration(standing.times[1]),
                "last slowdown": standing.history.releases[step.index] if step else "no single slowdown",
            }
            yield from unlike(address, {title: cell.text for title, cell in row.items() if title != "case"}, expected)
        unaccepted = [judge for judge in open_cases.values() if judge.since is not OpenSince.BACK and not judge.standing.accepted]
        news = {facts.subject(judge.case) for judge in unaccepted}
        newest = history.newest(device).version
        message = f"{counted(len(news), 'method')} on torch {newest} ({device})"
        if files["regressions.svg"].count(message) != 2:  # its label, and what is seen
            yield f"{device}: badge"
        new = {facts.subject(judge.case) for judge in open_cases.values() if judge.since is OpenSince.NEW}
        title = f"torch {newest} on {device}: {counted(len(new), 'method')} slower"
        if [entries.get(title, "").count("up to +")] != [len(new)] or (not new and f" on {device}: " in "".join(entries)):
            yield f"{device}: feed"


def of_open_method(history, device, since, judges, row) -> Iterator[str]:
    """Yield what is wrong in the row of a method that is slower: the cost of the case that has most of it, and its slowdowns that stay."""
    own = [judge for judge in judges if judge.since is since and history.code(judge.case) == row["method"].first("code").text]
    worst = max(own, key=lambda judge: judge.standing.ratio)
    if row["method"].all("small")[0].text != facts.told(worst.case) or int(row["cases"].text) != len(own):
        yield f"{row['method'].text}, {row['cases'].text} cases"
    standing, cost = worst.standing, row["compared with its fastest"].text
    if not cost.startswith(f"{signed_percent(standing.ratio)} {signed_interval(standing.cost.interval)}, {standing.best_release}"):
        yield cost
    later = [step for step in worst.of_case.steps if step.index > worst.standing.best and step.rises and not worst.meaning(step)]
    lasting = [*reversed(later)] or [*filter(None, [worst.slowdown])]
    expected = {worst.of_case.releases[step.index]: signed_percent(step.ratio) for step in lasting}
    text = row["slowdowns that no release took back"].text
    yield from unlike(text, {release: size for size, release in re.findall(r"(\+[\d.]+ %) with ([\d.]+);", text)}, expected)
    if (f"no single one since {standing.best_release} remains:" in text) != (not expected):
        yield text


def differences(site: facts.Site, files: dict[str, str]) -> list[str]:
    """Return where the files of a site say anything else than the judge."""
    return [fault for of in (of_cases, of_grids, of_charts, of_comparisons, of_open_cases) for fault in of(site, files)]


def test_every_view_says_what_the_judge_says(world_site, world_files):
    assert differences(world_site, world_files) == []


SPOILED = {  # of what is not compared text by text: a file, what is replaced there first, and by what
    "value of a chart": ("index.html", r"(<title>2\.15\.0\n[^:]*: )\d+", r"\g<1>999"),
    "axis of a chart": ("history.html", r'(<text class="t"[^>]*>)\d', r"\g<1>7"),
    "badge": ("regressions.svg", r"\d (methods?) on torch", r"9 \1 on torch"),
    "feed": ("slowdowns.xml", r"cpu: \d method", "cpu: 7 method"),
}


@pytest.mark.parametrize(("address", "pattern", "replacement"), SPOILED.values(), ids=SPOILED)
def test_a_wrong_number_in_a_picture_or_the_feed_is_noticed(world_site, world_files, address, pattern, replacement):
    text, number = re.subn(pattern, replacement, world_files[address], count=1)
    assert number, f"{address} has no {pattern}"
    assert differences(world_site, {**world_files, address: text}) != []


@pytest.mark.slow
def test_every_view_of_the_shipped_results_says_what_the_judge_says(shipped_site, published_site):
    """Also of two Pythons, and of baselines."""
    assert differences(shipped_site, files_in(published_site)) == []
