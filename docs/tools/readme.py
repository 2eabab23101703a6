"""Write what README.md, docs/ and the package show of results/.

    uv run python -m docs.tools.readme

A part of a document stands between two comments; the first one names it: a function of `PARTS`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from docs.tools import accuracy, article, verify
from docs.tools.standalone import standalone
from tensorcopy import configuration, files
from tensorcopy.copying import advise, recommend
from tensorcopy.copying.drawings import draw_methods
from tensorcopy.copying.inside.semantics import describe
from tensorcopy.copying.recommend import CopyRequest, Evidence, Table
from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.numbers import count, duration
from tensorcopy.report.table import code, escaped, markdown_table
from tensorcopy.results import reader
from tensorcopy.results.histories import History
from tensorcopy.results.launches import method_code
from tensorcopy.site import facts
from tensorcopy.site.facts import Site

BEGIN, END = "<!-- produced by docs/tools/readme.py: {} -->", "<!-- end -->"
PART = re.compile(f"{BEGIN.format('([a-z_]+)')}\n(.*?)\n{END}", re.DOTALL)
NUMELS = (2**10, 2**20)  # elements, of the table of methods
GUIDE = (
    "A test runs the code blocks below as one session, from top to bottom, with torch {torch} on the CPU. "
    "The drawings show what this release does."
)
GUIDE_JA = (
    "以下のコードは全体で一つのセッションになっており、テストが上から順に、CPU 上の torch {torch} で実行しています。"
    "図も、このリリースでの観測結果から生成しています。"
)
WANTS = {  # by what is wanted: the target, and whether it keeps the graph
    "an independent tensor, out of the graph": ("tensor", False),
    "an independent tensor through which gradients flow back to `x`": ("tensor", True),
    "an independent ndarray": ("ndarray", None),
}


def documents(histories: Iterable[History]) -> dict[Path, str]:
    """Return the text of every generated file, by path in the checkout, which is the current folder."""
    site = facts.site(shipped(), histories)
    pages = {path: path.read_text(encoding="utf-8") for path in (Path("README.md"), *sorted(Path("docs").glob("*.md")))}
    every = "".join(pages.values())
    drawings = {name: svg for name, svg in draw_methods(site.methods).items() if f"](drawings/{name}.svg)" in every}
    return {
        **{path: with_parts(text, site) for path, text in pages.items() if PART.search(text)},
        advise.SHIPPED: msgspec.json.encode(evidence(site)).decode() + "\n",
        **{Path(f"docs/drawings/{name}.svg"): standalone(svg) for name, svg in drawings.items()},
        **article.drawings(site),
    }


def evidence(site: Site) -> dict[str, Evidence]:
    """Return what the newest release of each device observed and timed."""
    return {device: recommend.of_result(history.newest(device), device) for device, history in site.answering.items()}


def with_parts(text: str, site: Site) -> str:
    """Return a document's text with its parts replaced.

    A comment within a part is made harmless: it could end the part, and the next run would keep what follows it.
    """
    return PART.sub(lambda part: f"{BEGIN.format(part[1])}\n{PARTS[part[1]](site).replace('<!--', '<! --')}\n{END}", text)


def badges(source: str, root: str) -> str:
    """Return the badge of the tests where the repository is known, and the address of the published site, where that is."""
    workflow = f"{source}/actions/workflows/ci.yml"
    badge = f"[![tests of main]({workflow}/badge.svg)]({workflow})" if source else ""
    return "\n\n".join(filter(None, [badge, f"The pages of this repository: <{root.rstrip('/')}/>" if root else ""]))


def answer(site: Site) -> str:
    """Return what to type on each device for an x that requires grad."""
    rows = []
    for want, (to, keeps_graph) in WANTS.items():
        tables = [recommend.table(each, CopyRequest(to, True, keeps_graph, True, device)) for device, each in evidence(site).items()]
        rows.append([want, *(code(table.code) for table in tables)])
    return markdown_table(
        ["I want", *(f"I type, if `x` is on {device.upper()}" for device in site.answering)], rows, "l" * (1 + len(site.answering))
    )


def methods(site: Site) -> str:
    """Return the article's copies and conversions, and `x.clone()`, on each device: what they return, and their times at two sizes."""
    return "\n\n".join(_methods(site, device, each) for device, each in evidence(site).items())


def _methods(site: Site, device: str, timed: Evidence) -> str:
    rows, notes = list[list[str]](), list[str]()
    for group, to in (("copy", "tensor"), ("conversion", "ndarray")):
        table = recommend.table(timed, recommend.common_request(to, device))
        alike = [row.method for row in table.rows if row.code == table.code or timed.methods[row.method]["group"] == group]
        kept = CopyRequest(to, True, True, True, device).usual  # what is recommended where the graph is kept
        others = [name for name, row in timed.methods.items() if (row["group"] == group or name == kept) and name not in alike]
        for name in (*alike, *others):
            row = timed.methods[name]
            written = method_code(row, device)
            rows.append([code(written), escaped(describe(row["observed"][device]["with_grad"], device)), *_times(table, name)])
        if of_table := [note for note in table.notes if not note.startswith("Timed for")]:  # which `about` tells of both tables
            notes.append(f"- An independent {to}: {' '.join(of_table)}")
    header = ["", "result, for an `x` that requires grad", *(f"{count(numel)} elements" for numel in NUMELS)]
    grad = "grad" if table.timed.requires_grad else "no grad"
    on = f"torch {timed.torch} on {timed.on} ({site.answering[device].name}), {timed.day}"
    about = f"**{device.upper()}**: {escaped(on)}; float32, one thread, timed for an `x` that requires {grad}."
    against = "After a time: against the first method of its kind, within each launch, with the 95 % interval."
    return "\n\n".join([f"{about} {against}", markdown_table(header, rows, "llrr"), "\n".join(notes)])


def _times(table: Table, method: str) -> Iterator[str]:
    """Yield a method's time at each size, with what is known of it against the recommended one: "2.19 µs, slower × 1.46 (1.42 to 1.51)"."""
    tensor = table.timed.dtype, table.timed.layout, table.timed.requires_grad
    for numel in NUMELS:
        column = next((column for column in table.columns if column.numel == numel), None)
        ratio = column.cells[method].against if column and method in column.cells else None
        timed = (
            each.seconds[method] for each in table.evidence.timed if (each.numel, each.tensor) == (numel, tensor) and method in each.seconds
        )
        seconds = next(timed, None)
        yield "not timed" if seconds is None else duration(seconds) + (f", {advise.against_recommended(ratio)}" if ratio else "")


PARTS: dict[str, Callable[[Site], str]] = {
    "badges": lambda site: badges((own := configuration.of_folder()).source_url, own.site_url),
    "answer": answer,
    "methods": methods,
    "torch": lambda site: GUIDE.format(torch=site.answering["cpu"].newest("cpu").version),
    "torch_ja": lambda site: GUIDE_JA.format(torch=site.answering["cpu"].newest("cpu").version),
    "accuracy": lambda site: accuracy.shown(),
    "agreement": lambda site: verify.shown(),
    **article.PARTS,
}


def main() -> None:
    """Write every generated file. Raises TensorcopyError: a README from only some of the results would be wrong."""
    loaded = reader.load_results(Path("results"), shipped())
    if loaded.problems:
        raise loaded.problems[0]
    written = documents(loaded.histories)
    for path, text in written.items():
        files.replace(path, text)
    sys.stdout.write(f"{len(written)} files written from {len(loaded.results)} results\n")


if __name__ == "__main__":
    try:
        main()
    except TensorcopyError as error:
        sys.exit(str(error))
