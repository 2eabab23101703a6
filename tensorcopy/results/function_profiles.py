"""The functions of the counted cases: a file of each release and environment, beside the launches.

It is written once, like a launch, as `TIME-ID-SHA-ENVIRONMENT.functions.json.xz`, compressed because a release has 100,000 numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct

from tensorcopy import files
from tensorcopy.errors import TensorcopyError
from tensorcopy.results import launches
from tensorcopy.results.cases import DEFAULTS, Case, counted_case
from tensorcopy.results.result import Result
from tensorcopy.results.suite_specs import INSTRUCTIONS

ENDING = ".functions.json.xz"
VERSION = 2
MAX_JSON_BYTES = 20_000_000  # a release has a tenth of it
MAX_MEMORY = 128 * 2**20  # bytes that decompressing may take: twice what our files need

Function = tuple[str, str]  # library and name, such as ("libc10", "c10::TensorImpl::TensorImpl")


class FunctionCost(NamedTuple):
    """The cost of a function in one call of a case."""

    own: float  # exclusive instructions
    calls: float  # how often it is called


@dataclass(frozen=True)
class Profile:
    """The functions of one case."""

    instructions: float  # of one call; the functions make 99 % of them
    functions: Mapping[Function, FunctionCost]


NAME = r"^\w+ [1-9][0-9]{0,11} \w+ \w+( grad)?$"
Amount = Annotated[float, Meta(ge=0, le=1e18)]
Text = Annotated[str, Meta(max_length=100_000)]  # C++ names are long


class CaseRow(Struct, frozen=True):
    """A case: the instructions of one call, without the loop around it."""

    instructions: Amount
    functions: list[Amount]  # index, exclusive instructions and calls of each function, for the most expensive ones, which make 99 %


class Profiles(Struct, frozen=True, eq=False):
    """What the program reads of the profiles of a release in one history; their provenance stands beside.

    They were counted by valgrind, which has no AVX512, so that kernels run as on a processor with AVX2.

    cases : by method, elements, dtype, layout and grad, such as "detach 1 float32 contiguous grad"
    """

    version: int
    torch_sha: Annotated[str, Meta(pattern="^[0-9a-f]{40}$")]
    functions: list[tuple[Text, Text]]  # library and name of each function; a case refers to it by its index
    cases: dict[Annotated[str, Meta(pattern=NAME)], CaseRow]

    def of(self, name: str) -> Profile:
        """Return the profile of a profiled case."""
        rows = iter(self.cases[name].functions)
        functions = {self.functions[int(number)]: FunctionCost(own, calls) for number, own, calls in zip(rows, rows, rows)}
        return Profile(self.cases[name].instructions, functions)


def name_of(case: Case) -> str:
    """Return the name under which a timed or counted case is profiled; "" for none."""
    counted = case if case.spec.metric == INSTRUCTIONS else counted_case(case)
    if counted is None:
        return ""
    values = {**DEFAULTS, **dict(counted.parameters)}
    grad = " grad" if values["requires_grad"] == "True" else ""
    return f"{values['method']} {values['numel']} {values['dtype']} {values['layout']}{grad}"


def smallest(names: Iterable[str]) -> dict[str, str]:
    """Return the profiled case of each method's smallest contiguous tensor of float32, without grad where there is one."""
    smallest: dict[str, str] = {}
    for name in sorted(names, key=lambda name: (name.endswith(" grad"), int(name.split()[1]), name)):
        if " float32 contiguous" in name:
            smallest.setdefault(name.split()[0], name)
    return smallest


def paths_of(folder: Path, sha: str, environment: str) -> list[Path]:
    """Return the files of profiles of a release and environment in the folder of a history, the newest last."""
    return sorted(folder.glob(f"*-{sha[:8]}-{environment}{ENDING}"))


@lru_cache(maxsize=64)  # a site has some thirty, and needs each twice
def profiles_of(result: Result) -> Profiles | None:
    """Return the newest profiles of a result; None where there are none.

    Raises TensorcopyError for a damaged file, or one of another torch.
    """
    paths = paths_of(result.folder, result.sha, result.environment)
    profiles = read(paths[-1]) if paths else None
    if profiles and profiles.torch_sha != result.sha:
        raise launches.damaged(paths[-1], f"torch_sha {profiles.torch_sha}, not {result.sha} as in its name")
    return profiles


def readable(results: Iterable[Result]) -> tuple[dict[Result, Profiles], list[TensorcopyError]]:
    """Return the newest profiles of each result that has them, and an error for each file that cannot be read."""
    found, problems = dict[Result, Profiles](), list[TensorcopyError]()
    for result in results:
        try:
            if profiles := profiles_of(result):
                found[result] = profiles
        except TensorcopyError as error:
            problems.append(error)
    return found, problems


def read(path: Path) -> Profiles:
    """Return the profiles in a file. Raises TensorcopyError, naming the file, for a damaged one."""
    import lzma

    data = launches.content(path)
    with launches.damage_named(path):
        decompressor = lzma.LZMADecompressor(memlimit=MAX_MEMORY)
        try:
            text = decompressor.decompress(data, max_length=MAX_JSON_BYTES)
        except lzma.LZMAError as error:
            raise ValueError(str(error)) from error
        if not decompressor.eof:
            raise ValueError(f"cut off, or more than {MAX_JSON_BYTES:,} bytes")
        launches.require_version(path, text, VERSION)
        return _checked(text)


def write(folder: Path, sha: str, environment: str, document: dict[str, Any]) -> None:
    """Write a document of the profiles of a release and environment into the folder of a history.

    Raises TensorcopyError for one that violates the schema.
    """
    import lzma

    path, text = folder / f"{launches.new_id()}-{sha[:8]}-{environment}{ENDING}", json.dumps(document, separators=(",", ":")).encode()
    with launches.damage_named(path):
        _checked(text)
    files.replace(path, lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))


def _checked(text: bytes) -> Profiles:
    """Return the profiles in a JSON text. Raises ValueError for one that violates the schema, or refers to a function that it lacks."""
    profiles = _decoder.decode(text)
    for name, row in profiles.cases.items():
        numbers = row.functions[0::3]
        if len(row.functions) % 3 or not all(map(float.is_integer, numbers)) or max(numbers, default=0) >= len(profiles.functions):
            raise ValueError(f"{name} has a function that the file does not list")
    return profiles


_decoder = msgspec.json.Decoder(Profiles)
