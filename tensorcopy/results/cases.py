"""A case, the time of one, and the cases of a suite. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import product
from math import exp
from typing import Any

from tensorcopy.results import suite_specs
from tensorcopy.results.launches import TIMED, Suite
from tensorcopy.results.suite_specs import SuiteSpec
from tensorcopy.worker.devices import DEVICES

GREATEST_NUMEL = 2**62  # elements that a tensor may have
LEVEL = 0.95  # of the interval of a time
# a device among the values of a parameter: of torch, as a text or an object
DEVICE = re.compile(rf"(device\(type=)?'?(?P<device>{'|'.join(DEVICES)})(?![a-z_])")


@dataclass(frozen=True)
class Case:
    """A timed call, or a value that is counted or tracked: a suite and its parameters, by name and as text.

    suite : such as "copies.BySize.time_copy"
    tracked : the unit that a third-party suite declares for the value that it tracks; "" for a time, and for tensorcopy's own suites
    """

    suite: str
    parameters: tuple[tuple[str, str], ...]
    tracked: str = ""

    def __getitem__(self, name: str) -> str:
        return dict(self.parameters)[name]

    @cached_property
    def _hash(self) -> int:
        return hash((self.suite, self.parameters))

    def __hash__(self) -> int:
        return self._hash  # a case is looked up millions of times when a site is written

    def __reduce__(self) -> tuple[Any, ...]:
        return Case, (self.suite, self.parameters, self.tracked)  # without the hash: strings have another one in another process

    @property
    def spec(self) -> SuiteSpec:
        """What its suite is."""
        return suite_specs.find(self.suite, self.tracked)

    @property
    def device(self) -> str:
        """The device of its tensors."""
        return device_of(self.suite, dict(self.parameters))


@dataclass(frozen=True, slots=True)  # a site has a hundred thousand of them
class Timing:
    """The time of one case with one release.

    seconds : a call's, at the machine's usual speed
    error : relative standard error of the release's part in it, its distance from the mean of all sides; 0 or NaN where that is unknown
    launches : in how many it was measured
    freedom : degrees of freedom of the error; 0 where it is unknown
    spread : as `error`, of the release by itself: the difference of two releases varies by the squares of both together
    """

    seconds: float
    error: float = 0.0
    launches: int = 1
    freedom: float = 0.0
    spread: float = 0.0

    def factor(self, level: float = LEVEL) -> float:
        """Return the factor by which the ends of an interval are away from the time; 1 where its error is unknown."""
        return exp(_quantile(self.freedom, level) * self.error) if self.freedom and self.error > 0 else 1.0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the time; both ends are the time itself where its error is unknown."""
        factor = self.factor()
        return self.seconds / factor, self.seconds * factor


Cases = Mapping[str, tuple[Case, ...]]  # of a launch, in asv's order, by suite


@cache  # a site has a hundred thousand times, with a few degrees of freedom
def _quantile(freedom: float, level: float) -> float:
    """Return how many standard errors an interval by Student's t has on either side."""
    from scipy.special import stdtrit  # only where a time is shown with its error

    return float(stdtrit(freedom, (1 + level) / 2))


def device_of(suite: str, parameters: Mapping[str, str]) -> str:
    """Return the device of a case's tensors: that of its parameter, or else that of its suite.

    parameters : as text, by name; a third-party suite may have other values than devices
    """
    named = DEVICE.match(parameters.get("device", ""))
    return named["device"] if named else suite_specs.find(suite).device


def stored_cases(name: str, suite: Suite) -> tuple[Case, ...]:
    """Return the cases of a suite of a launch, see `cases_of`."""
    tracked = "" if suite.type in TIMED or suite_specs.find(name).shipped else suite.unit or "unit"
    return cases_of(name, tuple(suite.param_names), tuple(map(tuple, suite.params)), tracked)


@lru_cache(maxsize=512)  # a suite has the same cases in almost every file
def cases_of(suite: str, names: tuple[str, ...], params: tuple[tuple[str, ...], ...], tracked: str = "") -> tuple[Case, ...]:
    """Return a suite's cases in asv's order; a suite without parameters is one case.

    tracked : as in `Case`

    A `numel` of a third-party suite that is not a number of elements has another name. Raises ValueError for one that no tensor has.
    """
    if not suite_specs.find(suite).shipped:
        names = tuple("numel_" if name == "numel" and not all(map(_is_numel, values)) else name for name, values in zip(names, params))
    for name, values in zip(names, params):
        for text in values if name == "numel" else ():
            if not _is_numel(text):
                raise ValueError(f"numel {text[:20]!r}")
    return tuple(Case(suite, tuple(zip(names, texts, strict=True)), tracked) for texts in product(*map(_without_quotes, params)))


def _without_quotes(values: tuple[str, ...]) -> tuple[str, ...]:
    """Return a parameter's values without the quotes of texts, where these are not what tells two values apart, as 1 and '1'."""
    bare = tuple(value.strip("'") for value in values)
    return bare if len(set(bare)) == len(set(values)) else values


def _is_numel(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= len(str(GREATEST_NUMEL)) and 0 < int(text) <= GREATEST_NUMEL
