"""What the first page, the chooser and the methods' pages say of methods is what `recommend.table` says, on each device."""

import re
from collections.abc import Iterator
from math import log
from statistics import median

import pytest

from tensorcopy.copying import recommend
from tensorcopy.copying.recommend import Cell, CopyRequest, Table
from tensorcopy.judge.methods import Word
from tensorcopy.numbers import count, duration, ratio_text
from tensorcopy.site import build, facts
from tests import launch_files
from tests.conftest import ROOT
from tests.launch_files import observed
from tests.site import world
from tests.site.reading import Element, files_in, links, read, unlike
from tests.site.reading import table as rows_of

CHANGED = (Word.SLOWER, Word.FASTER)


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
        codes = [code.text for lead in section.all("p.lead") for code in lead.all("code")]
        titles = ["", *(heading.text for fold in section.all("details") for heading in fold.all("h3"))]
        yield from unlike(
            str(request), {"code": "".join(codes), "others": titles[1:]}, {"code": of.code, "others": [*recommend.others(of)]}
        )
        shown = dict(zip(titles if of.rows else titles[1:], section.all("table")))
        for tensor, each in {"": of, **recommend.others(of)}.items():
            if each.rows:
                yield from unlike(f"{request}, {tensor}", shown_cells(shown[tensor]), cells_of(each))


def cells_of(of: Table) -> dict[tuple[str, str], tuple[str, bool, bool]]:
    """Return the cells of a table of methods by sizes: a text, whether it is of the recommended method, and whether it is tinted."""
    cells = {}
    for row in of.rows:
        caveats = "; ".join(caveat.partition(": ")[0] for caveat in row.caveats)
        cells[row.code, "method"] = f"{row.code} {caveats}".strip(), False, False
        for column in of.columns:
            timed, is_first = column.cells.get(row.method), column.recommended == row.method
            is_tinted = is_first or bool(timed and timed.against and timed.against.word is Word.AS_FAST)
            cells[row.code, count(column.numel)] = text_of(timed), is_first, is_tinted
        if not of.columns:
            cells[row.code, "time"] = text_of(None), False, False
    return cells


def shown_cells(table: Element) -> dict[tuple[str, str], tuple[str, bool, bool]]:
    """Return the same of a table that is shown."""
    cells = {(row["method"].first("code").text, title): cell for row in rows_of(table) for title, cell in row.items()}
    return {place: (cell.text, cell.matches("", "use"), cell.matches("", "best")) for place, cell in cells.items()}


def text_of(cell: Cell | None) -> str:
    """Return what a table says of a method at a size: its time, and how that compares with the recommended one's."""
    against = cell.against if cell else None
    if not cell or not against:
        return duration(cell.seconds) if cell else "not timed"
    said = f"{duration(cell.seconds)} {against.word.value}"
    if against.word in CHANGED:
        return f"{said} × {ratio_text(against.ratio)} ({'–'.join(map(ratio_text, against.interval))})"
    is_seen = against.word is Word.NOT_TOLD_APART and against.seen
    return f"{said} only a factor of {ratio_text(against.seen)} or more would have been noticed" if is_seen else said


def of_first_page(site: facts.Site, files: dict[str, str]) -> Iterator[str]:
    """Yield what is wrong in the answers of the first page."""
    for device in site.answering:
        block, of_device = read(files["index.html"]).by_id(device), tables(site, device)
        asked = [recommend.common_request("tensor", device), CopyRequest("tensor", True, True, True, device)]
        of = {request: of_device[request] for request in (*asked, recommend.common_request("ndarray", device)) if of_device[request].rows}
        rows = block.first("table.answers").all("tr")
        for text, grad in (("Timed for an x that requires grad.", True), ("Timed for an x without grad.", False)):
            if (text in block.text) != any(table.columns and table.timed.requires_grad is grad for table in of.values()):
                yield f"{device}: {text}"
        if len(rows) != len(of):
            yield f"{device}: {len(rows)} answers"
        chooser = read(files["choose.html"]).all("section")
        sections = {each.first("h2").attributes["id"]: str(each.attributes["data-part"]) for each in chooser}
        for row, answered in zip(rows, of.values()):
            yield from (f"{device}: {fault}" for fault in of_answer(answered, row))
            address, _, anchor = str(row.all("a")[-1].attributes["href"]).partition("#")
            if address != "choose.html" or requested(sections[anchor]) != answered.request:
                yield f"{device}: all methods of {answered.request} are at {address}#{anchor}"
        own = [link for link in links(block) if link.startswith(("compare/", "history.html", "regressions.html"))]
        yield from (f"{device}: {link} is of no device" for link in own if device not in link.partition("#")[2].split("-"))


def of_answer(table: Table, row: Element) -> Iterator[str]:
    """Yield what is wrong in an answer: its code, what it does, its cost, and how others compare."""
    method, text = table.rows[0].method, row.all("td")[1].text
    seen = table.evidence.methods[method]["observed"][table.request.device]["with_grad"]
    marks = {"own memory": not seen["shares_storage"], "no warning": not seen["warns"]}
    if table.request.to == "tensor":
        marks |= {"in the graph": seen["keeps_graph"], "out of the graph": not seen["keeps_graph"]}
    cells = {column.numel: column.cells for column in table.columns}
    nearest = dict.fromkeys(min(cells, key=lambda each: abs(log(each / numel))) for numel in (world.SMALL, world.LARGE) if cells)
    costs = [duration(cells[numel][method].seconds) for numel in nearest if method in cells[numel]]
    expected = {"code": table.code, "costs": costs, **marks}
    shown = {"code": row.first("td").first("code").text, "costs": [each.text for each in row.all("b")][: len(costs)]}
    shown |= {mark: any(mark in each.text for each in row.all("span.ok")) for mark in marks}
    yield from unlike(table.code, shown, expected)
    in_a_row = "called in a row, " if (table.request.to, table.request.device) == ("tensor", "cuda") else ""
    for other in table.rows[1:]:
        if f"{other.code}: " in text:
            told, kind = text.partition(f"{other.code}: ")[2].partition(". ")[0], recommend.compared(table, other.method)
            expected = {"kind": True, "warns": any(each.startswith("warns") for each in other.caveats)}
            begins = told.startswith(f"{in_a_row}{'takes' if kind == 'slower' else kind}")
            yield from unlike(told, {"kind": begins, "warns": "and warns" in told}, expected)


def differences(site: facts.Site, files: dict[str, str]) -> list[str]:
    """Return where the pages say anything else of methods than `recommend.table`."""
    return [fault for of in (of_choices, of_first_page) for fault in of(site, files)]


def test_every_page_compares_methods_as_the_recommendation_does(world_site, world_files):
    cells = [cell for of in tables(world_site, "cpu").values() for column in of.columns for cell in column.cells.values()]
    assert {cell.against.word for cell in cells if cell.against} == {*Word} - {Word.TOO_FEW_LAUNCHES}
    assert differences(world_site, world_files) == []


TINTED = {  # by device and table, the sizes at which a method is recommended, or as fast
    ("cpu", "Copies, requires grad"): {"x.detach().clone()": ["2⁷", "2¹⁷"]},
    ("cpu", "Copies"): {"x.detach().clone()": ["2¹⁷", "2²⁰"], "x.clone().detach()": ["2⁷", "2¹⁷"]},
    ("cpu", "Conversions"): {"x.detach().numpy().copy()": ["2⁷"]},
    ("cuda", "Copies, called in a row"): {"x.detach().clone()": ["2⁷"], "x.clone().detach()": ["2⁷"]},
    ("cuda", "Conversions"): {"x.numpy(force=True)": ["2⁷"]},
    ("cuda", "Transfers"): {'x.detach().to("cpu", copy=True).numpy()': ["2⁷"]},
}


@pytest.mark.parametrize(("device", "caption"), TINTED)
def test_what_is_recommended_or_as_fast_is_tinted(world_files, device, caption):
    """In the tables of all methods and sizes, of x with and without grad."""
    (table,) = (each for each in read(world_files["index.html"]).by_id(device).all("table.grid") if each.first("caption").text == caption)
    rows = {row["method"].first("code").text: row for row in rows_of(table)}
    tinted = {code: [size for size in row if "best" in str(row[size].attributes.get("class"))] for code, row in rows.items()}
    assert {code: sizes for code, sizes in tinted.items() if sizes} == TINTED[device, caption]


METHODS = {  # by device and method, what its page says of its times for x without and with grad
    "cpu/clone_detach": (
        "this is the recommended form 2⁷ , against x.detach().clone() as fast 2¹⁷ , not told apart 2²⁰",
        "against x.detach().clone() slower (× 1.05 to 1.50) 2⁷ to 2¹⁷",
    ),
    "cpu/tensor": (
        "against x.clone().detach() slower (× 2.44) 2⁷ , against x.detach().clone() faster (× 0.77) 2¹⁷ , not told apart 2²⁰",
        "against x.detach().clone() slower (× 2.00) 2⁷",
    ),
    "cuda/tensor": ("against x.detach().clone() slower (× 1.49) 2⁷", None),
}


@pytest.mark.parametrize("page", METHODS)
def test_a_method_is_compared_with_the_recommended_one_by_runs_of_sizes(world_files, page):
    """Of each request that it matches; at 2⁷ another one is recommended than beyond."""
    items = [item.text for item in read(world_files[f"methods/{page}.html"]).all("li")]
    in_a_row = ", called in a row" if page.startswith("cuda") else ""
    of = {grad: f"A tensor with its own memory, x requires {grad}{in_a_row}: " for grad in ("no grad", "grad")}
    said = [[item for item in items if item.startswith(text)] for text in of.values()]
    assert said == [[f"{of[grad]}{text} ."] if text else [] for grad, text in zip(of, METHODS[page])]


def test_what_costs_time_with_grad_alone_says_so(tmp_path):
    """One sentence beside what it costs with grad, by sizes, where it is as fast without."""
    sentence = "Without grad it is as fast, with the same result."
    for time, is_said in ((1.0, True), (1.4, False)):
        times = {f"{world.COPY} detach_clone 128": world.times(1.0, 1.0), f"{world.COPY} clone_detach 128": world.times(time, time)}
        for numel, slower in ((16, 1.2), (128, 1.5), (1024, 3.0), (2**17, 1.06)):
            times[f"{world.GRAD} detach_clone {numel} True"] = world.times(1.0, 1.0)
            times[f"{world.GRAD} clone_detach {numel} True"] = world.times(slower, slower)
        folder = tmp_path / str(time)
        launch_files.write(folder, times, noise=0.002)
        launch_files.write_counts(folder, "2.15.0", {}, methods=world.methods("cpu"))
        answer = read(world.files_of(folder)["index.html"]).first("table.answers tr").text
        assert "x.clone().detach(): takes 1.2–1.5 × as long for 2⁴–2⁷ elements, 3 × for 2¹⁰, and less than 1.1 × for 2¹⁷." in answer
        assert (sentence in answer) == is_said


def test_the_first_page_names_calls_that_copy_nothing_and_huge_pages(tmp_path):
    """Else a slowdown of `x.cpu()` would seem to be one of transfers, and three times the time to hold everywhere."""
    times = {f"{world.COPY} cpu 128": world.times(1.0, 1.5), f"{world.COPY} tensor 128": world.times(1.0, 1.5)}
    for name, of_small, of_large in (("detach_numpy_copy", 1.0, 1e4), ("detach_clone_numpy", 1.5, 3e4)):
        times[f"conversions.BySize.time_conversion {name} 128"] = world.times(of_small, of_small)
        times[f"conversions.BySize.time_conversion {name} {2**24}"] = world.times(of_large, of_large)
    launch_files.write(tmp_path, times, noise=0.002)
    launch_files.write_counts(tmp_path, "2.15.0", {}, methods=world.methods("cpu"))
    text = read(world.files_of(tmp_path)["index.html"]).by_id("cpu").text
    assert re.search(r"x\.cpu\(\) \+\d\S+ % \(no copy, 1\.\d+ µs → 1\.5\d* µs\) against", text)
    assert re.search(r"torch\.tensor\(x\) \+\d\S+ % \(1\.\d+ µs → 1\.5\d* µs\) against", text)
    assert "takes 1.5 × as long for 2⁷ elements, 3 × for 2²⁴ (huge pages: madvise)." in text


def test_what_keeps_the_graph_has_a_row_among_the_tensors_timed_or_not(world_files):
    """With x that requires grad as without; on a device whose suites lack it, without a link to a page that is not there."""
    first, timed = read(world_files["index.html"]), {"Copies, requires grad": "1.19 µs", "Copies": "691 ns", "Copies, called in a row": ""}
    for caption, time in timed.items():
        table = next(each for each in first.all("table.grid") if each.first("caption").text == caption)
        (row,) = (row for row in table.all("tbody tr") if row.first("code").text == "x.clone()")
        cells = [cell.first("a").text if cell.all("a") else cell.text for cell in row.all("td")]
        assert {*cells} == {*filter(None, [time, "not timed"])}
        assert bool(row.first("th").all("a")) == bool(time)
    choice = next(each for each in read(world_files["choose.html"]).all("section") if "gradients flow back" in each.first("h2").text)
    assert rows_of(choice.first("table"))[0]["2⁷"].text.startswith("1.19 µs")
    assert "x requires grad: this is the recommended form 2⁷" in read(world_files["methods/cpu/clone.html"]).text


def test_a_smaller_time_beside_the_recommended_one_is_explained(world_files):
    first = read(world_files["index.html"])
    assert "Faster than the recommended method, but with a caveat: x.clone()" in first.by_id("cpu").text
    assert "they are as fast or cannot be told apart from it" not in first.by_id("cuda").text
    notes = {str(each.attributes.get("data-part")): each.text for each in first.by_id("cpu").all("div")}  # each below its own table
    assert ["Faster than the recommended" in notes[name] for name in ("requires grad", "no grad")] == [False, True]


LAUNCHES = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5]  # µs of six launches
SMALLER = {  # by what a method with a smaller time is to the recommended one: the launches' microseconds of it, and what both pages say
    "cannot be told apart": ([1.5, 0.6, 1.4, 0.7, 1.3, 0.8], ("they are as fast or cannot be told apart from it: torch.tensor(x).",) * 2),
    "too few launches": ([0.9, 1.0, None, None, None, None], ("a size with too few launches to tell: torch.tensor(x).", "")),
    "slower": (
        [1.11, 1.221, 1.332, None, None, None],
        ("At some size these are slower although their time is smaller: torch.tensor(x).",) * 2,
    ),
    "at least as fast": (
        [0.9, 0.99, 1.08, 1.17, 1.26, 1.35],
        ("with a caveat: torch.tensor(x).", "below their names: "),
    ),
}


@pytest.mark.parametrize(("word", "times", "notes"), [(word, *of) for word, of in SMALLER.items()], ids=SMALLER)
def test_why_a_method_with_a_smaller_time_is_not_recommended(tmp_path, word, times, notes):
    """One sentence on the first page, and one in the chooser; the ratio is of the launches that have both."""
    both = {"detach_clone": LAUNCHES, "tensor": times}
    launch_files.write(tmp_path, {f"{world.GRAD} {name} 1 True": dict.fromkeys(world.RELEASES[-2:], of) for name, of in both.items()})
    launch_files.write_counts(tmp_path, "2.15.0", {}, methods=world.methods("cpu"))
    files = world.files_of(tmp_path)
    first, (choice, *_) = read(files["index.html"]), [each for each in read(files["choose.html"]).all("section") if "out of" in each.text]
    sentences = [note for note, _ in (of for _, of in SMALLER.values())]
    assert [each for each in sentences if each in first.by_id("cpu").text] == [notes[0]]
    assert notes[1] in choice.text
    answer = first.first("table.answers tr").text
    assert f"torch.tensor(x): {'takes 1.1 × as long for 1 element' if word == 'slower' else word}, and warns." in answer


def test_an_answer_says_which_method_takes_less_time_for_another_layout(tmp_path):
    """The one that the chooser recommends there; the method's page says so too. Not where a few percent are at stake."""
    names = "detach_numpy_copy", "detach_clone_numpy", "numpy_force", "clone_detach_numpy"
    by_layout = {"transposed": (9.0, 2.0, 1.0, 2.05), "channels_last": (3.0, 2.0, 1.0, 2.05), "strided": (2.1, 2.0, 1.0, 2.05)}
    times = {f"conversions.BySize.time_conversion {name} 128": world.times(t, t) for name, t in zip(names, (1.0, 2.0, 3.0, 1.9))}
    for layout, of in by_layout.items():
        times |= {f"conversions.ByLayout.time_conversion {name} 128 {layout}": world.times(t, t) for name, t in zip(names, of)}
    for name, t in zip(names, (4.0, 2.0, 1.0, 2.05)):
        times[f"conversions.ByLayout.time_conversion {name} 16384 transposed"] = world.times(t, t)
    launch_files.write(tmp_path, times, noise=0.002)
    rows = world.methods("cpu")
    rows["clone_detach_numpy"] = rows["detach_clone_numpy"] | {"code": "x.clone().detach().numpy()"}
    for kind in ("plain", "with_grad"):
        rows["detach_numpy_copy"]["observed"]["cpu"][kind] |= {"layout": "contiguous"}
        rows["numpy_force"]["observed"]["cpu"][kind] |= {"shares_storage": False, "warns": world.WARNING}
    launch_files.write_counts(tmp_path, "2.15.0", {}, methods=rows)
    files = world.files_of(tmp_path)
    (answer,) = (row for row in read(files["index.html"]).all("table.answers tr") if "ndarray" in row.text)
    told = "For a transposed or channels_last x, x.detach().numpy().copy() takes up to 4.5 × as long as x.detach().clone().numpy()."
    assert told in answer.text
    (link,) = (each for each in answer.all("a") if "transposed" in each.text)
    address, _, anchor = str(link.attributes["href"]).partition("#")
    assert (address, read(files[address]).by_id(anchor).text) == ("choose.html", "float32, transposed")
    (choices,) = (each for each in read(files[address]).all("section") if anchor in [of.attributes["id"] for of in each.all("h3")])
    assert {of.all("tr")[1].first("code").text for of in choices.all("table")[1:]} == {"x.detach().clone().numpy()"}
    sentence = "for a transposed or channels_last one, it takes up to 4.5 × as long as x.detach().clone().numpy()."
    assert f"It is recommended for a contiguous x; {sentence}" in [
        item.text for item in read(files["methods/cpu/detach_numpy_copy.html"]).all("li")
    ]
    assert "It is recommended for" not in read(files["methods/cpu/detach_clone_numpy.html"]).text


def test_on_a_device_an_answer_has_the_time_where_each_call_is_waited_for(world_files):
    first = read(world_files["index.html"])
    assert re.search(r"[78]\.\d+ µs for 2⁷ elements \(512 B; 1[12]\.\d µs where each call is waited for\)", first.by_id("cuda").text)
    assert "where each call is waited for" not in first.by_id("cpu").text


def test_the_memory_of_a_clone_is_that_with_the_newest_release(world_files):
    first = read(world_files["index.html"]).by_id("cuda").text
    assert 'Before .cpu(), yes: 4 MiB more for a tensor of 4 MiB than x.detach().to("cpu", copy=True).numpy().' in first
    assert "waste" not in read(world_files["index.html"]).by_id("cpu").text
    method = read(world_files["methods/cuda/detach_clone_numpy.html"]).text
    assert "Memory on the device for a tensor of 4 MiB: 8 MiB 2.13.0 ; 4 MiB 2.14.1 and 2.15.0 : 4 MiB more than" in method


def test_a_methods_page_has_the_drawing_of_its_device_and_its_cases_by_size(world_files):
    """x.numpy(force=True) shares memory on the CPU alone. The case whose size is the nearest to 2¹⁴ is open."""
    assert len(read(world_files["methods/cuda/numpy_force.html"]).all("svg.drawing rect.cell")) == 6, "of two storages"
    folds = read(world_files["methods/cpu/tensor.html"]).all("details")[:4]
    shown = [(fold.first("summary").text.split()[0], "open" in fold.attributes) for fold in folds]
    assert shown == [("2⁴", False), ("2⁷", False), ("2¹⁰", False), ("2¹⁷", True)]


def test_what_methods_do_is_told_as_observed(tmp_path):
    """With the newest release, and where a release does something else than the one before."""
    launch_files.write(tmp_path, {f"{world.COPY} {name} 128": world.times(1.0, 1.0) for name in ("detach_clone", "tensor")})
    for release, shares in (("2.14.1", True), ("2.15.0", False)):
        shared = {"detach_clone": False, "tensor": shares}
        rows = {name: observed("copy", world.CODES[name], shares_storage=each) for name, each in shared.items()}
        for name, row in rows.items():
            row["observed"]["cpu"]["as_promised"] = shares or name == "detach_clone"
        launch_files.write_counts(tmp_path, release, {}, methods=rows)
    files = world.files_of(tmp_path)
    shown_tables = read(files["methods/index.html"]).all("table")
    assert len(shown_tables) == 2, "of x with and without grad"
    for shown in map(rows_of, shown_tables):
        words = {row["method"].text: (row["memory"].text, row["gradient to x"].text, row["as documented"].text) for row in shown}
        assert words == {"x.detach().clone()": ("its own", "cut", "yes"), "torch.tensor(x)": ("its own", "cut", "NO")}
    changed = read(files["compare/2.14.1..2.15.0.html"]).text.partition("Methods that behave differently")[2]
    assert changed.count("torch.tensor(x)") >= 2
    assert "x.detach().clone(), x requires" not in changed
    assert "2.14.1" in read(files["methods/cpu/tensor.html"]).text


def test_what_few_launches_cannot_tell_is_the_middle_factor(tmp_path):
    """Of the methods that are not told apart: half of them have a smaller one."""
    times = {
        f"{world.COPY} {name} 128": world.times(1.0, 1.0)
        for name in ("detach_clone", "clone_detach", "empty_like_copy", "new_tensor", "tensor")
    }
    launch_files.write(tmp_path, times, launches=3, noise=0.1)
    launch_files.write_counts(tmp_path, "2.15.0", {}, methods=world.methods("cpu"))
    site = world.site_of(tmp_path)
    (column,) = tables(site, "cpu")[recommend.common_request("tensor", "cpu")].columns
    factors = sorted(cell.against.seen for cell in column.cells.values() if cell.against and cell.against.word is Word.NOT_TOLD_APART)
    text = read(dict(build.files(site))["index.html"]).by_id("cpu").text
    assert len(factors) > 2
    middle = f"{median(factors):.2g}"
    assert f"Where methods are not told apart, half would have been noticed only at {middle} × (a tensor of its own) the time." in text


@pytest.mark.slow
def test_the_shipped_pages_compare_methods_as_the_recommendation_does(shipped_site, published_site):
    """And recommend what README does."""
    files = files_in(published_site)
    assert differences(shipped_site, files) == []
    answer = re.search(r"docs/tools/readme.py: answer -->\n(.*?)<!-- end", (ROOT / "README.md").read_text(), re.DOTALL)[1]
    in_readme = {code for line in answer.split("\n") if line.startswith("|") for code in re.findall(r"`(x\..*?)`", line)}
    assert in_readme == {row.first("td").first("code").text for row in read(files["index.html"]).all("table.answers tr")}
