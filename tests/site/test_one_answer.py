"""Every row of every page, and of the files beside them, is read back and compared with what the judge says of the launches."""

import csv
import json
import re
from collections.abc import Iterator
from io import StringIO
from itertools import pairwise

import feedparser
import pytest

from tensorcopy.judge import case_history, comparisons, meaning
from tensorcopy.judge.comparisons import Question
from tensorcopy.judge.meaning import OpenSince
from tensorcopy.judge.paired import Verdict
from tensorcopy.numbers import quantity
from tensorcopy.site import build, facts
from tests.site import world
from tests.site.reading import Element, files_in, is_change, is_time, numbers, read, says, table, target

CHANGED = (Verdict.SLOWER, Verdict.FASTER)


class Judge:
    """What the judge says of one case, asked without the site."""

    def __init__(self, history: facts.History, case: facts.Case) -> None:
        self.history, self.case, self.of_case = history, case, history.cases[case]
        self.steps = {self.of_case.sides_of(step)[1]: step for step in self.of_case.all_steps}
        self.standing = case_history.standing(self.of_case)
        self.counts = history.cases.get(comparisons.counted_case(case)) if case.spec.timed else None
        self.sides = {after: before for axis in history.axes for before, after in pairwise((None, *axis))}

    @property
    def since(self) -> OpenSince | None:
        """When it became slower, where it is open."""
        return meaning.open_since(self.standing, self.counts) if self.standing and self.standing.is_open else None

    def change(self, result):
        before = self.sides[result]
        return before and comparisons.between(Question(before, result, self.history.rules)).changes.get(self.case)

    def mark(self) -> str | float:
        """What stands below its newest time: the cost of an open case, or else the last step's ratio, "=" or "?"."""
        if self.since not in (None, OpenSince.BACK):
            return self.standing.ratio
        if self.case.tracked and self.of_case.all_steps:
            step = self.of_case.all_steps[-1]
            return f"{'▲' if step.rises else '▼'} {self.of_case.releases[step.index]}"
        return self.of_case.all_steps[-1].ratio if self.of_case.all_steps else "?" if self.of_case.unknown else "="

    def faults_of(self, row: dict[str, str]) -> Iterator[str]:
        """Yield what is wrong in a row of the case with a release."""
        axes = [result for axis in self.history.axes for result in axis]
        result = next((each for each in axes if (each.version, each.python) == (row["release"], row["python"])), None)
        if row["value"] == "fails":
            if row["launches"] != " ".join(result.failures[self.case].split()):
                yield "failure"
            return
        change, step = self.change(result), self.steps.get(result)
        sized = change if change and change.interval else None
        if not self.case.spec.timed:
            if row["value"] != quantity(result.measured(self.case).value, self.of_case.unit).replace("\u2009", " "):
                yield "value"
            return
        if not is_time(row["value"], result.timings[self.case].seconds):
            yield "value"
        ratio = step.ratio if step else sized.ratio if sized else None
        if not is_change(row["change"].partition(" against")[0].partition(" on Python")[0], [ratio]) if ratio else row["change"]:
            yield "change"
        if row["verdict"] != ("" if not step else "slower" if step.rises else "faster"):
            yield "verdict"
        if not is_change(row["interval"], sized.interval) if sized else row["interval"]:
            yield "interval"
        detectable = change.detectable if change else None
        if not says(row["detectable"], [detectable], 0.01) if detectable is not None else row["detectable"]:
            yield "detectable"
        count = result.count_of(self.case)
        if not says(row["instructions"].replace(" ", ""), [count.value]) if count else row["instructions"]:
            yield "instructions"
        times = result.column.launch_times(self.case)
        amount, _, ends = row["launches"].partition(": ")
        unit = ends.split()[-1]
        shortest, *longest = (text if text[-1] == "s" else f"{text} {unit}" for text in ends.split(" to "))
        if int(amount) != len(times) or not is_time(shortest, min(times)) or not is_time((longest or [shortest])[0], max(times)):
            yield "launches"
        if result in self.of_case.results and step and step.only_on == "":
            index = self.of_case.results.index(result)
            back = meaning.is_back(self.of_case, index, self.counts)
            later = meaning.taken_back(self.of_case, index)
            if row["meaning"] != ("back to an earlier level" if back else f"taken back by {later}" if later else ""):
                yield "meaning"

    def missing(self, rows: list[dict[str, str]]) -> list[str]:
        """Return the releases of which there is no row: those of its history, with every failure, and each change."""
        shown = {(row["release"], row["python"]) for row in rows if row["value"] != "fails"}
        failing = {row["release"] for row in rows if row["value"] == "fails"}
        expected = [each for each in self.of_case.results if each.measured(self.case)] + [*self.steps]
        lost = [each.version for each in expected if (each.version, each.python) not in shown]
        return lost + [each.version for each in self.history.results if self.case in each.failures and each.version not in failing]


def text_row(cells: dict[str, Element]) -> dict[str, str]:
    """Return a row of a method's page under the names of the columns of the CSV file."""
    small = cells["change"].all("small")
    meaning_text = small[0].text if small else ""
    row = {"release": "torch", "python": "Python", "value": "value", "change": "change", "interval": "interval"}
    row |= {"detectable": "detectable", "instructions": "instructions", "launches": "launches"}
    texts = {name: cells[head].text for name, head in row.items()}
    return {
        **texts,
        "change": texts["change"].removesuffix(meaning_text).strip(),
        "verdict": cells["change"].attributes.get("class") or "",
        "meaning": meaning_text,
        "instructions_change": cells["change 2"].text,
    }


def of_cases(site: facts.Site, files: dict[str, str]) -> Iterator[str]:
    """Yield what is wrong in the rows of the methods' pages, in the CSV and in the JSON files."""
    in_csv: dict[str, list[dict[str, str]]] = {}
    for history in site.histories:
        for row in csv.DictReader(StringIO(files[f"data/{history.name}.csv"])):
            plain = {name: " ".join(text.lstrip("'").split()) for name, text in row.items()}  # a quote, so that no program runs it
            in_csv.setdefault(f"{history.name} {row['case']}", []).append(plain)
    for subject, device, histories in site.subjects():
        address = facts.subject_address(subject, device)
        sections = read(files[address]).first("main").all("section")
        assert len(sections) == len(histories)
        for history, section in zip(histories, sections):
            link = next(each.attributes["href"] for each in section.all("a") if each.text == "Every launch as JSON")
            document = json.loads(files[target(address, link)[0]])
            folds = {each.first("div").attributes.get("id"): each for each in section.all("details")}
            for case in [each for each in history.shown if history.subject(each) == subject and each.device == device]:
                judge, fold, place = Judge(history, case), folds[history.anchor(case)], f"{history.name} {case.name}"
                rows = [text_row(cells) for cells in table(fold.first("table"))]
                for name, shown in (("page", rows), ("csv", in_csv[place])):
                    yield from (f"{place}, {name}: {fault} {row}" for row in shown for fault in judge.faults_of(row))
                    yield from (f"{place}, {name}: no row of {each}" for each in judge.missing(shown))
                if [row["instructions_change"] for row in rows] != [row["instructions_change"] for row in in_csv[place]]:
                    yield f"{place}: instructions"
                yield from (f"{place}: {fault}" for fault in of_summary(judge, fold))
                for result, release in zip(judge.of_case.results, judge.of_case.releases):
                    stored, measured = document[case.name]["releases"].get(release), result.measured(case)
                    if case.spec.timed and measured:
                        times = result.column.launch_times(case)
                        if stored["value"] != pytest.approx(measured.value, rel=1e-5) or stored["launches"] != pytest.approx(
                            times, rel=1e-5
                        ):
                            yield f"{place}: launches in JSON"


def of_summary(judge: Judge, fold: Element) -> Iterator[str]:
    """Yield what is wrong above the table of a case: against the first release, and the largest changes."""
    if not judge.case.spec.timed:
        return
    measured = [index for index, value in enumerate(judge.of_case.values) if value is not None]
    overall = judge.of_case.change(measured[0], measured[-1]) if len(measured) > 1 else None
    text = fold.first("div").all("p")[0].text if overall else ""
    word = next((word for word in ("faster than", "slower than", "as fast as", "not told apart") if word in text), "")
    expected = {Verdict.UNCHANGED: "as fast as", Verdict.UNKNOWN: "not told apart"}
    if overall and word != expected.get(overall.verdict, f"{overall.verdict.value} than"):
        yield f"overall {text}"
    if overall and overall.verdict in CHANGED and not says(re.search(r"is (\S+ %)", text)[1], [abs(overall.ratio - 1)], 0.01):
        yield f"overall {text}"
    largest = sorted(judge.of_case.steps, key=lambda step: -step.size)[:3]
    shown = {}
    for item in [each for each in fold.first("div").all("li") if each.all("b")]:
        shown[re.search(r"with ([\d.]+?)[,;]", item.text)[1]] = item.first("b").text
    if {judge.of_case.releases[step.index] for step in largest} != set(shown):
        yield f"largest {shown}"
    yield from (f"largest {step}" for step in largest if not is_change(shown[judge.of_case.releases[step.index]], [step.ratio]))


def of_grids(site: facts.Site, files: dict[str, str]) -> Iterator[str]:
    """Yield what is wrong in the tables of times: on the first page, the history and the methods' pages."""
    by_address = {history.address(case): Judge(history, case) for history in site.histories for case in history.shown}
    seen = set()
    for address in [each for each in files if each.startswith(("methods/c", "history", "index", "ja/"))]:
        for cell in read(files[address]).all("table.grid tbody td"):
            if not cell.all("a"):
                continue
            judge, below = by_address["#".join(target(address, cell.href))], cell.all("small")[-1].text
            seen.add((address, judge.case))
            value, mark = cell.first("a").text, judge.mark()
            measured = next(value for value in reversed(judge.of_case.measured) if value is not None)
            fails = judge.case in judge.history.axes[0][-1].failures
            if value not in ("fails", "失敗") if fails else not (is_time(value, measured) or not judge.case.spec.timed):
                yield f"{address}: {judge.case.name} is {value}"
            if below != mark if isinstance(mark, str) else not says(re.search(r"\S+ %", below)[0], [mark - 1], 0.01):
                yield f"{address}: {judge.case.name} has {below}"
            if ("slower" in str(cell.all("small")[-1].attributes.get("class"))) != (judge.since not in (None, OpenSince.BACK)):
                yield f"{address}: {judge.case.name} is open or not"
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
            found = []
            for name, line in lines:
                head = f"{name}: " if len(lines) > 1 else ""
                values = {column[0]: text.removeprefix(head) for column in columns for text in column[1:] if text.startswith(head)}
                alike = [each for each in judges if history.code(each.case) == name and is_drawn(each, values, figure)]
                marks = [sum(each.text == mark for each in line.all("text")) for mark in "▲▼"]
                if not any(marks == [sum(step.rises is rises for step in each.of_case.steps) for rises in (True, False)] for each in alike):
                    yield f"{figure.first('figcaption').text}: {name}, {values}, {marks}"
                found += alike[:1]
            title, changes = figure.first("figcaption").text, [each.of_case.change(0, len(each.of_case.values) - 1) for each in found]
            expected = []
            for word in CHANGED:
                sizes = sorted(abs(change.ratio - 1) for change in changes if change and change.verdict is word)
                if sizes:
                    expected += [len(sizes), *dict.fromkeys((sizes[0], sizes[-1]))]
                if sizes and not re.search(rf"\b{len(sizes)} (of {len(found)} )?.*{word.value}", title):
                    yield f"{title}: {sizes} {word.value}"
                sentence = re.search(rf"([\d.]+(?: to [\d.]+)?) % {word.value}", title)
                if bool(sizes) != bool(sentence) or (sizes and not says(sentence[1], [*dict.fromkeys((sizes[0], sizes[-1]))], 0.01)):
                    yield f"{title}: {sizes} {word.value}"
            if not all(column[0] in title for column in (columns[0], columns[-1])):
                yield f"{title}: not {columns[0][0]} and {columns[-1][0]}"


def is_drawn(judge: Judge, values: dict[str, str], figure: Element) -> bool:
    """Return whether the values of a line are those of a case."""
    measured = {release: value for release, value in zip(judge.of_case.releases, judge.of_case.values) if value is not None}
    return measured.keys() == values.keys() and all(is_time(values[release], value) for release, value in measured.items())


def of_comparisons(site: facts.Site, files: dict[str, str]) -> Iterator[str]:
    """Yield what is wrong on the pages of two releases, and in the table of all of them."""
    index, place = {}, ""
    for element in read(files["compare/index.html"]).first("main"):
        place = re.match(r"(\S+) .*\((\S+), Python (\S+)\)$", element.text).groups() if element.tag == "h2" else place
        if element.tag == "td" and element.all("a"):
            index.setdefault((*place, target("compare/index.html", element.href)[0]), set()).add(element.text)
    for history in site.histories:
        for axis in history.axes:
            newest = [(before, axis[-1]) for before in axis[:-2]] if axis[-1].version == history.releases[-1] else []
            for before, after in (*pairwise(axis), *newest):
                whole = comparisons.between(Question(before, after, history.rules))
                for device in history.devices:
                    comparison = whole.selected(device=device)
                    if comparison.changes:
                        address = f"compare/{before.version}..{after.version}.html"
                        section = read(files[address]).by_id(f"{device}-{history.name}-{after.python}")
                        yield from (
                            f"{address}, {device}: {fault}"
                            for fault in of_comparison(
                                history, comparison, section, index[device.upper(), history.name, axis[-1].python, address], address
                            )
                        )


def of_comparison(history, comparison, section, in_index, address) -> Iterator[str]:
    """Yield what is wrong in the section of a comparison on one device."""
    timed = {case: change for case, change in comparison.changes.items() if change.timed}
    of = {word: [case for case, change in timed.items() if change.verdict is word] for word in Verdict}
    judges = {case: Judge(history, case) for case in timed if case in history.cases}
    places = {
        case: judge.of_case.results.index(comparison.after) for case, judge in judges.items() if comparison.after in judge.of_case.results
    }
    back = [
        case
        for case in of[Verdict.SLOWER]
        if places.get(case)
        and judges[case].of_case.sides(places[case]) == comparison.sides
        and meaning.is_back(judges[case].of_case, places[case], judges[case].counts)
    ]
    slower = [case for case in of[Verdict.SLOWER] if case not in back]
    text = section.first("p.tally").text
    told = {word: int(number) for number, word in re.findall(r"(\d+) (slower|back|faster|unchanged|not decided|fail)", text)}
    expected = {"slower": len(slower), "back": len(back), "faster": len(of[Verdict.FASTER])}
    expected |= {"unchanged": len(of[Verdict.UNCHANGED]), "not decided": len(of[Verdict.UNKNOWN])}
    expected["fail"] = sum(change.reason.value == "failed_after" for change in timed.values())
    if {name: told.get(name, 0) for name in expected} != expected or f"(of {len(timed)})" not in text:
        yield text
    marks = [f"{mark} {number}" for mark, number in zip("▲△▼", (len(slower), len(back), len(of[Verdict.FASTER]))) if number]
    if not all(all(mark in cell for mark in marks) and cell.endswith(f"of {len(timed)}") for cell in in_index):
        yield f"{in_index} in the index, not {marks}"
    by_address = {history.address(case): case for case in timed}
    rows = {by_address["#".join(target(address, row["case"].href))]: row for each in section.all("table.changes") for row in table(each)}
    wanted = {case for case, change in timed.items() if change.verdict in CHANGED or change.likely}
    if set(rows) != wanted:
        yield f"changed cases {[case.name for case in wanted ^ set(rows)]}"
    order = [(timed[case].verdict is Verdict.FASTER, timed[case].verdict is not Verdict.SLOWER, -timed[case].factor) for case in rows]
    if order != sorted(order):
        yield f"order of {[case.name for case in rows]}"
    for case, row in rows.items():
        change, word = timed[case], row["time"].text
        if not word.startswith(comparisons.word(change)) or ("back to" in word) != (case in back) or change.acknowledged not in word:
            yield f"{case.name} is {word}"
        if not is_change(row["change"].text, [change.ratio]) or not is_change(row["interval"].text, change.interval):
            yield f"{case.name}: {row['change'].text}, {row['interval'].text}"
        if not is_time(row["before"].text, change.before) or not is_time(row["after"].text, change.after):
            yield f"{case.name}: {row['before'].text}, {row['after'].text}"
        work = row["instructions"].text
        ratio = change.count.ratio if change.count else None
        is_right = work == "not counted" if ratio is None else work == "same" if 1 / 1.01 < ratio < 1.01 else is_change(work, [ratio])
        if not is_right:
            yield f"{case.name}: {work} instructions"
    cells = {by_address["#".join(target(address, each.href))]: each for each in section.all("table.grid td") if each.all("a")}
    if set(cells) != set(timed):
        yield f"no cell of {[case.name for case in set(timed) ^ set(cells)]}"
    for case, cell in cells.items():
        change = timed[case]
        if change.interval and not says(cell.first("a").text, [change.ratio - 1, (change.interval[1] - change.interval[0]) / 2], 0.01):
            yield f"{case.name} {cell.text}"
        work = cell.all("small")[0].text if cell.all("small") else ""
        if not is_change(work, [change.count.ratio]) if change.count and change.count.changed else work:
            yield f"{case.name}: {work} instructions"
        if cell.attributes["class"] != ("likely" if change.likely else change.verdict.value):
            yield f"{case.name} {cell.attributes}"


def of_open_cases(site: facts.Site, files: dict[str, str]) -> Iterator[str]:
    """Yield what is wrong on the page of open cases, in the badge and in the feed."""
    page = read(files["regressions.html"])
    entries = {entry.title: entry.summary for entry in feedparser.parse(files["slowdowns.xml"].encode()).entries}
    for device, history in site.answering.items():
        section = page.by_id(device)
        judges = {history.address(case): Judge(history, case) for case in history.shown if case.spec.timed and case.device == device}
        expected = {address: judge for address, judge in judges.items() if judge.since}
        shown = {}
        for since in OpenSince:
            heading = [each for each in section if each.attributes.get("id") == f"{device}-{since.name.lower()}"]
            nodes = list(section)
            following = nodes[nodes.index(heading[0]) + 1 :] if heading else []
            until = next((place for place, each in enumerate(following) if each.tag == "h3"), len(following))
            for row in [row for each in following[:until] if each.matches("table", "fit") for row in table(each)]:
                shown["#".join(target("regressions.html", row["case"].href))] = since, row
            for row in [row for each in following[:until] if each.matches("table", "stack") for row in table(each)]:
                yield from (
                    f"{device}, {row['method'].text}: {fault}" for fault in of_open_method(history, device, since, expected.values(), row)
                )
        if {address: since for address, (since, _) in shown.items()} != {address: judge.since for address, judge in expected.items()}:
            yield f"{device}: open cases"
        for address, (_, row) in shown.items():
            standing, cost = judges[address].standing, row["compared with its fastest"].text
            if not is_change(cost.partition(" (")[0] + "", [standing.ratio]) and not says(
                cost, [standing.ratio - 1, *(each - 1 for each in standing.cost.interval)], 0.01
            ):
                yield f"{address} costs {cost}"
            if row["release"].text != standing.best_release or not is_time(row["time then"].text, standing.times[0]):
                yield f"{address} was {row['time then'].text}"
            if not is_time(row["time now"].text, standing.times[1]) or row["slower since"].text != (
                ", ".join(standing.since) or "crept up"
            ):
                yield f"{address} is {row['time now'].text} since {row['slower since'].text}"
        by_since = {since: {history.subject(judge.case) for judge in expected.values() if judge.since is since} for since in OpenSince}
        counted = set().union(*(by_since[since] for since in OpenSince if since is not OpenSince.BACK))
        newest = history.newest(device).version
        if files["regressions.svg"].count(f"{len(counted)} on torch {newest} ({device})") != 2:  # its label, and what is seen
            yield f"{device}: badge"
        new = by_since[OpenSince.NEW]
        title = next((title for title in entries if title.startswith(f"torch {newest} on {device}: {len(new)} ")), None)
        if bool(new) != bool(title) or (title and len(numbers(entries[title].partition("; ")[2])) < len(new)):
            yield f"{device}: feed"


def of_open_method(history, device, since, judges, row) -> Iterator[str]:
    """Yield what is wrong in the row of a method that is slower: its largest slowdown and cost over all of its cases."""
    own = [judge for judge in judges if judge.since is since and history.code(judge.case) == row["method"].text]
    steps = [(step, judge) for judge in own for step in judge.standing.open]
    if since is OpenSince.NEW:
        steps = [each for each in steps if each[0].index == each[1].standing.newest]
    text = row["biggest single slowdown"].text
    if steps:
        step, judge = max(steps, key=lambda each: each[0].ratio)
        if not says(text, [step.ratio - 1, *(end - 1 for end in step.interval or ())], 0.01):
            yield text
        if row["with torch"].text != judge.of_case.releases[step.index]:
            yield row["with torch"].text
    elif "crept up" not in text:
        yield text
    worst = max(judge.standing.ratio for judge in own)
    if int(row["cases"].text) != len(own):
        yield row["cases"].text
    if not re.match(r"\+[\d.]+ %", cost := row["compared with its fastest"].text) or not is_change(re.match(r"\S+ %", cost)[0], [worst]):
        yield cost


def differences(site: facts.Site, files: dict[str, str]) -> list[str]:
    """Return where the files of a site say anything else than the judge."""
    return [fault for of in (of_cases, of_grids, of_charts, of_comparisons, of_open_cases) for fault in of(site, files)]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return world.site_of(world.write(tmp_path_factory.mktemp("world")))


@pytest.fixture(scope="module")
def files(site):
    return dict(build.files(site))


def test_every_view_says_what_the_judge_says(site, files):
    assert differences(site, files) == []


SPOILED = {  # a file, what is replaced there first, and by what: a number, a verdict or a row of each view
    "time of a case": ("methods/cpu/tensor.html", r"<td>2\.(\d+ µs</td>)", r"<td>3.\1"),
    "change of a case": ("methods/cpu/tensor.html", r'<td class="slower">\+10', '<td class="slower">+11'),
    "verdict of a case": ("methods/cpu/tensor.html", r'<td class="slower">\+10', '<td class="faster">+10'),
    "interval of a case": ("methods/cpu/tensor.html", r'(<td class="slower">.*?<td>\+)\d', r"\g<1>5"),
    "meaning of a case": ("methods/cpu/new_tensor.html", r" <small>back to an earlier level</small></td>", "</td>"),
    "taken back": (
        "methods/cpu/detach_clone.html",
        r"<small>taken back by 2\.13\.0</small></td>",
        "<small>taken back by 2.14.1</small></td>",
    ),
    "launches of a case": ("methods/cpu/tensor.html", r"<td>12: 2\.", "<td>12: 1."),
    "instructions of a case": ("methods/cpu/tensor.html", r"<td>5.600</td>", "<td>5 500</td>"),
    "a row of a case": ("methods/cpu/tensor.html", r'<tr><th scope="row">2\.12\.1</th>.*?</tr>', ""),
    "largest change": ("methods/cpu/tensor.html", r'<b class="slower">\+10', '<b class="slower">+12'),
    "against the first": ("methods/cpu/clone_detach.html", r"faster than 2\.11\.0", "slower than 2.11.0"),
    "CSV": ("data/box.csv", r",2\.(\d+ µs)", r",3.\1"),
    "JSON": ("data/box/cpu/tensor.json", r'"launches":\[2', '"launches":[3'),
    "grid of the first page": ("index.html", r">2\.(\d+ µs)", r">3.\1"),
    "grid of the history": ("history.html", r'<small class="slower">\+10', '<small class="slower">+11'),
    "title of a chart": ("history.html", r"(<figcaption>.*?)[\d.]+(\u202f% slower)", r"\g<1>1.5\2"),
    "value of a chart": ("index.html", r"(<title>2\.15\.0\n[^:]*: )\d+", r"\g<1>999"),
    "mark of a chart": ("history.html", r"▲", "▼"),
    "largest slowdown": ("regressions.html", r'<b class="slower">\+\d+', '<b class="slower">+77'),
    "tally": ("compare/2.14.1..2.15.0.html", r'(<p class="tally">.*?)\d slower', r"\g<1>9 slower"),
    "row of a comparison": ("compare/2.14.1..2.15.0.html", r">\+\d+\.(\d) to", r">+5.\1 to"),
    "cell of a comparison": ("compare/2.14.1..2.15.0.html", r"\+10(\.\d) ± 0", r"−10\1 ± 0"),
    "comparisons": ("compare/index.html", r"▲ \d", "▲ 9"),
    "cost": ("regressions.html", r"<td>\+\d+\.", "<td>+99."),
    "since": ("regressions.html", r"<td>2\.12\.1</td></tr>", "<td>2.13.0</td></tr>"),
    "badge": ("regressions.svg", r"\d on torch", "9 on torch"),
    "feed": ("slowdowns.xml", r"cpu: \d method", "cpu: 7 method"),
}


@pytest.mark.parametrize(("address", "pattern", "replacement"), SPOILED.values(), ids=SPOILED)
def test_a_wrong_number_in_any_view_is_noticed(site, files, address, pattern, replacement):
    text, count = re.subn(pattern, replacement, files[address], count=1, flags=re.DOTALL)
    assert count, f"{address} has no {pattern}"
    assert differences(site, {**files, address: text}) != []


@pytest.mark.slow
def test_every_view_of_the_shipped_results_says_what_the_judge_says(shipped_site, published_site):
    """Also of two Pythons, and of baselines."""
    assert differences(shipped_site, files_in(published_site)) == []
