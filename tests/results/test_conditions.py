"""Conditions are those of each launch, and concern the cases that they can touch."""

import pytest

from tensorcopy.judge import comparisons
from tensorcopy.judge.comparisons import Question
from tensorcopy.judge.paired import Reason, Verdict
from tensorcopy.measure import plan, side_benchmarks
from tensorcopy.measure.side_benchmarks import Benchmark
from tensorcopy.report import sentences
from tensorcopy.results import reader
from tensorcopy.results.launches import Suite
from tensorcopy.worker.nvidia import driver_version
from tests import launch_files

NAMES = ("2.14.1", "2.15.0")
CPU, CUDA = "copies.BySize.time_copy tensor 16", "copies.Throughput.time_copy tensor 16 cuda"
CONVERSION = "conversions.BySize.time_conversion numpy 16"
TRACKED = "theirs.track_it kind=a"
KERNEL = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (nixbld@)  "
GPU = {"accelerators": {"cuda": "NVIDIA H9"}, "driver": "580.159.04"}
LATER = launch_files.START + 20 * launch_files.EVERY


def write(folder, earlier, later, *, cases=(CPU,), sides=NAMES, of_later=NAMES):
    """Write twelve launches under conditions, and then four under others, in which everything takes a tenth longer."""
    launch_files.write(folder, {case: dict.fromkeys(sides, 1.0) for case in cases}, **earlier)
    launch_files.write(folder, {case: dict.fromkeys(of_later, 1.1) for case in cases}, launches=4, start=LATER, **later)


def launches_of(folder, release="2.15.0"):
    """Return in how many launches each timed case of a release counts, by device."""
    (result,) = launch_files.load(folder, release)
    return {case.device: timing.launches for case, timing in result.timings.items()}


@pytest.mark.parametrize(
    ("earlier", "later", "fields"),
    [
        ({"governor": "performance"}, {"governor": "powersave"}, "governor performance, not powersave"),
        ({"settings": {}}, {"settings": {"OMP_NUM_THREADS": "1"}}, "settings {}, not {'OMP_NUM_THREADS': '1'}"),
        ({"threads": 2}, {"threads": 1}, "threads 2, not 1"),
        ({"python": "3.11.7"}, {"python": "3.11.9"}, "python 3.11.7, not 3.11.9"),
        ({"cpu_quota": None}, {"cpu_quota": 1.5}, "cpu_quota none, not 1.5"),
    ],
    ids=lambda each: "" if isinstance(each, dict) else each.split()[0],
)
def test_launches_under_other_conditions_than_the_newest_do_not_count(tmp_path, earlier, later, fields):
    """Which, why, and what to do is said; times are those of the newest conditions."""
    write(tmp_path, earlier, later)
    assert launches_of(tmp_path) == {"cpu": 4}
    (warning,) = reader.load_results(tmp_path).warnings
    assert "got 20261121T0800" in str(warning)
    assert f" and 11 others with {fields}, of torch 2.14.1 2.15.0; " in str(warning)
    assert "next: tensorcopy measure 2.14.1 2.15.0 --machine box, or remove the newest" in str(warning)


def test_two_governors_are_no_slowdown(tmp_path):
    """One side was measured again under another: a comparison says what differs, and never how much slower it is."""
    write(tmp_path, {"governor": "performance"}, {"governor": "powersave"}, sides=["2.14.1", "2.15.0"], of_later=["2.15.0"])
    (change,) = comparisons.between(Question(*launch_files.load(tmp_path, *NAMES))).changes.values()
    assert (change.verdict, change.reason) == (Verdict.UNKNOWN, Reason.PROVENANCE_DIFFERS)
    assert [each.field for each in change.differences] == ["governor"]


def test_a_new_driver_concerns_the_cases_of_its_device_only(tmp_path):
    write(tmp_path, GPU, {**GPU, "driver": "590.1"}, cases=[CPU, CUDA])
    assert launches_of(tmp_path) == {"cpu": 16, "cuda": 4}
    (warning,) = reader.load_results(tmp_path).warnings
    assert "driver 580.159.04, not 590.1" in str(warning)


def test_a_driver_that_one_side_alone_was_measured_under_leaves_the_cpu_compared(tmp_path):
    launch_files.write(
        tmp_path, {case: dict.fromkeys(NAMES, 1.0) for case in (CPU, CUDA)}, sides={"2.15.0": {**GPU, "driver": "590.1"}}, **GPU
    )
    changes = comparisons.between(Question(*launch_files.load(tmp_path, *NAMES))).changes
    assert {case.device: [each.field for each in change.differences] for case, change in changes.items()} == {"cpu": [], "cuda": ["driver"]}


def test_a_driver_has_one_name(tmp_path):
    """The kernel's line and the library's version are the same one."""
    assert driver_version(KERNEL) == driver_version("580.159.04") == "580.159.04"
    assert driver_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6 22:20:39 UTC 2023") == "535.54.03"
    assert (driver_version(""), driver_version("590.1"), driver_version("unknown")) == ("", "590.1", "unknown")
    write(tmp_path, {**GPU, "driver": KERNEL}, GPU, cases=[CUDA])
    assert launches_of(tmp_path) == {"cuda": 16}
    assert reader.load_results(tmp_path).warnings == ()
    assert launch_files.load(tmp_path, "2.15.0")[0].provenance["driver"] == "580.159.04"


def test_another_numpy_concerns_the_cases_that_use_it_only(tmp_path):
    write(tmp_path, {"numpy": "1.26.4"}, {"numpy": "1.26.5"}, cases=[CPU, CONVERSION])
    (result,) = launch_files.load(tmp_path, "2.15.0")
    assert {case.spec.module: timing.launches for case, timing in result.timings.items()} == {"copies": 16, "conversions": 4}


def test_a_case_that_no_later_launch_has_keeps_its_own_conditions(tmp_path):
    """It is compared under these, whatever the newest launch of its side was."""
    old, new = {"governor": "performance"}, {"governor": "powersave"}
    launch_files.write(tmp_path, {CPU: {"2.14.1": 1.0, "2.15.0": 1.2}, CONVERSION: dict.fromkeys(NAMES, 1.0)}, **old)
    launch_files.write(tmp_path, {CONVERSION: {"2.15.0": 1.0}}, launches=4, start=LATER, **new)
    found = comparisons.between(Question(*launch_files.load(tmp_path, *NAMES))).changes
    changes = {case.spec.module: change for case, change in found.items()}
    assert changes["copies"].verdict is Verdict.SLOWER
    assert [each[1:] for each in changes["conversions"].differences] == [("performance", "powersave")]


def test_tracked_values_under_other_conditions_are_not_averaged(tmp_path):
    for start, threads, values in ((launch_files.START, 2, [1.0, 1.0, 1.0]), (LATER, 1, [4.0, 4.0])):
        launch_files.write_counts(
            tmp_path, "2.15.0", {TRACKED: values}, units={"theirs.track_it": "iterations"}, start=start, threads=threads
        )
    (result,) = launch_files.load(tmp_path)
    assert [*result.count_repeats.values()] == [(4.0, 4.0)]


def described(name: str, stored: Suite) -> Benchmark:
    """Return the benchmark that a launch has stored."""
    return Benchmark(name, stored.version, stored.param_names, stored.params, stored.unit)


def test_what_is_left_out_is_measured_again(tmp_path):
    """`measure` takes it for missing."""
    for number, governor in enumerate(("performance", "powersave")):
        launch_files.write(
            tmp_path, {CPU: {"2.15.0": 1.0}}, launches=3, start=launch_files.START + number * 3 * launch_files.EVERY, governor=governor
        )
        read = reader.load_results(tmp_path).launches
        (name,) = read[0].suites
        stored = read[0].suites[name]
        suites = side_benchmarks.selected({name: described(name, stored)}, "", ())
        assert [*plan.launch_counts(read, suites).values()] == [3]


MINE = "mine.time_it n=1"
OLD_CODE, NEW_CODE = {"requires": {"lab": "1.0 aaaa"}}, {"requires": {"lab": "1.0 bbbb"}}


def test_another_package_concerns_the_suites_that_run_it_only(tmp_path):
    """Its times are not pooled with those of the code before, and the two are not compared between releases; copies of tensors are."""
    write(tmp_path, OLD_CODE, NEW_CODE, cases=(MINE, CPU), of_later=["2.15.0"])
    results = launch_files.load(tmp_path, *NAMES)
    launches = {case.suite: timing.launches for case, timing in results[1].timings.items()}
    assert launches == {"mine.time_it": 4, "copies.BySize.time_copy": 12}  # in the later ones it was alone
    changes = {case.suite: change for case, change in comparisons.between(Question(*results)).changes.items()}
    assert changes["copies.BySize.time_copy"].reason is not Reason.PROVENANCE_DIFFERS
    assert changes["mine.time_it"].reason is Reason.PROVENANCE_DIFFERS
    assert changes["mine.time_it"].differences == (("requires lab", "1.0 aaaa", "1.0 bbbb"),)
    (warning,) = reader.load_results(tmp_path).warnings
    assert "requires lab 1.0 aaaa, not 1.0 bbbb" in str(warning)


def test_a_package_that_needs_torch_has_another_version_with_each_release(tmp_path):
    """Two releases are compared nevertheless; launches of one release with two versions are not pooled."""
    sides = {name: {"follows_torch": {"torchvision": version}} for name, version in zip(NAMES, ("0.29", "0.30"))}
    launch_files.write(tmp_path, {MINE: dict.fromkeys(NAMES, 1.0)}, sides=sides)
    comparison = comparisons.between(Question(*launch_files.load(tmp_path, *NAMES)))
    assert [change.verdict for change in comparison.changes.values()] == [Verdict.UNCHANGED]
    sides["2.15.0"] = {"follows_torch": {"torchvision": "0.31"}}
    launch_files.write(tmp_path, {MINE: dict.fromkeys(NAMES, 1.0)}, sides=sides, launches=4, start=LATER)
    assert [result.timings[launch_files.case(MINE)].launches for result in launch_files.load(tmp_path, "2.15.0")] == [4]


def test_two_revisions_of_a_package_are_compared(tmp_path):
    """Their packages are what differs."""
    names = ("2.15.0#aaaa", "2.15.0#bbbb")
    launch_files.write(tmp_path, {MINE: dict(zip(names, (1.0, 2.0)))}, sides=dict(zip(names, (OLD_CODE, NEW_CODE))))
    (change,) = comparisons.between(Question(*launch_files.load(tmp_path, *names))).changes.values()
    assert change.verdict is Verdict.SLOWER


def test_launches_of_another_package_than_is_installed_are_missing(tmp_path):
    """Those of the suites that run it: `measure` takes them again."""
    launch_files.write(tmp_path, {MINE: {"2.15.0": 1.0}, CPU: {"2.15.0": 1.0}}, launches=3, **OLD_CODE)
    read = reader.load_results(tmp_path).launches
    place = read[0].sides[0].place
    for name, stored in read[0].suites.items():
        suites = side_benchmarks.selected({name: described(name, stored)}, "", ())
        counts = [plan.launch_counts(read, suites, opened={place: code})[place] for code in (OLD_CODE, NEW_CODE, {})]
        assert counts == ([3, 0, 3] if name == "mine.time_it" else [3, 3, 3])


def test_every_shipped_launch_counts(shipped_results):
    assert shipped_results.warnings == ()


@pytest.mark.parametrize(
    ("provenances", "lines"),
    [
        ([{"driver": "", "cuda": None, "gpu": None}], []),
        ([{"driver": "580.1"}, {}, {"driver": "580.1"}], ["Driver 580.1."]),
        ([{"cuda": "12.4", "gpu": {"clock_mhz": 1980}}], ["CUDA 12.4 with torch 2.8.0.", "Clock 1980 MHz."]),
        ([{"gpu": {"clock_mhz": "fast", "max_memory_clock_mhz": 3201}}], ["Memory 3201 MHz."]),
    ],
    ids=["unknown", "in some launches", "no limit", "no number"],
)
def test_what_is_unknown_of_a_device_is_left_out(provenances, lines):
    by_release = list(zip(("2.8.0", "2.10.0", "2.14.1"), provenances))
    assert sentences.device_lines(by_release, "cuda") == lines
    assert sentences.device_lines(by_release, "cpu") == []
