"""Mistakes in measuring a device, planted one at a time in a copy of the code: each turns a test of `test_emulated_cuda.py` red.

The copy is measured as the checkout is, and the guard that the checkout passes must fail.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.emulated_cuda import Request, guards
from tests.emulated_cuda.guards import LARGEST, NUMEL, SWITCHES

pytestmark = pytest.mark.weekly

CASES, ALLOCATIONS = "benchmarks/cases.py", "tensorcopy/worker/probes/allocations.py"
THROUGHPUT, LATENCY = (f"copies.{suite}.time_copy('detach_clone', {NUMEL}, 'cuda')" for suite in ("Throughput", "Latency"))
CONVERSION = "conversions.Latency.time_conversion('detach_numpy_copy', 1024, 'cuda')"
PEAK, OTHER_DEVICE = "peak('detach_clone', 'cuda:0')", "peak('detach_clone', 'cuda:1')"

Rows = Mapping[str, guards.Row]


def throughput(rows: Rows) -> None:
    guards.is_throughput(rows[THROUGHPUT])


def latency(rows: Rows) -> None:
    guards.is_throughput(rows[THROUGHPUT])
    guards.is_latency(rows[LATENCY], rows[THROUGHPUT])


def conversion(rows: Rows) -> None:
    guards.is_conversion(CONVERSION, rows[CONVERSION], is_emulated=False)  # by CUDA's events, which time the method's own code


def peak(rows: Rows) -> None:
    guards.is_peak(rows[PEAK])


def peak_of_the_other_device(rows: Rows) -> None:
    guards.is_peak(rows[OTHER_DEVICE])


def too_large(rows: Rows) -> None:
    guards.is_skipped_for_memory(rows[LARGEST])


GUARDED: dict[Callable[[Rows], None], tuple[str, ...]] = {
    throughput: (THROUGHPUT,),
    latency: (LATENCY, THROUGHPUT),
    conversion: (CONVERSION,),
    peak: (PEAK,),
    peak_of_the_other_device: (OTHER_DEVICE,),
    too_large: (LARGEST,),
}  # the cases that a guard reads


@dataclass(frozen=True)
class Mistake:
    """A text of a file and what replaces it, and the guard that must fail.

    error : what the case raises; "" where it is measured, and its value is wrong
    switches : of the emulated device, without "EMULATED_CUDA_"; a mistake with switches needs it
    """

    path: str
    before: str
    after: str
    guard: Callable[[Rows], None]
    error: str = ""
    switches: Mapping[str, int] = field(default_factory=dict)

    @property
    def cases(self) -> tuple[str, ...]:
        return GUARDED[self.guard]

    def planted(self, root: Path) -> Request:
        """Write the mistake into a new copy of the code, and return the request to measure it."""
        for name in ("benchmarks", "tensorcopy"):
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__", "site"))
        text = (root / self.path).read_text(encoding="utf-8")
        assert text.count(self.before) == 1, f"{self.path} has changed: plant the mistake into its new code"
        (root / self.path).write_text(text.replace(self.before, self.after), encoding="utf-8")
        return Request(root, self.cases, {f"EMULATED_CUDA_{name}": str(value) for name, value in self.switches.items()})


WAIT_BEHIND = "        {code}\n    wait()\n    return"
CODE = 'code=f"{code}; wait()" if each_waited_for else code'
CHECK, WARM_UP = (
    "    skip_without(device)\n    skip_without_memory(",
    "        self._warm_up(FIRST)\n",
)  # what makes a context, and loads code
BEGIN, END = "start = perf_counter()\n", "_spent[0] += perf_counter() - start\n"
CONTEXT_IN_A_SAMPLE = f"    {BEGIN}    skip_without(device)\n    {END}    skip_without_memory("
LOADING_IN_A_SAMPLE = f"        {BEGIN}{WARM_UP}        {END}"
AFTER, CURRENT = "    after = module.memory_stats(x.device)", "    after = module.memory_stats()"

MISTAKES = {
    "no wait behind the loop": Mistake(CASES, WAIT_BEHIND, "        {code}\n    return", throughput),
    "a wait after each copy of a throughput": Mistake(CASES, CODE, 'code=f"{code}; wait()"', latency),
    "no wait after each copy of a latency": Mistake(CASES, CODE, "code=code", latency),
    "a conversion without its copy": Mistake(CASES, WAIT_BEHIND, "        x.detach()\n    wait()\n    return", conversion),
    "a context in a sample": Mistake(CASES, CHECK, CONTEXT_IN_A_SAMPLE, throughput),
    "the loading of code in a sample": Mistake(CASES, WARM_UP, LOADING_IN_A_SAMPLE, throughput, switches={"CONTEXT_MS": 0}),
    "the peak is not reset": Mistake(ALLOCATIONS, "    module.reset_peak_memory_stats(x.device)", "    pass", peak),
    "memory of the current device": Mistake(ALLOCATIONS, AFTER, CURRENT, peak_of_the_other_device, switches={"DEVICES": 2}),
    "memory is not looked at": Mistake(
        CASES, "    skip_without_memory(numel, device)\n", "", too_large, error="CUDA out of memory", switches={"MEMORY_MB": 512}
    ),
    "CUDA is initialized before the fork": Mistake(
        CASES, "_spent = [0.0]", "torch.cuda.is_available()\n_spent = [0.0]", throughput, error="forked"
    ),
}


@pytest.fixture(scope="module")
def readings(gpu, tmp_path_factory):
    """What the suites of each copy with a mistake read."""
    folder = tmp_path_factory.mktemp("planted")
    mistakes = {name: mistake for name, mistake in MISTAKES.items() if gpu.is_emulated or not mistake.switches}
    requests = {name: mistake.planted(folder / str(number)) for number, (name, mistake) in enumerate(mistakes.items())}
    rows = gpu.readings(list(requests.values()), folder / "counters", **SWITCHES)
    return {name: {case: rows[str(request.root), case] for case in request.cases} for name, request in requests.items()}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_planted_mistake_is_caught(readings, name):
    """The guard that the checkout passes fails on these readings, and not for another reason."""
    if name not in readings:
        pytest.skip("only the emulated device can be switched")
    mistake, rows = MISTAKES[name], readings[name]
    for row in rows.values():
        assert mistake.error in row["error"] if mistake.error else row["value"] is not None, row
    with pytest.raises(AssertionError):
        mistake.guard(rows)
