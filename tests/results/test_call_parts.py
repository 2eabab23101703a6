"""The parts of a call on a device: they add up to its time, whatever the launches that tell them were like."""

import pytest

from tensorcopy.results.call_parts import AFTER, CALL, COPY, DEVICE, HOST, LAUNCH, WAIT
from tests import launch_files

LATENCY = "copies.Latency.time_copy clone_detach 1024 cuda"
CONVERSION = "conversions.Latency.time_conversion detach_numpy_copy 1024 cuda"


def parts_of(folder, case, *taken, **provenance):
    """Return the parts of a case in microseconds; taken : those of each launch.

    provenance : what differs between launches, with a value for each
    """
    for day, parts in enumerate(taken, 1):
        whole = parts[2 if case == LATENCY else 1] * (1 + 1e-5 * day)  # two launches never have the same time
        of_launch = {name: values[day - 1] for name, values in provenance.items()}
        start = launch_files.START.replace(day=day)
        launch_files.write(
            folder,
            {case: {"2.15.0": [whole]}},
            parts={case: {"2.15.0": parts}},
            start=start,
            accelerators={"cuda": "Card 9000"},
            **of_launch,
        )
    (result,) = launch_files.load(folder)
    assert len(result.launches) == len(taken)
    of_case = result.parts[launch_files.case(case)]
    assert sum(of_case.values()) == pytest.approx(result.timings[launch_files.case(case)].seconds)
    return {name: pytest.approx(1e6 * seconds, rel=1e-3) for name, seconds in of_case.items()}


@pytest.mark.parametrize(
    ("case", "taken", "expected"),
    [
        (LATENCY, (2, 8, 15, 3), {CALL: 2, LAUNCH: 6, DEVICE: 3, WAIT: 4}),
        (LATENCY, (2, 8, 15, 9), {CALL: 2, LAUNCH: 6, DEVICE: 7}),  # it begins before the call returns
        (LATENCY, (None, 8, 15, None), {HOST: 8, AFTER: 7}),
        (LATENCY, (9, 8, 15, 3), {CALL: 8, DEVICE: 3, WAIT: 4}),
        (CONVERSION, (3, 15, 16, None), {CALL: 3, COPY: 12}),
        (CONVERSION, (None, 15, 16, None), {HOST: 15}),
    ],
)
def test_what_is_not_told_is_in_a_part_with_another_name(tmp_path, case, taken, expected):
    assert parts_of(tmp_path, case, taken) == expected


def test_a_slow_processor_makes_the_host_slower_and_not_the_device(tmp_path):
    """The parts of three launches, in one of which all that the host does takes half as long again, are those of the usual one."""
    usual, slow = (2, 8, 15, 3), (3, 12, 21, 3)
    assert parts_of(tmp_path, LATENCY, usual, slow, usual) == {CALL: 2, LAUNCH: 6, DEVICE: 3, WAIT: 4}


def test_launches_that_are_left_out_tell_no_parts(tmp_path):
    """Those under other conditions than the newest: another driver."""
    before, after = (2, 14, 15, 1), (2, 8, 15, 3)
    drivers = ["580.1.1", "580.2.2"]
    assert parts_of(tmp_path, LATENCY, before, after, driver=drivers) == {CALL: 2, LAUNCH: 6, DEVICE: 3, WAIT: 4}
