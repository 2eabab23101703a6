"""Write what README.md, docs/ and the package show of results/.

    uv run python -m docs.tools.readme

A part of a page stands between two comments; the first one names it: a function of `PARTS`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from docs.tools import figures
from tensorcopy import configuration, files
from tensorcopy.copying import advise, recommend
from tensorcopy.copying import shipped as campaign
from tensorcopy.copying.advise import MatchingMethod
from tensorcopy.copying.drawings import draw_methods
from tensorcopy.copying.inside.semantics import describe
from tensorcopy.copying.recommend import CopyRequest, Option
from tensorcopy.errors import TensorcopyError
from tensorcopy.judge import comparisons
from tensorcopy.judge.comparisons import Question
from tensorcopy.numbers import count, duration, multiple, signed
from tensorcopy.releases.release_table import WITH_NUMPY_2
from tensorcopy.report import causes
from tensorcopy.report import comparison as reports
from tensorcopy.report.table import code, escaped, markdown_table
from tensorcopy.results import reader
from tensorcopy.results.effects import Timing
from tensorcopy.results.result import Result
from tensorcopy.results.select import SelectedPair
from tensorcopy.site import addresses, render
from tensorcopy.site.addresses import WebAddresses
from tensorcopy.site.machine import HISTORY_NUMELS, DeviceResults, Machine
from tensorcopy.site.svg import STYLESHEET, colours

BEGIN, END = "<!-- produced by docs/tools/readme.py: {} -->", "<!-- end -->"
PART = re.compile(f"{BEGIN.format('([a-z_]+)')}\n(.*?)\n{END}", re.DOTALL)
GUIDE = (
    "A test runs the code blocks below as one session, from top to bottom, with torch {torch} on the CPU. "
    "The drawings show what this release does."
)
GUIDE_JA = (
    "以下のコードは全体で一つのセッションになっており、テストが上から順に、CPU 上の torch {torch} で実行しています。"
    "図も、このリリースでの観測結果から生成しています。"
)
WANTS = {
    "an independent tensor, without the graph": CopyRequest("tensor", True, False, True, "cpu"),
    "an independent tensor through which gradients flow back": CopyRequest("tensor", True, True, True, "cpu"),
    "an independent ndarray, if `x` is on the CPU": CopyRequest("ndarray", True, None, True, "cpu"),
    "an independent ndarray, if `x` is on CUDA": CopyRequest("ndarray", True, None, True, "cuda"),
}


def documents(results: Sequence[Result]) -> dict[Path, str]:
    """Return the text of every generated file, by path in the checkout, which is the current folder."""
    content = render.content(campaign.shipped(), results)
    machine = content.machine
    if machine is None:
        raise TensorcopyError("nothing was measured yet", got="no results", allowed="results/ of a checkout", next="tensorcopy dashboard")
    pages = {path: path.read_text(encoding="utf-8") for path in (Path("README.md"), *sorted(Path("docs").glob("*.md")))}
    advices = shipped({device: each.result for device, each in content.by_device.items()})
    of_accelerators = {name: row for name, row in content.methods.items() if "devices" in row}
    drawings = draw_methods({**machine.result.methods, **of_accelerators})  # for readers of the Markdown
    parts = {
        **PARTS,
        "badges": lambda _: badges(),
        "answer": lambda _: answer(content.devices),
        "memory": lambda machine: figures.memory(machine, content.by_device.get("cuda")),
    }
    return {
        **{path: with_parts(text, machine, parts) for path, text in pages.items() if PART.search(text)},
        advise.SHIPPED: json.dumps(advices, ensure_ascii=False, separators=(",", ":")) + "\n",
        campaign.CODES: codes(),
        **{Path(f"docs/drawings/{name}.svg"): standalone(svg) + "\n" for name, svg in drawings.items()},
    }


def codes() -> str:
    """Return the code of each method as JSON: of the registry, which needs torch; without torch, as it is, since no result changes it."""
    try:
        from tensorcopy.copying.inside.methods import METHODS
    except ModuleNotFoundError:
        return campaign.CODES.read_text(encoding="utf-8")
    return json.dumps({name: method.code for name, method in METHODS.items()}, indent=2) + "\n"


def shipped(results: Mapping[str, Result]) -> dict[str, Any]:
    """Return the content of shipped.json, which `advise` reads: the advice from the result of each device at every size."""

    def row(choice: MatchingMethod) -> list[Any]:
        """Return the fields that depend on the size."""
        numbers = choice.seconds, choice.multiple, *(choice.interval or ())
        seconds, multiple, *interval = (None if value is None else float(f"{value:.6g}") for value in numbers)
        return [choice.method, seconds, multiple, choice.verdict, interval or None]

    sources = {}
    for device, result in results.items():
        measured = [recommend.options_by_size(result, request).values() for request in recommend.requests(device)]
        day = result.day_of(option.case for by_size in measured for options in by_size for option in options)
        sources[device] = {"torch": result.provenance["torch"], "on": result.hardware(device), "day": day}
    answers = []
    for device, result in results.items():
        of_common = recommend.requests(device)
        for request in [*of_common, *(other for each in of_common for other in recommend.of_other_tensors(result, each))]:
            advices = [
                advise.of_options(request, numel, options, "shipped", sources[device])
                for numel, options in recommend.options_by_size(result, request).items()
            ]
            choices = [choice for advice in advices for choice in advice.choices]
            answers.append(
                {
                    "request": asdict(request),
                    "methods": {choice.method: {"code": choice.code, "caveats": choice.caveats} for choice in choices},
                    "sizes": {str(advice.numel): {"why": advice.why, "choices": list(map(row, advice.choices))} for advice in advices},
                }
            )
    return {"sources": sources, "answers": answers}


def with_parts(text: str, machine: Machine, parts: Mapping[str, Callable[[Machine], str | None]]) -> str:
    """Return a page's text with its parts replaced.

    A comment within a part is made harmless: it could end the part, and the next run would keep what follows it. A part for which there
    are no results stays as it is.
    """

    def replaced(part: re.Match[str]) -> str:
        content = parts[part[1]](machine)
        return part[0] if content is None else f"{BEGIN.format(part[1])}\n{content.replace('<!--', '<! --')}\n{END}"

    return PART.sub(replaced, text)


def badges(web: WebAddresses | None = None) -> str:
    """Return the badge of the tests where the repository is known, and the published site's address.

    web : the addresses that asv.conf.json names, by default
    """
    web = web or addresses.WebAddresses.of_configuration(*configuration.web_addresses())
    workflow = f"{web.source}/actions/workflows/ci.yml"
    badge = f"[![tests of main]({workflow}/badge.svg)]({workflow})" if web.source else ""
    site = f"The pages of this repository: <{web.site}>" if web.site else ""
    return "\n\n".join(filter(None, [badge, site]))


def answer(devices: Sequence[DeviceResults]) -> str:
    """Return which copies to use, and on each device how often they are the fastest there."""
    results = {each.device: each.result for each in devices if each.has_copies}
    asked = {want: (results[request.device], request) for want, request in WANTS.items() if request.device in results}
    rows = [[want, code(option.code)] for want, each in asked.items() if (option := recommend.recommended(*each))]
    return "\n\n".join([markdown_table(["I want", "I type"], rows, "ll"), *(_uses(*each) for each in results.items())])


def _uses(device: str, result: Result) -> str:
    """Return a sentence: what to use on a device, at how many sizes it is the fastest, and when that was measured."""
    uses, shown = [], list[Option]()
    for to in ("tensor", "ndarray"):
        answers = recommend.options_by_size(result, recommend.common_request(to, device))
        first = answers[recommend.nearest_size(recommend.NUMEL, answers)][0]
        options = [option for at_size in answers.values() for option in at_size]
        among = sum(option.among_fastest for option in options if option.method == first.method)
        judged = sum(option.rank == "fastest" for option in options)
        uses.append(f"{code(first.code)} for an independent {to} (fastest or tied with the fastest at {among} of {judged} sizes)")
        shown += options
    is_other = any(key == "timed_without_grad" for option in shown for key, _ in option.caveats)
    timed = "Timed for an x that requires no grad" if is_other else "x requires grad"
    on, day = escaped(result.hardware(device)), result.day_of(option.case for option in shown)
    return f"With torch {result.version} on {on}, use {' and '.join(uses)}. {timed}, one thread, {day}."


def methods(machine: Machine) -> str:
    """Return each method's code and semantics, and its times at two sizes with their ratio to the fastest of its table."""
    rows, tables = [], machine.devices["cpu"].costs if "cpu" in machine.devices else ()
    for table in tables:
        columns = [table.numels.index(numel) for numel in HISTORY_NUMELS]
        fastest = [min(timing.seconds for costs in table.costs if (timing := costs[column].timing)) for column in columns]
        for method, costs in zip(table.methods, table.costs, strict=True):
            timings = [costs[column].timing for column in columns]
            semantics = escaped(describe(machine.result.methods[method]["observed"]["cpu"]["with_grad"]))
            rows.append([code(machine.code(method)), semantics, *map(_timed, timings, fastest)])
    header = ["", "result, for a leaf that requires grad", *(f"{count(numel)}, no grad" for numel in HISTORY_NUMELS)]
    on = escaped(f"torch {machine.provenance['torch']}, {machine.provenance['cpu']}")
    day = machine.result.day_of(case for table in tables for cases in table.cases for case in cases)
    note = f"{on}, float32, one thread, {day}; in brackets the time over that of the fastest copy or conversion."
    return f"{markdown_table(header, rows, 'll' + 'r' * len(HISTORY_NUMELS))}\n\n{note}"


def _timed(timing: Timing | None, fastest: float) -> str:
    return f"{duration(timing.seconds)} ({multiple(timing.seconds / fastest)})" if timing else "–"


def finding(case: str, python: str, before: str, after: str, machine: Machine) -> str | None:
    """Return what `tensorcopy why` says of a case, with its groups; None where the functions of a release were not counted."""
    results = {(result.provenance["torch"].partition("+")[0], result.python): result for result in machine.results}
    if not {(before, python), (after, python)} <= results.keys():
        return None
    try:
        report = causes.of_pair(SelectedPair(results[before, python], results[after, python]), case, campaign.shipped().rules)
    except TensorcopyError:
        return None
    groups = [f"{row.name} {signed(row.after - row.before)}" for row in report.rows if row.change is None]
    named = ", ".join([*groups[:4], *([f"and {len(groups) - 4} more groups"] if groups[4:] else [])])
    code_of, line = report.fields["code"], escaped(report.lines[0])
    return f"{line}\n\n> {code(code_of)} {escaped(report.heading.removeprefix(code_of))}: {escaped(named)}."


def newer_numpy(machine: Machine) -> str | None:
    """Return what numpy 2 changes with the newest release that was measured beside it; None where there is none."""
    if not machine.beside:
        return None
    after = max(machine.beside, key=lambda result: result.provenance["started"])
    key = replace(after.series_key, build=after.build.removesuffix(WITH_NUMPY_2))
    before = next((result for result in machine.results if (result.sha, result.series_key) == (after.sha, key)), None)
    if before is None:
        return None
    comparison = comparisons.between(Question(before, after, machine.rules))
    numpys = " → ".join(str(each.provenance["numpy"]) for each in (before, after))
    on = escaped(f"torch {after.version}, numpy {numpys}, in the same launches on {after.processors}, {after.provenance['started'][:10]}")
    changes = comparison.changes.values()
    return " ".join([f"{on}: {reports.moved(changes)}.", *reports.still(changes)])


PARTS: dict[str, Callable[[Machine], str | None]] = {
    "methods": methods,
    "torch": lambda machine: GUIDE.format(torch=machine.newest.version),
    "torch_ja": lambda machine: GUIDE_JA.format(torch=machine.newest.version),
    "detach": partial(finding, "detach", "3.11", "2.9.1", "2.10.0"),
    "cpu": partial(finding, "cpu", "3.11", "2.9.1", "2.10.0"),
    "numpy": partial(finding, "numpy", "3.9", "1.12.1", "1.13.1"),
    "newer_numpy": newer_numpy,
    "from_dlpack": partial(finding, "numpy_from_dlpack", "3.11", "2.8.0", "2.9.1"),
    **figures.PARTS,
}


def main() -> int:
    """Write every generated file."""
    results = reader.load_results(Path("results"))
    for problem in (*results.problems, *results.warnings):
        sys.stderr.write(f"{problem}\n")
    if results.problems:
        return 2  # a README from only some of the results would be wrong
    written = documents(results.results)
    for path, text in written.items():
        files.replace(path, text)
    sys.stdout.write(f"{len(written)} files written from {len(results.results)} results\n")
    return 0


def standalone(svg: str) -> str:
    """Return a drawing with the stylesheet's rules for drawings, light and dark."""
    light, dark = ("".join(f"--{name}:{pair[index]};" for name, pair in colours().items()) for index in (0, 1))
    rules = STYLESHEET.read_text(encoding="utf-8").split("/* drawings", 1)[1].split("*/", 1)[1].split("/* end of drawings */")[0]
    style = f":root{{{light}}}@media (prefers-color-scheme: dark){{:root{{{dark}}}}}{rules}"
    return svg.replace(">", f"><style>{style}</style>", 1)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except TensorcopyError as error:
        sys.exit(str(error))
