"""What the first page, the chooser and the methods' pages say of methods is what `recommend.table` says, on each device."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from math import log

import pytest

from tensorcopy.copying import recommend
from tensorcopy.copying.recommend import CopyRequest, Table
from tensorcopy.judge.methods import Word
from tensorcopy.numbers import count
from tensorcopy.site import build, facts
from tests.conftest import ROOT
from tests.site import world
from tests.site.reading import Element, files_in, is_time, read, says

CHANGED = (Word.SLOWER, Word.FASTER)
SMALL, LARGE = 2**7, 2**17  # elements, beside an answer


def tables(site: facts.Site, device: str) -> dict[CopyRequest, Table]:
    """Return the recommendations for a device by request."""
    evidence = recommend.of_result(site.answering[device].newest(device), device)
    return {request: recommend.table(evidence, request) for request in recommend.requests(device)}


def requested(part: str) -> CopyRequest:
    """Return the request that the chooser names in words."""
    device, made, own, grad, *flows = part.split("; ")
    keeps = {"gradients flow back": True, "out of the graph": False}[flows[0]] if flows else None
    to = {"a tensor": "tensor", "an ndarray": "ndarray"}[made]
    return CopyRequest(to, own == "own memory", keeps, grad == "x requires grad", device.lower())


def of_choices(site: facts.Site, files: dict[str, str]) -> Iterator[str]:
    """Yield what is wrong in the tables of the chooser."""
    sections = {requested(str(each.attributes["data-part"])): each for each in read(files["choose.html"]).all("section")}
    expected = {request: of for device in site.answering for request, of in tables(site, device).items()}
    if sections.keys() != expected.keys():
        yield "requests"
    for request, of in expected.items():
        section = sections[request]
        if of.code != (section.all("p.lead")[0].all("code")[0].text if of.code else ""):
            yield f"{request}: not {of.code}"
        if of.rows:
            yield from (f"{request}: {fault}" for fault in of_table(of, section.first("table")))
        tensors = dict.fromkeys((each.dtype, each.layout) for each in of.evidence.timed)
        asked = [replace(request, dtype=dtype, layout=layout) for dtype, layout in tensors]
        others = [each for each in (recommend.table(of.evidence, other) for other in asked) if each.columns and each.timed == each.request]
        folded = {f"{each.request.dtype}, {each.request.layout}": each for each in others if each.request != request}
        shown = {heading.text: element for fold in section.all("details") for heading, element in zip(fold.all("h3"), fold.all("table"))}
        if shown.keys() != folded.keys():
            yield f"{request}: {[*shown]}, not {[*folded]}"
        yield from (f"{request}, {tensor}: {fault}" for tensor, each in folded.items() for fault in of_table(each, shown[tensor]))


def of_table(of: Table, element: Element) -> Iterator[str]:
    """Yield what is wrong in a table of methods by sizes."""
    if [head.text for head in element.all("thead th")][1:] != ([count(column.numel) for column in of.columns] or ["time"]):
        yield "sizes"
    rows = element.all("tbody tr")
    if [row.first("code").text for row in rows] != [row.code for row in of.rows]:
        yield "methods"
    for row, shown in zip(of.rows, rows):
        caveats = "; ".join(caveat.partition(": ")[0] for caveat in row.caveats)
        if shown.first("th").text != f"{row.code} {caveats}".strip():
            yield f"{row.code}: {shown.first('th').text}"
        for column, cell in zip(of.columns, shown.all("td")):
            timed, css = column.cells.get(row.method), str(cell.attributes.get("class")).split()
            against = timed.against if timed else None
            if not is_time(" ".join(cell.text.split()[:2]), timed.seconds) if timed else cell.text != "–":
                yield f"{row.code}: {cell.text}"
            if ("use" in css) != (column.recommended == row.method):
                yield f"{row.code}, {column.numel}: framed or not"
            is_tinted = column.recommended == row.method or (against is not None and against.word in (Word.AS_FAST, Word.FASTER))
            if ("best" in css) != is_tinted:
                yield f"{row.code}, {column.numel}: tinted or not"
            word = " ".join(cell.text.split()[2:])
            if not against:
                is_right = word in ("", "–")
            elif against.word in CHANGED:
                is_right = word.startswith(f"{against.word.value} ×") and says(word.replace("–", " "), against.interval)
            elif against.word is Word.NOT_TOLD_APART:
                is_right = word.startswith("not told apart") and says(word, [against.seen])
            else:
                is_right = word == against.word.value
            if not is_right:
                yield f"{row.code}, {column.numel}: {word}, not {against}"


def of_first_page(site: facts.Site, files: dict[str, str]) -> Iterator[str]:
    """Yield what is wrong in the answers of the first page, and in its tints."""
    for device, history in site.answering.items():
        block, of_device = read(files["index.html"]).by_id(device), tables(site, device)
        asked = [recommend.common_request("tensor", device), CopyRequest("tensor", True, True, True, device)]
        of = {request: of_device[request] for request in (*asked, recommend.common_request("ndarray", device)) if of_device[request].rows}
        rows = block.first("table.answers").all("tr")
        if len(rows) != len(of):
            yield f"{device}: {len(rows)} answers"
        for row, table in zip(rows, of.values()):
            yield from (f"{device}: {fault}" for fault in of_answer(table, row))
        by_address = {history.address(case): case for case in history.cases}
        tinted = {}  # by method, size and whether x requires grad
        for grad in (True, False):
            for to in ("tensor", "ndarray"):
                request = replace(recommend.common_request(to, device), requires_grad=grad)
                table = recommend.table(next(iter(of_device.values())).evidence, request)
                for column in table.columns if table.timed.requires_grad is grad else ():
                    for name, cell in column.cells.items():
                        is_best = name == column.recommended or bool(cell.against and cell.against.word is Word.AS_FAST)
                        tinted[name, str(column.numel), str(grad)] = is_best
        for cell in [each for each in block.all("table.grid td") if each.all("a")]:
            values = {"requires_grad": "False", **dict(by_address[cell.href].parameters)}
            key = values["method"], values["numel"], values["requires_grad"]
            if ("best" in str(cell.attributes.get("class"))) != tinted.get(key, False):
                yield f"{device}: {key} is tinted or not"


def of_answer(table: Table, row: Element) -> Iterator[str]:
    """Yield what is wrong in an answer: its code, what it does, its cost, and how others compare."""
    method, text = table.rows[0].method, row.all("td")[1].text
    seen = table.evidence.methods[method]["observed"][table.request.device]["with_grad"]
    if row.first("td").first("code").text != table.code:
        yield f"{row.text}: not {table.code}"
    marks = {"own memory": not seen["shares_storage"], "no warning": not seen["warns"]}
    if table.request.to == "tensor":
        marks |= {"in the graph": seen["keeps_graph"], "out of the graph": not seen["keeps_graph"]}
    yield from (f"{table.code}: {mark}" for mark, holds in marks.items() if any(mark in each.text for each in row.all("span.ok")) != holds)
    by_size = {column.numel: column.cells for column in table.columns}
    nearest = [min(by_size, key=lambda each: abs(log(each / numel))) for numel in (SMALL, LARGE) if by_size]
    columns = [numel for numel in dict.fromkeys(nearest) if method in by_size[numel]]
    costs = [each.text for each in row.all("b")][: len(columns)]
    if not all(is_time(cost, by_size[numel][method].seconds) for numel, cost in zip(columns, costs)) or len(costs) != len(columns):
        yield f"{table.code} costs {costs}"
    if ("timed for an x without grad" in text) != (bool(columns) and not table.timed.requires_grad):
        yield f"{table.code}: {text}"
    for other in table.rows[1:]:
        if f"{other.code}: " in text:
            told = text.partition(f"{other.code}: ")[2].partition(". ")[0]
            ratios = {column.numel: cell.against for column in table.columns if (cell := column.cells.get(other.method)) and cell.against}
            slower = {numel: each.ratio for numel, each in ratios.items() if each.word is Word.SLOWER}
            large = {numel: ratio for numel, ratio in slower.items() if ratio >= 1.1} or slower
            words = {each.word for each in ratios.values()} - {Word.TOO_FEW_LAUNCHES}
            if slower:
                ends = sorted({float(f"{ratio:.2g}") for ratio in (min(large.values()), max(large.values()))})
                is_right = told.startswith("takes ") and says(told.partition(" × ")[0], ends)
                is_right &= (f"up to {count(max(large))}" in told) == (max(large) < max(ratios))
            else:
                is_right = told.startswith("as fast" if words == {Word.AS_FAST} else "cannot be told apart")
            if not is_right or ("and warns" in told) != any(each.startswith("warns") for each in other.caveats):
                yield f"{other.code} {told}"


def of_method_pages(site: facts.Site, files: dict[str, str]) -> Iterator[str]:
    """Yield what is wrong in how a method's page compares it with the recommended one."""
    for device in site.answering:
        for method in [each for each in site.methods if facts.subject_address(each, device) in files]:
            items = [item.text for item in read(files[facts.subject_address(method, device)]).all("li")]
            for request, of in tables(site, device).items():
                if of.timed != request or not any(method in column.cells for column in of.columns):
                    continue
                made = f"A{'n ndarray' if request.to == 'ndarray' else ' tensor'} {'with its own' if request.own else 'that shares'}"
                grad = "x requires grad:" if request.requires_grad else "x requires no grad:"
                (text,) = [item for item in items if item.startswith(made) and grad in item]
                timed = [
                    (column.recommended, column.cells[method].against, column.numel) for column in of.columns if method in column.cells
                ]
                runs = [[*run] for _, run in groupby(timed, key=lambda each: (each[0], each[1] and each[1].word))]
                shown, said = [part.strip(" .") for part in re.split(r" , ", text.partition(grad)[2])], ""
                if len(shown) != len(runs):
                    yield f"{method}, {device}: {text}"
                for part, run in zip(shown, runs):
                    first, against, _ = run[0]
                    sizes = " to ".join(dict.fromkeys(count(run[place][2]) for place in (0, -1)))
                    words = "this is the recommended form" if first == method else against.word.value
                    said = f"against {of.row(first).code} " if part.startswith("against") else said
                    ratios = sorted(each.ratio for _, each, _ in run) if against and against.word in CHANGED else []
                    ends = sorted({round(ratio, 2) for ratio in (ratios[0], ratios[-1])}) if ratios else []
                    told = part.removeprefix(said).removesuffix(sizes)
                    if not told.startswith(words) or not part.endswith(sizes) or not says(told.removeprefix(words), ends):
                        yield f"{method}, {device}: {part}, not {said}{words} {ends} {sizes}"
                    if first != method and said != f"against {of.row(first).code} ":
                        yield f"{method}, {device}: {part} is said of another than {first}"


def differences(site: facts.Site, files: dict[str, str]) -> list[str]:
    """Return where the pages say anything else of methods than `recommend.table`."""
    return [fault for of in (of_choices, of_first_page, of_method_pages) for fault in of(site, files)]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return world.site_of(world.write(tmp_path_factory.mktemp("world")))


@pytest.fixture(scope="module")
def files(site):
    return dict(build.files(site))


def test_every_page_compares_methods_as_the_recommendation_does(site, files):
    assert {
        cell.against.word for of in tables(site, "cpu").values() for column in of.columns for cell in column.cells.values() if cell.against
    } == {*Word} - {Word.TOO_FEW_LAUNCHES}
    assert differences(site, files) == []


SPOILED = {  # a file, what is replaced there first, and by what
    "code of a choice": ("choose.html", r"Use <code data-copy>x\.detach\(\)\.clone\(\)", "Use <code data-copy>x.clone().detach()"),
    "time of a choice": ("choose.html", r'">\d\.(\d+ µs)', r'">7.\1'),
    "word of a choice": ("choose.html", r"<small>slower</small>", "<small>as fast</small>"),
    "ratio of a choice": ("choose.html", r"<small>× 1\.(\d)", r"<small>× 3.\1"),
    "frame of a choice": ("choose.html", r'class="use best"', 'class="best"'),
    "code of an answer": ("index.html", r"<code data-copy>x\.detach\(\)\.numpy\(\)\.copy\(\)", "<code data-copy>x.numpy()"),
    "mark of an answer": ("index.html", r">out of the graph<", ">in the graph: gradients flow back<"),
    "cost of an answer": ("index.html", r"<b>\d", "<b>7"),
    "other of an answer": ("index.html", r"takes 1\.5 × as long", "takes 1.3 × as long"),
    "tint": ("index.html", r'<td class="best">', "<td>"),
    "word of a method": ("methods/cpu/tensor.html", r"\bslower \(× ", "as fast (× "),
    "recommended form": (
        "methods/cuda/detach_clone.html",
        r"this is the recommended form",
        "against <code>x</code> slower (× 2) <small>2⁷</small>",
    ),
}


@pytest.mark.parametrize(("address", "pattern", "replacement"), SPOILED.values(), ids=SPOILED)
def test_a_wrong_word_or_number_about_a_method_is_noticed(site, files, address, pattern, replacement):
    text, number = re.subn(pattern, replacement, files[address], count=1)
    assert number, f"{address} has no {pattern}"
    assert differences(site, {**files, address: text}) != []


def recommended(page: str, device: str) -> list[str]:
    return [row.first("td").first("code").text for row in read(page).by_id(device).first("table.answers").all("tr")]


def test_no_plus_or_minus_stands_beside_a_method(files):
    """Such an interval is of releases: two methods whose intervals do not meet need not differ."""
    pages = [address for address in files if address.startswith(("index.html", "ja/", "choose", "methods/"))]
    assert len(pages) > 10
    assert [address for address in pages if "±" in files[address]] == []
    assert "±" in files["compare/2.14.1..2.15.0.html"]


def test_the_memory_of_a_clone_is_that_with_the_newest_release(files):
    """It was 8 MiB with 2.13.0."""
    first = read(files["index.html"]).by_id("cuda").text
    assert 'Before .cpu(), yes: 4 MiB more for a tensor of 4 MiB than x.detach().to("cpu", copy=True).numpy().' in first
    assert "waste" not in read(files["index.html"]).by_id("cpu").text
    method = read(files["methods/cuda/detach_clone_numpy.html"]).text
    assert "Memory on the device for a tensor of 4 MiB: 8 MiB 2.13.0 ; 4 MiB 2.14.1 to 2.15.0 : 4 MiB more than" in method


@pytest.mark.slow
def test_the_shipped_pages_compare_methods_as_the_recommendation_does(shipped_site, published_site):
    """And recommend what README does."""
    files = files_in(published_site)
    assert differences(shipped_site, files) == []
    answer = re.search(r"docs/tools/readme.py: answer -->\n(.*?)<!-- end", (ROOT / "README.md").read_text(), re.DOTALL)[1]
    in_readme = {code for line in answer.split("\n") if line.startswith("|") for code in re.findall(r"`(x\..*?)`", line)}
    assert in_readme == {code for device in shipped_site.answering for code in recommended(files["index.html"], device)}
