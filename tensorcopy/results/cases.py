"""A case, and other cases: those of a suite, those that belong to it, and those that a pattern selects by name. Pure.

To a timed case belong an exact count, and the memcpy baseline of the same bytes: which suites have them stands in the table of suites.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from itertools import islice, product

from msgspec import Struct

from tensorcopy.errors import TensorcopyError
from tensorcopy.results.kinds import Kind
from tensorcopy.results.suite_specs import NUMEL, SuiteSpec
from tensorcopy.worker.devices import DEVICES

GREATEST_NUMEL = 2**62  # elements that a tensor may have
DEFAULTS = {"requires_grad": "False", "layout": "contiguous", "dtype": "float32"}  # of suites without these parameters
# bytes, by dtype; the first ones are measured
ITEMSIZE = {"float32": 4, "float16": 2, "bfloat16": 2, "int64": 8, "bool": 1, "float64": 8, "complex64": 8, "int32": 4, "uint8": 1}
NAMED = 6  # names in an error
# a device among the values of a parameter: of torch, as a text or an object
DEVICE = re.compile(rf"(device\(type=)?'?(?P<device>{'|'.join(DEVICES)})(?![a-z_])")


class Case(Struct, frozen=True, cache_hash=True, dict=True):  # looked up millions of times when a site is written
    """A timed call, or a value that is counted or tracked: a suite and its parameters, by name and as text."""

    spec: SuiteSpec  # what its suite is
    parameters: tuple[tuple[str, str], ...]

    def __getitem__(self, name: str) -> str:
        return dict(self.parameters)[name]

    @property
    def suite(self) -> str:
        """The name of its suite, such as "copies.BySize.time_copy"."""
        return self.spec.name

    @property
    def name(self) -> str:
        """Its name: "copies.BySize detach_clone numel=1024"."""
        return " ".join([self.spec.label, *(value if name == "method" else f"{name}={value}" for name, value in self.parameters)])

    @property
    def kind(self) -> Kind:
        """The kind of its values."""
        return self.spec.of_kind

    @cached_property
    def device(self) -> str:
        """The device of its tensors: that of its parameter, which of a suite without a row may be no device, or else that of its suite."""
        named = DEVICE.match(dict(self.parameters).get("device", ""))
        return named["device"] if named else self.spec.device

    @property
    def besides(self) -> Hashable:
        """What cases share that differ in their methods alone: these can take turns with each other."""
        return self.suite, tuple(each for each in self.parameters if each[0] != "method")


def names_of(suite: str, params: Iterable[Sequence[str]]) -> list[str]:
    """Return the names of a suite's cases, as asv writes them: "copies.BySize.time_copy('clone', 16)"."""
    return [f"{suite}({', '.join(values)})" if values else suite for values in product(*params)]


Cases = Mapping[str, tuple[Case, ...]]  # of a launch, in asv's order, by suite


@lru_cache(maxsize=512)  # a suite has the same cases in almost every file
def cases_of(spec: SuiteSpec, names: tuple[str, ...], params: tuple[tuple[str, ...], ...]) -> tuple[Case, ...]:
    """Return a suite's cases in asv's order; a suite without parameters is one case.

    A parameter of a suite without a row that has a name of the shipped ones, and is something else, gets an underscore after it: a method,
    and a `numel` or `requires_grad` with other values. Raises ValueError for a number of elements that no tensor has.
    """
    if not spec.shipped:
        same = {"numel": _is_numel, "requires_grad": ("True", "False").__contains__, "method": lambda text: False}
        names = tuple(name if name not in same or all(map(same[name], values)) else f"{name}_" for name, values in zip(names, params))
    if unknown := [text for name, values in zip(names, params) if name == "numel" for text in values if not _is_numel(text)]:
        raise ValueError(f"numel {unknown[0][:20]!r}")
    bare = [[value.strip("'") for value in values] for values in params]  # unless quotes alone tell two values apart, as 1 and '1'
    shown = [without if len({*without}) == len({*values}) else values for without, values in zip(bare, params)]
    return tuple(Case(spec, tuple(zip(names, texts, strict=True))) for texts in product(*shown))


def _is_numel(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= len(str(GREATEST_NUMEL)) and 0 < int(text) <= GREATEST_NUMEL


@cache
def counted_case(case: Case) -> Case | None:
    """Return the case whose instructions were counted for a timed case; None where nothing is counted."""
    for spec in case.spec.counted:
        if all(parameter in spec.parameters or DEFAULTS.get(parameter) == value for parameter, value in case.parameters):
            return case_of(spec, {**DEFAULTS, **dict(case.parameters)})
    return None


def case_of(spec: SuiteSpec, values: Mapping[str, str]) -> Case:
    """Return the case of a suite with a row that has these values of its parameters."""
    return Case(spec, tuple((parameter, values[parameter]) for parameter in spec.parameters))


def baseline_case(case: Case) -> Case | None:
    """Return the memcpy baseline of a case, which copies the same bytes with the least work; None without one, or of an unknown dtype.

    On the CPU memcpy into new memory, without torch, and for a strided tensor a gather; on a device torch's copy into existing memory,
    waited for like the case itself, and to the host the transfer.
    """
    parameters, spec = dict(case.parameters), case.spec
    itemsize = ITEMSIZE.get(parameters.get("dtype", DEFAULTS["dtype"]))
    if spec.baseline is None or itemsize is None or NUMEL not in parameters:
        return None
    values = {
        **parameters,
        "memory": "fresh",
        "nbytes": str(int(parameters[NUMEL]) * itemsize),
        "way": "device to host, pageable" if spec.to_host else "device to device",
        "device": case.device,
    }
    return case_of(spec.strided_baseline if spec.strided_baseline and values.get("layout") == "strided" else spec.baseline, values)


def matching(names: Iterable[str], pattern: str) -> list[str]:
    """Return the name that `pattern` is, or else those that it matches as a regular expression."""
    names = [*names]
    return [pattern] if pattern in names else [name for name in names if re.search(pattern, name)]


def only_match(names: Mapping[str, str], pattern: str, none: str, next: str) -> str:
    """Return what the names that `matching` finds are of. Raises TensorcopyError where that is nothing, or several."""
    matches = [*dict.fromkeys(names[name] for name in matching(names, pattern))]
    if len(matches) == 1:
        return matches[0]
    raise TensorcopyError(
        "more than one case matches" if matches else none,
        got=f"{pattern!r}, which matches {len(matches)}",
        allowed=some(matches or dict.fromkeys(names.values())),
        next=next,
    )


def kinds_of_cases(cases: Iterable[Case]) -> list[str]:
    """Return the names of cases without their sizes, each once: a list of what there is names many methods, not one at many sizes."""
    without = (Case(case.spec, tuple(each for each in case.parameters if each[0] not in (NUMEL, "nbytes"))) for case in cases)
    return [*dict.fromkeys(case.name for case in without)]


def some(names: Collection[str]) -> str:
    """Return the first of some names as a text that an error shows, with a sign of the others; "none" for none."""
    return ", ".join([*islice(names, NAMED), *(["…"] if len(names) > NAMED else [])]) or "none"
