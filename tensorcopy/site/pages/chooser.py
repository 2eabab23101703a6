"""The chooser: a page for each request and size, joined by plain links, and what its script needs to read pasted code."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tensorcopy.analysis import recommend
from tensorcopy.analysis.recommend import CopyRequest, Option
from tensorcopy.numbers import count
from tensorcopy.report.words import LANGUAGES, texts
from tensorcopy.site import addresses
from tensorcopy.site.content import Content
from tensorcopy.site.machine import Machine
from tensorcopy.site.page import File, Page, translator
from tensorcopy.worker import files
from tensorcopy.worker.semantics import Outcome

STEPS = Path(__file__).with_name("steps.toml")
NANO = 1e9
EXAMPLES = ("x.clone().detach().cpu().numpy()", "torch.tensor(x)", "np.array(x.detach().numpy())")  # of code that people write
LONGEST_CODE = 2000  # characters
WORDS = (
    *("and", "tensor", "ndarray", "q_storage", "own", "shared", "writes", "q_graph", "cut", "kept", "own_gradient", "contiguous"),
    *("timed_without_grad", "use", "reason_usual", "grad_raises", "grad_flows", "grad_own"),
)  # of the chooser that the field for code also says
FIRST = recommend.common_request("tensor", "cpu")

Answers = Mapping[CopyRequest, Mapping[int, Sequence[Option]]]  # by request, then by size


def pages(content: Content) -> Iterator[Page | File]:
    """Yield a page for each request and size, and the first page, in every language; and the data of the script that reads code."""
    answers = _answers(content.by_device)
    if content.machine:
        data = json.dumps(code_data(content.by_device, answers), ensure_ascii=False, separators=(",", ":"))
        yield File(addresses.CODE_DATA, f"tensorCode.receive({data});\n")
    shown: list[tuple[str, CopyRequest | None, int]] = [
        (addresses.of_request(request, numel), request, numel) for request, by_size in answers.items() for numel in by_size
    ]
    first = FIRST if FIRST in answers else next(iter(answers), None)
    shown.append((addresses.CHOOSER, first, recommend.nearest_size(recommend.NUMEL, answers[first]) if first else 0))
    for address, request, numel in shown:
        languages = {language: addresses.translated(address, language) for language in LANGUAGES}
        for language, translated in languages.items():
            values: dict[str, Any] = {"machine": None}
            translate, description = translator(language), ""
            if request:
                options = answers[request][numel]
                name, placeholders = recommend.reason(request, options)
                reason = translate(name, **placeholders)
                questions = _questions(answers, request, numel, language)
                of_code = {"request": request, "numel": numel, "examples": EXAMPLES, "longest": LONGEST_CODE}
                values = {
                    "machine": content.by_device[request.device],
                    "options": options,
                    "questions": questions,
                    "reason": reason,
                    **of_code,
                }
                description = f"{options[0].code}: {reason}" if options else ""
            yield Page(translated, "choose.html", str(translate("chooser")), values, language, languages, description)


def _answers(machines: Mapping[str, Machine]) -> Answers:
    """Return the answers to every request that was measured at any size, by the machine of its device."""
    answers = {
        request: recommend.options_by_size(machines[device].result, request)
        for device in machines
        for request in recommend.requests(device)
    }
    return {request: by_size for request, by_size in answers.items() if by_size}


def code_data(machines: Mapping[str, Machine], answers: Answers) -> dict[str, Any]:
    """Return what `static/code-reading.js` reads of the newest result of the machine of each device.

    steps : the rules of `steps.toml`
    outcome : the fields of an outcome that are left out of the others
    methods : the code and the observed outcomes of each method
    times : by device, method, kind of tensor and number of elements, in nanoseconds
    answers : by address of the page, each method that matches, with rank and interval of its ratio to the fastest, recommended first
    words : by language
    """
    usual, results = asdict(Outcome()), {device: machine.result for device, machine in machines.items()}
    observed: dict[str, dict[str, Any]] = {}  # the rows of each method, by device
    for device, result in results.items():
        for name, row in result.methods.items():
            if device in row.get("observed", ()):
                observed.setdefault(name, {})[device] = row
    sizes = sorted({numel for by_size in answers.values() for numel in by_size})

    def outcome(seen: Mapping[str, Any]) -> dict[str, Any]:
        return {field: value for field, value in seen.items() if field in usual and value != usual[field]}

    def times(name: str, device: str, requires_grad: bool) -> dict[int, float]:
        request = CopyRequest("tensor", True, None, requires_grad, device)
        cases = {numel: recommend.case_of(observed[name][device], name, request, numel) for numel in sizes}
        timings = results[device].timings
        return {numel: float(f"{timings[case].seconds * NANO:.5g}") for numel, case in cases.items() if case in timings}

    return {
        "devices": list(results),
        "steps": files.read_toml(STEPS),
        "outcome": usual,
        "methods": {
            name: {
                "code": row["code"],
                **({"there": row["code_on_accelerator"]} if row["code_on_accelerator"] != row["code"] else {}),
                "observed": {
                    device: {kind: outcome(of_device["observed"][device][kind]) for kind in ("plain", "with_grad")}
                    for device, of_device in rows.items()
                },
            }
            for name, rows in observed.items()
            for row in [next(iter(rows.values()))]
        },
        "times": {
            device: {
                name: {"plain": times(name, device, False), "with_grad": times(name, device, True)}
                for name, rows in observed.items()
                if device in rows
            }
            for device in results
        },
        "answers": {
            addresses.of_request(request, numel): [
                [option.method, option.rank, [round(end, 4) for end in (option.change and option.change.interval) or ()]]
                for option in options
            ]
            for request, by_size in answers.items()
            for numel, options in by_size.items()
        },
        "words": {
            language: {name: text[language] for name, text in texts().items() if name in WORDS or name.startswith("code_")}
            for language in LANGUAGES
        },
    }


def _questions(answers: Answers, request: CopyRequest, numel: int, language: str) -> list[dict[str, Any]]:
    """Return the questions that a request raises; each choice that was measured is a link to its page, this page's own is chosen."""
    translate = translator(language)

    def question(name: str, choices: Iterable[tuple[str, CopyRequest, int]]) -> dict[str, Any]:
        links = [
            {
                "text": text,
                "address": addresses.translated(addresses.of_request(other, recommend.nearest_size(size, answers[other])), language),
                "chosen": (other, size) == (request, numel),
            }
            for text, other, size in choices
            if other in answers
        ]
        return {"text": translate(name), "choices": links}

    asked: dict[str, tuple[str, dict[str, Any]]] = {
        "q_to": ("to", {"tensor": "tensor", "ndarray": "ndarray"}),
        "q_storage": ("own", {"own": True, "shared": False}),
        "q_grad": ("requires_grad", {"yes": True, "no": False}),
        **({"q_graph": ("keeps_graph", {"cut": False, "kept": True})} if request.keeps_graph is not None else {}),
    }
    devices = dict.fromkeys(request.device for request in answers)
    return [
        *(
            question(name, ((translate(text), _changed(request, field, value), numel) for text, value in values.items()))
            for name, (field, values) in asked.items()
        ),
        question("q_device", ((device, _changed(request, "device", device), numel) for device in devices)),
        question("q_numel", ((count(size), request, size) for size in answers[request])),
    ]


def _changed(request: CopyRequest, field: str, value: Any) -> CopyRequest:
    """Return the request with another answer.

    `keeps_graph` is None when there is no graph to keep.
    """
    values = {**vars(request), field: value}
    has_graph = values["to"] == "tensor" and values["requires_grad"]
    values["keeps_graph"] = (values["keeps_graph"] or False) if has_graph else None
    return CopyRequest(**values)
