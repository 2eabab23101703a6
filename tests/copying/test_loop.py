"""The loop that is timed: seconds per call, on new inputs, and turns of several loops in one process."""

import gc
from statistics import median

import pytest
import torch

from tensorcopy.copying.inside import loop
from tensorcopy.copying.inside.loop import Loop, take_turns


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def now(monkeypatch):
    """A wall clock that advances only when the timed code advances it."""
    moment = [0.0]
    monkeypatch.setattr(loop, "perf_counter", lambda: moment[0])
    return moment


def of(function, **options) -> Loop:
    timed = Loop("function()", lambda: {"function": function}, **options)
    timed.calibrate()
    return timed


def per_call(timed: Loop) -> float:
    return timed.seconds(timed.calls) / timed.calls


def test_a_suspended_process_does_not_get_a_short_turn(now):
    calls = []

    def function():
        calls.append(None)
        now[0] += 1.0 if len(calls) == loop.FIRST + 1 else 1e-6

    assert of(function).calls * 1e-6 >= loop.TURN_SECONDS


def test_the_cost_of_the_first_calls_is_in_no_turn(now):
    """The first copies of 4 MiB cause page faults, and take twenty times as long, again after a new tensor was made."""
    slow_calls = [0]

    def place():
        slow_calls[0] += 2
        return {"function": function}

    def function():
        now[0] += 2e-3 if slow_calls[0] > 0 else 1e-5
        slow_calls[0] -= 1

    timed = Loop("function()", place, nbytes=64)
    timed.calibrate()
    assert timed.calls * 1e-5 >= loop.TURN_SECONDS
    for _ in range(3):
        slow_calls[0] = 0
        timed.move()
        assert per_call(timed) == pytest.approx(1e-5)


@pytest.mark.parametrize("each", [False, True], ids=["throughput", "latency"])
def test_a_device_is_waited_for_around_the_loop_or_after_each_call(now, monkeypatch, each):
    waits, calls = [], []

    def function():
        calls.append(None)
        now[0] += 1e-3

    monkeypatch.setattr(loop, "monotonic", lambda: now[0])
    monkeypatch.setattr(loop.devices, "waiter", lambda device: lambda: waits.append(device))
    timed = of(function, device="cuda", each_waited_for=each)
    waits.clear()
    calls.clear()
    timed.seconds(100)
    assert (len(calls), waits) == (100, ["cuda"] * (2 + (100 if each else 0)))


def test_a_device_is_used_until_its_clocks_are_up(now, monkeypatch):
    """An idle GPU becomes faster for some milliseconds; later parts of ten are not faster than earlier ones."""
    monkeypatch.setattr(loop, "monotonic", lambda: now[0])
    monkeypatch.setattr(loop.devices, "waiter", lambda device: float)
    seconds = [0.004]

    def function():
        now[0] += seconds[0]
        seconds[0] = max(0.001, seconds[0] * 0.98)

    of(function, device="cuda")
    assert seconds[0] == 0.001


def test_every_turn_has_an_input_at_another_address():
    """Earlier ones and fillers are kept, so that the allocator cannot reuse the address; no more than some.

    As many are made before the first turn: while the heap grows, a copy of 4 MiB gets new pages, which take 5 ms.
    """
    made = []
    timed = Loop("x", lambda: {"x": made.append(None) or torch.ones(2**10)}, nbytes=2**12)
    assert len(made) > loop.HELD
    pointers = []
    for _ in range(3 * loop.HELD):
        timed.move()
        pointers.append(timed.names["x"].data_ptr())
    assert all(one != other for one, other in zip(pointers, pointers[1:]))
    assert len({pointer % 4096 for pointer in pointers}) > loop.HELD / 2  # the allocator decides how many
    assert len(timed._held) <= loop.HELD


@pytest.mark.parametrize(("share", "slowed", "expected"), [("0.05", True, 1.05), ("0.01", True, 1.01), ("0.1", False, 1.0)])
@pytest.mark.parametrize("seconds", [1e-6, 1e-4, 3e-3])
def test_an_injected_slowdown_has_the_given_size(now, monkeypatch, share, slowed, expected, seconds):
    """In every turn, by calls that are not counted and a wait for the part of one. Baselines measure the machine alone."""
    monkeypatch.setenv(loop.EXTRA, share)
    for clock in ("perf_counter", "thread_time"):
        monkeypatch.setattr(loop, clock, lambda: now.__setitem__(0, now[0] + 1e-8) or now[0])
    timed = of(lambda: now.__setitem__(0, now[0] + seconds), slowed=slowed)
    assert [per_call(timed) for _ in range(3)] == pytest.approx([seconds * expected] * 3, rel=1e-4)


@pytest.mark.parametrize("kept", [False, True])
def test_memcpy_copies_the_bytes_of_a_tensor(kept):
    """Into new memory, or into existing memory."""
    timed = loop.memcpy(4, 2, step=2, kept=kept)
    timed.calibrate()
    assert timed.seconds(10) > 0
    assert not kept or timed.names["out"].tolist() == timed.names["x"].tolist()


def test_turns_end_after_the_longest_time(now, monkeypatch):
    """Not before there are some of each loop."""
    monkeypatch.setattr(loop, "monotonic", lambda: now[0])
    loops = {"a": of(lambda: now.__setitem__(0, now[0] + 2.0))}
    assert len(take_turns(loops, 100)["a"]) == loop.FEWEST_TURNS


def test_loops_take_turns(now):
    """In random order, without garbage collection; what slows some turns down slows all loops down alike."""
    order, enabled = [], []

    def work(name, seconds):
        def function():
            order.append(name)
            enabled.append(gc.isenabled())
            now[0] += seconds * (3 if len(order) % 40_000 < 20_000 else 1)

        return function

    loops = {"slow": of(work("slow", 2e-5)), "fast": of(work("fast", 1e-5))}
    order.clear()
    enabled.clear()
    seconds = take_turns(loops, 40)
    assert {len(times) for times in seconds.values()} == {40}
    assert median(slow / fast for slow, fast in zip(*seconds.values())) == pytest.approx(2, rel=0.05)
    assert enabled
    assert not any(enabled)
    assert gc.isenabled()
    turns = [name for name, before in zip(order, [None, *order]) if name != before]
    assert 45 <= len(turns) <= 75  # neither always one after the other, nor in blocks
