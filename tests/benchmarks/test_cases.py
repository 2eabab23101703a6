"""The cases of the suites: their tensors, their clock, and reasons for skipping."""

import sys
from types import SimpleNamespace

import pytest
import torch

from tests.conftest import ROOT

sys.path.insert(0, str(ROOT))
from asv_runner.benchmarks.mark import SkipNotImplemented
from asv_runner.discovery import disc_benchmarks

from benchmarks import article, cases, copies, floors, instructions
from tensorcopy.copying import shipped as campaign
from tensorcopy.copying.inside import instruction_count, loop
from tensorcopy.copying.inside.methods import ALTERNATIVES, COPIES, DTYPES, make_tensor
from tensorcopy.measure import launch, plan
from tensorcopy.worker import turns
from tests.conftest import SHIPPED


@pytest.fixture(autouse=True)
def clean_state(monkeypatch):
    monkeypatch.setattr(cases, "_last", {})
    monkeypatch.setattr(cases, "_spent", [0.0])
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize(("device", "nbytes"), [("cuda", 2**31), ("xpu", 2**31), ("mps", 2**31), ("mps", None), ("cpu", None)])
def test_a_tensor_that_the_device_cannot_hold_is_skipped(monkeypatch, device, nbytes):
    """Of any accelerator that reports its memory."""
    properties = SimpleNamespace(total_memory=nbytes)
    module = SimpleNamespace(get_device_properties=lambda index: properties)
    if nbytes is not None and device == "mps":
        module.recommended_max_memory = lambda: nbytes
    monkeypatch.setattr(torch, device, module, raising=False)
    cases.skip_without_memory(2**24, device)
    if nbytes is None:
        cases.skip_without_memory(2**28, device)
    else:
        with pytest.raises(SkipNotImplemented, match=r"4 tensors of 1 GiB, and the device has 2\.0 GiB"):
            cases.skip_without_memory(2**28, device)


def test_the_baseline_of_a_strided_tensor_gathers_elements_of_its_size():
    """That of a dense one copies bytes in a row."""
    for suite, time, strides in ((floors.Strided(), floors.Strided.time_gather, 8), (floors.ByBytes(), floors.ByBytes.time_memcpy, 1)):
        suite.tensorcopy_loops = []
        time(suite, "kept", 2**14)
        x = suite.tensorcopy_loops[0].names["x"]
        assert (x.shape, x.strides) == ((2**14,), (strides,))


@pytest.mark.parametrize(
    ("suite", "values", "made"),
    [
        (copies.ByGrad, (1024, True), ((1024,), (1,), torch.float32, True)),
        (copies.ByLayout, (2**14, "strided"), ((2**14,), (2,), torch.float32, False)),
        (copies.ByDtype, (2**17, "float16"), ((2**17,), (1,), torch.float16, False)),
        (article.Copies, (4,), ((4,), (1,), torch.float32, False)),
    ],
)
def test_the_parameters_of_a_suite_are_those_of_its_tensor(suite, values, made):
    """And of another one after each move."""
    timed = suite()
    timed.tensorcopy_loops = []
    timed.time_copy("clone", *values)
    x = timed.tensorcopy_loops[0].names["x"]
    assert (tuple(x.shape), x.stride(), x.dtype, x.requires_grad) == made
    timed.tensorcopy_loops[0].move()
    assert timed.tensorcopy_loops[0].names["x"] is not x


@pytest.mark.parametrize(("suite", "name", "value"), [("BySize", "requires_grad", True), ("ByLayout", "layout", "strided")])
def test_instructions_are_those_of_the_section_with_the_suite_s_parameter(suite, name, value):
    """A section that was not counted is skipped with the method's name; without valgrind all are, with the reason."""
    track = getattr(instructions, suite)().track_instructions
    counts = {instruction_count.Section("tensor", 16): 8.0, instruction_count.Section("tensor", 16, **{name: value}): 7.0}
    assert track(counts, "tensor", 16, value) == 7.0
    for of, reason in ((counts, "tensor is not in this torch"), ("no valgrind", "no valgrind")):
        with pytest.raises(SkipNotImplemented, match=reason):
            track(of, "tensor", 32, value)


def test_making_a_case_takes_no_time_on_the_clock(monkeypatch):
    """Neither does calibration: asv uses the first call as its sample."""
    now = [0.0]
    monkeypatch.setattr(loop, "perf_counter", lambda: now[0])

    def body():
        now[0] += 3.0  # a CUDA context
        suite.time(loop.Loop("function()", lambda: {"function": lambda: now.__setitem__(0, now[0] + 1e-6)}))

    suite = cases.Suite()
    before = cases.clock()
    body()
    assert cases.clock() - before == pytest.approx(1e-6)


@pytest.mark.parametrize(
    ("layout", "contiguous", "dense"),
    [("contiguous", True, True), ("transposed", False, True), ("strided", False, False), ("channels_last", False, True)],
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_tensor_has_the_requested_layout_dtype_and_size(layout, contiguous, dense, dtype):
    x = make_tensor(2**12, dtype=dtype, layout=layout)
    assert x.numel() == 2**12
    assert x.dtype == getattr(torch, dtype)
    assert x.is_contiguous() is contiguous
    assert (sum((n - 1) * s for n, s in zip(x.shape, x.stride())) == x.numel() - 1) is dense


@pytest.mark.parametrize(
    ("method", "arguments", "version", "reason"),
    [
        (COPIES["clone_detach"], {"device": "xpu"}, "", "no xpu here"),
        (ALTERNATIVES["asarray_copy"], {}, "1.9.0", r"torch.asarray\(x, copy=True\) exists from torch 1.11.0 on"),
    ],
    ids=["device", "a later method"],
)
def test_a_case_that_cannot_run_is_skipped_with_a_reason(monkeypatch, method, arguments, version, reason):
    if arguments.get("device") and torch.xpu.is_available():
        pytest.skip("there is an xpu")
    monkeypatch.setattr(torch, "__version__", version or torch.__version__)
    with pytest.raises(SkipNotImplemented, match=reason):
        cases.case(method, 16, **arguments)


@pytest.mark.slow
def test_the_shipped_launches_have_the_suites_versions(shipped_results):
    """Those of another version would be in no history."""
    launches = (launch for history in shipped_results.histories for launch in history.launches)
    shipped = {name: suite.version for launch in launches for name, suite in launch.suites.items()}
    versions = {benchmark.name: benchmark.version for benchmark in disc_benchmarks(str(ROOT / "benchmarks"))}
    assert {name: version for name, version in shipped.items() if versions[name] != version} == {}


@pytest.mark.slow
def test_the_shipped_launches_have_every_timed_case_of_the_cpu(shipped_results):
    """`tensorcopy measure` would take those of every release again for one that they lack; so would a count of a method for CUDA alone."""
    own = (launch._kept(each, campaign.shipped().specs) for each in turns.Suites(str(ROOT / "benchmarks")).described)
    described = {suite.name: suite for suite in own}
    suites = plan.wanted(plan.Request(()), described, ["cpu"])
    (history,) = (each for each in shipped_results.histories if each.name == SHIPPED.name)
    there = plan.counts(history.launches, suites, {})
    timed = [text for suite in plan.timed(suites, newest=False).values() for text in suite.selected]
    assert min(there[history.results[-1].place, text] for text in timed) >= 12
    assert [text for suite in suites.values() if not suite.timed for text in suite.selected if "pinned" in text] == []
