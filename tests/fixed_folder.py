"""The fixed folder: launches in which each thing that can be said of a case is said of one, and the questions that are asked of them.

    python -m tests.fixed_folder   # writes tests/fixed/results/ again, after a change of this table or of the format

The history `box` has seven releases, sides of an older Python as links, counts and tracked values; `box-py3.9` has two releases on that
Python; `gpu` has a device, and a driver that changed. A line of `SMALL` and of `LARGE` is a case with its microseconds on each side, and
the comment says what becomes of it from 2.14.1 to 2.15.0. What is accepted stands in tests/fixed/tensorcopy.toml, written by hand.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests import launch_files
from tests.launch_files import START

FIXED = Path(__file__).resolve().parent / "fixed"
OLDEST, JOINT, LINKED, BEFORE, A, B = "2.4.1", "2.8.0", "2.9.1", "2.13.0", "2.14.1", "2.15.0"
APART = ("2.10.0", "2.11.0")  # they met no other release
ERROR = "RuntimeError: no kernel | <b>"
COPY, CONVERSION = "copies.BySize.time_copy", "conversions.BySize.time_conversion"

SMALL: dict[str, tuple[Any, Any, Any]] = {  # with 2.13.0, 2.14.1 and 2.15.0; 0.3 % from launch to launch
    f"{COPY} new_tensor 16": (2.0, 2.0, 2.5),  # slower, with more instructions
    f"{COPY} clone_detach 16": (1.5, 1.5, 1.2),  # faster
    f"{COPY} detach_clone 16": (1.1, 1.1, 1.1),  # unchanged, with fewer instructions
    f"{COPY} empty_like_copy 16": (1.5, 1.5, 1.8),  # slower, accepted
    f"{COPY} tensor 16": (2.0, 2.0, 2.2),  # slower, with instructions that vary
    f"{COPY} clone_detach 256": (1.5, 1.8, 1.7),  # faster than 2.14.1, and slower than 2.13.0: open since 2.14.1
    f"{COPY} new_tensor 256": (2.0, 1.93, 2.0),  # slower, and back to an earlier level
    f"{CONVERSION} detach_numpy_copy 16": (1.0, 1.3, 1.0),  # faster: the slowdown of 2.14.1 is taken back
    f"{CONVERSION} clone_detach_numpy 16": (1.0, 1.3, 1.3),  # unchanged: open since 2.14.1
    f"{CONVERSION} detach_clone_numpy 16": (1.0, 1.0, 1.0),  # unchanged
    f"{COPY} tensor 4": ([2.0] * 6, [2.0] * 6, [2.0] * 6),  # unchanged: in each launch exactly as long as with the others
    "floors.ByBytes.time_memcpy fresh 64": (0.5, 0.5, 0.5),  # a baseline that torch cannot change: not compared
}
LARGE: dict[str, tuple[Any, Any, Any]] = {  # the same; 4 % from launch to launch
    f"{COPY} new_tensor 1048576": (200.0, 200.0, 300.0),  # slower
    f"{COPY} clone_detach 1048576": (200.0, 200.0, 202.0),  # unknown: more launches would tell
    f"{COPY} detach_clone 1048576": (200.0, 200.0, ERROR),  # failed after
    f"{COPY} empty_like_copy 1048576": (200.0, ERROR, 200.0),  # failed before
    f"{COPY} tensor 1048576": (200.0, 200.0, None),  # skipped after
    f"{CONVERSION} detach_numpy_copy 1048576": (200.0, 200.0, 222.0),  # likely slower
    f"{CONVERSION} clone_detach_numpy 1048576": (200.0, None, 200.0),  # skipped before
}
OF_GPU: dict[str, tuple[Any, Any, Any]] = {  # on `gpu`, with 2.13.0 under another driver; 1 % from launch to launch
    "copies.Throughput.time_copy clone_detach 1048576 cuda": (9.0, 9.0, 12.0),  # slower
    "copies.Throughput.time_copy new_tensor 1048576 cuda": (9.0, 9.0, 7.5),  # faster
    "copies.Throughput.time_copy tensor 1048576 cuda": (9.0, 9.0, 9.0),
    "copies.Latency.time_copy tensor 16 cuda": (9.0, 9.0, 9.0),
    "copies.Latency.time_copy clone_detach 16 cuda": (9.0, 9.0, 9.0),
    f"{COPY} clone_detach 1048576": (150.0, 150.0, 150.0),  # the driver does not concern it
    f"{COPY} detach_clone 1048576": (150.0, 150.0, 180.0),  # slower
    f"{COPY} tensor 1048576": (150.0, 150.0, 150.0),
    f"{COPY} new_tensor 1048576": (150.0, 150.0, 150.0),
}
TRACKED = {  # of `box`: the value of each launch, with 2.14.1 and 2.15.0
    "several.track_exact": ([0.45, 0.45], [0.455, 0.455]),  # higher
    "several.track_equal": ([1.0, 1.0], [1.0, 1.0]),
    "several.track_once": ([3.0], [4.0]),  # unknown
    "several.track_rate": ([2.49, 2.5, 2.51], [2.39, 2.4, 2.41]),  # lower, in GB/s
    "several.track_varies": ([11.0, 13.0, 12.0], [12.5, 11.5, 13.5]),  # unknown, in seconds
    "several.track_loss": ([-0.75, -0.75], [0.0, 0.0]),  # higher, in nats
}
UNITS = {"several.track_rate": "GB/s", "several.track_varies": "seconds", "several.track_loss": "nats"}
INSTRUCTIONS = {  # of `box`: by method, with 2.14.1 and 2.15.0
    "new_tensor": (1000, 1200),
    "clone_detach": (1000, 1004),  # equal: less than 1 %
    "detach_clone": (1000, 900),
    "tensor": ([1000, 1020, 1000], [1009, 1031, 1030]),  # equal: the smallest counts differ by less than 1 %
}
GPU = {"accelerators": {"cuda": "NVIDIA H200"}, "driver": "NVIDIA 570.86", "cpu": "Box 9001"}

SLOWER, FASTER, UNCHANGED, UNKNOWN, LIKELY = "slower", "faster", "unchanged", "unknown", "likely slower"
COPIES_16 = ("new_tensor", "clone_detach", "detach_clone", "empty_like_copy", "tensor")  # with 16 elements
OF_16 = tuple(f"copies.BySize {method} numel=16" for method in COPIES_16)
ON_DEVICE = {
    "copies.Throughput clone_detach numel=1048576 device=cuda": SLOWER,
    "copies.Throughput new_tensor numel=1048576 device=cuda": FASTER,
    **{f"copies.{name} device=cuda": UNCHANGED for name in ("Throughput tensor numel=1048576", "Latency tensor numel=16")},
    "copies.Latency clone_detach numel=16 device=cuda": UNCHANGED,
}
# What is asked of `tensorcopy compare`, and what must be said of each case that both sides have; of all others unknown
QUESTIONS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "neighbours": (
        (A, B),
        {
            **dict(zip(OF_16, (SLOWER, FASTER, UNCHANGED, SLOWER, SLOWER))),
            **{"copies.BySize clone_detach numel=256": FASTER, "copies.BySize new_tensor numel=256": SLOWER},
            **{f"conversions.BySize {method}_numpy numel=16": UNCHANGED for method in ("clone_detach", "detach_clone")},
            **{"conversions.BySize detach_numpy_copy numel=16": FASTER, "copies.BySize tensor numel=4": UNCHANGED},
            **{"copies.BySize new_tensor numel=1048576": SLOWER, "conversions.BySize detach_numpy_copy numel=1048576": LIKELY},
            **{"several.track_exact": "higher", "several.track_equal": "equal"},
            **{"several.track_rate": "lower", "several.track_loss": "higher"},
        },
    ),
    "by way of others": ((JOINT, B), dict(zip(OF_16, (SLOWER, FASTER, FASTER, FASTER, FASTER)))),
    "by a link": ((LINKED, B), dict(zip(OF_16, (SLOWER, FASTER, FASTER, FASTER, FASTER)))),
    "of an older Python": ((OLDEST, JOINT), dict(zip(OF_16, (SLOWER, SLOWER, SLOWER, SLOWER, SLOWER)))),
    "never met": ((APART[1], B), {}),
    "in other launches": (APART, {OF_16[4]: SLOWER}),
    "a device": ((A, B, "--device", "cuda"), ON_DEVICE),
    "another driver": ((BEFORE, B, "--device", "cuda"), ON_DEVICE),
    "the host of a device": (
        (BEFORE, B, "--history", "gpu"),
        {f"copies.BySize {method} numel=1048576": UNCHANGED for method in ("clone_detach", "tensor", "new_tensor")}
        | {"copies.BySize detach_clone numel=1048576": SLOWER},
    ),
}


def over(cases: dict[str, tuple[Any, Any, Any]], sides: Iterable[str] = (BEFORE, A, B)) -> dict[str, dict[str, Any]]:
    """Return cases with their times by side."""
    return {case: dict(zip(sides, times)) for case, times in cases.items()}


def write(results: Path) -> None:
    """Write the launches."""
    day = timedelta(days=1)
    launch_files.write(results, over(SMALL), launches=6, noise=0.003)
    launch_files.write(results, over(LARGE), launches=6, noise=0.04, start=START + day)
    names = [f"{COPY} {method} 16" for method in ("new_tensor", "clone_detach", "detach_clone", "empty_like_copy", "tensor")]
    older = {case: {f"{OLDEST}@3.9": 2.0 if place else 1.7, f"{JOINT}@3.9": 2.0 + 0.2 * place} for place, case in enumerate(names)}
    launch_files.write(results, older, launches=3, start=START + 2 * day)
    pythons = {case: {f"{JOINT}@3.9": 2.0 + 0.2 * place, JOINT: 2.2 + 0.2 * place} for place, case in enumerate(names)}
    launch_files.write(results, pythons, launches=3, start=START + 3 * day)
    linked = {case: {f"{JOINT}@3.9": 2.0 + 0.2 * place, LINKED: 2.2 + 0.3 * place} for place, case in enumerate(names)}
    launch_files.write(results, linked, launches=3, start=START + 3.5 * day)
    joint = {case: {JOINT: 1.0 + 0.2 * place, BEFORE: 1.2} for place, case in enumerate(names)}
    launch_files.write(results, joint, launches=4, start=START + 4 * day, noise=0.01)
    # paired in four launches: those by way of another release would count as two more, which is no reason to join them
    for number, sides in enumerate(((JOINT, B), (JOINT, BEFORE), (BEFORE, B))):
        direct = {f"{COPY} {method} 64": dict.fromkeys(sides, 3.0) for method in COPIES_16}
        launch_files.write(results, direct, launches=4, start=START + (4.3 + number / 5) * day, noise=0.03)
    apart = {case: {APART[0]: 2.0, APART[1]: 2.0 + 0.02 * place} for place, case in enumerate(names)}
    launch_files.write(results, apart, launches=5, start=START + 5 * day, noise=0.02)
    launch_files.write(results, {"alternatives.BySize.time_alternative clone 16": {A: 2.0}}, launches=1, start=START + 6 * day)
    launch_files.write(results, {"alternatives.BySize.time_alternative copy 16": {B: 2.0}}, launches=1, start=START + 7 * day)
    alone = {f"{COPY} tensor 16": {B: 9.0}}  # while others were not measured: it says nothing
    launch_files.write(results, alone, launches=1, start=START + 7.5 * day)
    counted = {f"instructions.BySize.track_instructions {name} 16 False": sides for name, sides in INSTRUCTIONS.items()}
    for place, release in enumerate((A, B)):
        values = {
            case: sides[place] for case, sides in {**TRACKED, **counted, "memory.Host.track_peak clone_detach 16 cpu": (64, 128)}.items()
        }
        launch_files.write_counts(results, release, values, units=UNITS, start=START + (8 + place) * day)
    others = {"2.13.0": {**GPU, "driver": "NVIDIA 550.54"}, A: GPU, B: GPU}
    launch_files.write(results, over(OF_GPU), sides=others, launches=6, noise=0.01, machine="gpu", start=START + 10 * day)


if __name__ == "__main__":
    shutil.rmtree(FIXED / "results")
    write(FIXED / "results")
