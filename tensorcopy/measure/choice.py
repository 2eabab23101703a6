"""A request for some sides, by the settings of a command, and what this machine has measured already."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from math import inf
from time import monotonic
from typing import Any

from tensorcopy.campaign import Campaign
from tensorcopy.configuration import Paths
from tensorcopy.measure import run, settings, sides
from tensorcopy.measure.plan import Request
from tensorcopy.measure.sides import Side
from tensorcopy.results import reader
from tensorcopy.results.result import Result
from tensorcopy.worker import nvidia
from tensorcopy.worker.hardware import own_processor


def request(chosen: Sequence[Side], reference: Side | None, given: Namespace, **fields: Any) -> tuple[Request, list[str]]:
    """Return the request for sides and a reference, as far as the needed GPU can run them, and a line for each that it cannot.

    given : settings, see `settings.add`
    fields : other fields of the request

    Raises TensorcopyError where it can run none.
    """
    able, lines, needs = [*chosen], list[str](), settings.needs(given.device)
    if needs == "cuda":
        gpus = nvidia.visible_gpus()
        able, lines = sides.runnable(chosen, gpus)
        reference = reference if reference and not sides.runnable([reference, *able], gpus)[1] else None
    asked = Request(
        tuple(able),
        reference,
        device=given.device or "",
        needs=needs,
        until=monotonic() + (given.budget or inf),
        shard=given.shard or (1, 1),
        parallel=given.parallel or 0,
        environments=given.environments or 0,
        **fields,
    )
    return asked, lines


def of_interpreters(chosen: Sequence[Side]) -> Side | None:
    """Return the reference of interpreters: the one with the newest release; None for one alone."""
    return max(chosen, key=lambda each: each.release) if len(chosen) > 1 else None


def measured_here(history: str, own: Campaign, paths: Paths) -> list[Result]:
    """Return the results of this machine: those in the history of a name, or for "" in those of this processor."""
    loaded = reader.load_results(paths.results, own)
    return [result for each in run.own_histories(loaded, history, [own_processor()]) for result in each.results]
