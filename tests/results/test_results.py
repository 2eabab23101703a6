"""The rules of results: which launches form a history, what a file may have, which history comes first."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tensorcopy.results import histories, launches, reader, select
from tensorcopy.results.effects import ALONE, JOINED, Effects
from tensorcopy.results.histories import Conditions
from tensorcopy.results.result import differences, points
from tests import launch_files
from tests.launch_files import START, case

A, B = "2.14.1", "2.15.0"
CPU, CUDA, NUMPY = (
    "copies.BySize.time_copy tensor 16",
    "copies.Throughput.time_copy tensor 16 cuda",
    "conversions.BySize.time_conversion numpy 16",
)
GPU = {"accelerators": {"cuda": "NVIDIA H9"}, "driver": "580.1"}
NAN = float("nan")

# The fit: log seconds by launch and side


def columns(logs):
    """Return the sides of launches: a row for each launch and a column for each side, NaN where it was not in it; of one or more cases."""
    logs = np.array(logs, dtype=float).reshape((*np.shape(logs), 1)[:3])
    starts = tuple(f"2026-11-21T{number:02}:00:00+00:00" for number in range(len(logs)))
    cases = {case(f"copies.BySize.time_copy tensor {16 + number}"): number for number in range(logs.shape[2])}
    effects = Effects(starts, {(str(side), "py3.11-cuda", ""): side for side in range(logs.shape[1])}, cases, logs)
    return [launch_files.result_of(effects, place) for place in effects.columns]


TOGETHER = [[0.0, 0.1], [1.0, 1.12], [5.0, 5.11]]
APART = [[0.0, NAN], [0.1, NAN], [NAN, 0.5], [NAN, 0.7]]
BY_WAY = [[0.0, 0.1, NAN], [0.2, 0.32, NAN], [NAN, 0.0, 0.3], [NAN, 0.2, 0.48], [NAN, 0.4, 0.69]]


def test_other_launches_are_used_where_they_tell_more():
    """Of 28 launches the sides met in 3, and a third one is in all: by way of it, the 25 are worth 6 more."""
    rows = np.random.default_rng(15).normal(0, 0.01, (28, 3))
    rows[3:15, 2], rows[15:, 1] = NAN, NAN
    _, before, after = columns(rows)
    (each,) = differences(before, after).values()
    assert (each.way, each.launches, each.count > 6) == (JOINED, (15, 16), True)


def test_what_each_launch_says():
    """Of sides that were together their difference; of others how far each lies above the time before."""
    before, after = columns(TOGETHER)
    assert [(side, round(size, 6)) for _, side, size in points(before, after, case(CPU))] == [("", 0.1), ("", 0.12), ("", 0.11)]
    before, _, after = columns(BY_WAY)
    told = points(before, after, case(CPU))
    assert [side for _, side, _ in told] == ["A", "A", "B", "B", "B"]
    assert sum(size for _, side, size in told if side == "A") == pytest.approx(0.0)
    assert points(*columns(APART), case(CPU)) == []


def test_launches_of_a_single_release_vary_as_the_machine_does():
    """Its time is their median, whose variance is 0.298 times theirs, where that of the mean is a quarter."""
    logs = np.log([[1.0], [1.1], [0.9], [1.05]])
    (side,) = columns(logs)
    (timing,) = side.timings.values()
    assert timing.error == pytest.approx(np.std(logs, ddof=1) * 0.2982**0.5, rel=0.01)
    assert np.log(timing.interval[1] / timing.seconds) == pytest.approx(3.1824 * timing.error, rel=1e-3)  # Student's t, 3 degrees
    assert side.group(case(CPU)) == ALONE


def coverage(logs):
    """Return the share of intervals that cover the truth, 0, of a time relative to all sides together; None where none is printed."""
    timings = [list(side.timings.values()) for side in columns(logs)]
    times = np.log([[timing.seconds for timing in of_side] for of_side in timings])
    halves = np.log([[timing.interval[1] / timing.seconds for timing in of_side] for of_side in timings])
    return float((np.abs(times - times.mean(axis=0) if len(times) > 1 else times) <= halves).mean()) if halves.any() else None


@pytest.mark.parametrize("sides", [1, 2, 17])
@pytest.mark.parametrize("launches", [1, 2, 3, 12])
def test_the_interval_of_a_time_covers_the_truth(launches, sides):
    """As often as it says, and one launch tells none; what sides share is no error of theirs, and all that one alone has."""
    random, cases = np.random.default_rng(1), 4000 // sides
    common = 0.05 * random.standard_normal((launches, 1, cases)) if sides > 1 else 0.0
    covered = coverage(common + 0.01 * random.standard_normal((launches, sides, cases)))
    assert covered is None if launches == 1 else 0.93 <= covered <= 0.97


def test_the_interval_of_a_time_covers_the_truth_of_launches_with_other_sides():
    """As in the second stage of a measurement, and of releases that met only by way of the reference."""
    random = np.random.default_rng(2)
    logs = 0.05 * random.standard_normal((12, 1, 800)) + 0.01 * random.standard_normal((12, 5, 800))
    logs[:4, 3:], logs[4:8, 1:3] = NAN, NAN  # side 0 is the reference
    logs[8:, 1] = NAN
    assert 0.93 <= coverage(logs) <= 0.97


# Histories


@pytest.mark.parametrize(
    ("changes", "history"),
    [
        ({}, "box"),
        ({"driver": "590.1", "governor": "powersave", "cpu_quota": 1.5, "numpy": "2.0.0"}, "box"),  # what cancels, or is installed
        ({"hardware": {**launch_files.PROVENANCE["hardware"], "model": "86"}}, "box-2"),  # a host that hides it from the name
    ],
)
def test_a_launch_goes_into_the_history_of_its_conditions(tmp_path, changes, history):
    """Where there is none a new one begins, so that a hosted runner whose processor changes stays green."""
    times = {CPU: {A: 1.0, B: 1.2}}
    (path,), (changed,) = (launch_files.write(tmp_path / name, times, launches=1, **of) for name, of in (("first", {}), ("other", changes)))
    first, other = (histories.conditions_of(launches.read(each)) for each in (path, changed))
    assert histories.folder_of(tmp_path, first, "box") == (tmp_path / "box", True)
    assert histories.folder_of(tmp_path, first, "host") == (tmp_path / "box", False)
    assert histories.folder_of(tmp_path, other, "box") == (tmp_path / history, history != "box")
    assert histories.folder_of(tmp_path, other, "box") == (tmp_path / history, False)


@pytest.mark.parametrize(
    ("conditions", "history"),
    [
        (Conditions("Box", "3.9", "cuda", 2), "box-py3.9"),
        (Conditions("Box", "3.11", "cpu", 2), "box-2"),
        (Conditions("Box", "3.11", "cuda", 2, requires=["einops"]), "box-2"),
        (Conditions("Box", "3.11", "cuda", 2), "gpu"),  # on a host without its accelerator
    ],
)
def test_a_new_history_is_called_by_what_differs(tmp_path, conditions, history):
    histories.write(tmp_path / "box", Conditions("Other", "3.11", "cuda", 2))
    histories.write(tmp_path / "gpu", Conditions("Box", "3.11", "cuda", 2, {"cuda": "NVIDIA H9"}))
    assert histories.folder_of(tmp_path, conditions, "box")[0].name == history
    with pytest.raises(TensorcopyError, match="the history box is of another experiment"):
        histories.folder_of(tmp_path, conditions, "box", is_named=True)


@pytest.mark.parametrize(
    ("sides", "reference", "environment"),
    [
        (("2.14.1", "2.15.0"), None, "py3.11-cuda"),
        (("2.4.1@3.9", "2.8.0@3.9", "2.15.0"), None, "py3.9-cuda"),
        (("2.4.1@3.9", "2.15.0"), None, "py3.11-cuda"),  # of equally many the newest
        (("2.4.1@3.9", "2.15.0"), 1, "py3.9-cuda"),  # the reference stands beside all
        (("2.15.0",), 0, "py3.11-cuda"),
    ],
)
def test_a_launch_is_of_the_python_of_most_sides(tmp_path, sides, reference, environment):
    options = {} if reference is None else {"reference": sides[reference]}
    (path,) = launch_files.write(tmp_path, {CPU: dict.fromkeys(sides, 1.0)}, launches=1, **options)
    assert histories.read(path.parent).environment == environment


def test_what_was_asked_for_is_read_as_it_was_written(tmp_path):
    conditions = Conditions('A "Box"', "3.12", "cuda-interpreter", 16, {"cuda": "NVIDIA H9"}, ["einops==0.8", "."])
    histories.write(tmp_path / "box", conditions)
    assert histories.read(tmp_path / "box") == conditions
    assert conditions.environment == "py3.12-cuda-interpreter"
    with pytest.raises(FileExistsError):
        histories.write(tmp_path / "box", conditions)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "no history.toml"),
        ("processor = 1", "Expected `str`, got `int`"),
        ('processor = "Box"', "missing required field `python`"),
        ("[", "history.toml: "),
    ],
)
def test_a_folder_without_a_valid_history_is_one_problem(tmp_path, text, reason):
    """The others are read."""
    launch_files.write(tmp_path, {CPU: {A: 1.0, B: 1.2}}, launches=2, machine="damaged")
    launch_files.write(tmp_path, {CPU: {A: 1.0, B: 1.2}}, launches=2, machine="whole", cpu="Box 8000")
    path = tmp_path / "damaged" / histories.FILE
    path.unlink() if text is None else path.write_text(text)
    loaded = reader.load_results(tmp_path, shipped())
    (problem,) = loaded.problems
    assert "the history" in str(problem)
    assert reason in str(problem)
    assert [each.name for each in loaded.histories] == ["whole"]
    assert (loaded.concerning("whole"), loaded.concerning()) == ((), loaded.problems)


@pytest.mark.parametrize("changes", [{"cpu": "Box 8000"}, {"threads": 4}, {"accelerators": {"cuda": "NVIDIA H9"}}])
def test_a_launch_of_another_experiment_is_refused(tmp_path, changes):
    """In one sentence that says both; so is one of another Python alone."""
    launch_files.write(tmp_path, {CPU: {A: 1.0, B: 1.2}}, launches=3)
    (path,) = launch_files.write(tmp_path, {CPU: {A: 1.0, B: 1.2}}, launches=1, start=START + timedelta(days=1), **changes)
    assert path.parent.name == "box-2"
    path.rename(tmp_path / "box" / path.name)
    (old,) = launch_files.write(tmp_path, {CPU: {"2.4.1@3.9": 1.0}}, launches=1, start=START + timedelta(days=2))
    old.rename(tmp_path / "box" / old.name)
    loaded = reader.load_results(tmp_path, shipped())
    assert [problem.what for problem in loaded.problems] == [
        f"the launch {tmp_path.name}/box/{name} is of another history" for name in (path.name, old.name)
    ]
    assert {timing.launches for result in loaded.results for timing in result.timings.values()} == {3}


@pytest.mark.parametrize(("builds", "launches"), [("ab", 2), ("aa", 4)], ids=["another build", "the same"])
def test_a_side_of_a_package_built_from_files_has_the_cases_of_that_build(tmp_path, builds, launches):
    """Launches with an earlier build do not count; a version from an index is what is installed, and may differ."""
    for number, build in enumerate(builds):
        requires, start = {"mine": f"1.0 {build * 12}", "einops": f"0.{number}"}, START + timedelta(days=number)
        launch_files.write(tmp_path, {"mine.time_it": {A: 1.0, B: 1.2}}, launches=2, start=start, requires=requires)
    assert {timing.launches for result in launch_files.load(tmp_path) for timing in result.timings.values()} == {launches}


@pytest.mark.parametrize(
    ("first", "second", "failures", "skips"),
    [
        ("KeyError: 1", "KeyError: 2", "KeyError: 2", ""),
        ("KeyError: 1", 1.0, "", ""),
        ("KeyError: 1", None, "", "not here"),
        (1.0, "KeyError: 2", "KeyError: 2", ""),
        (None, 1.0, "", ""),
    ],
)
def test_the_last_launch_says_why_a_case_was_not_measured(tmp_path, first, second, failures, skips):
    for number, outcome in enumerate((first, second)):
        times = {CPU: {A: 1.0, **({} if outcome is None else {B: outcome})}, NUMPY: {A: 1.0, B: 1.0}}
        launch_files.write(tmp_path, times, launches=2, start=START + timedelta(days=number))
    (result,) = launch_files.load(tmp_path, B)
    assert (result.failures.get(case(CPU), ""), result.skips.get(case(CPU), "")) == (failures, skips)


def test_of_several_launches_the_newest_tells_provenance_and_what_methods_do(tmp_path):
    """A later launch that only counted is not what the times were measured on."""
    for number in range(2):
        day = START + timedelta(days=number)
        launch_files.write(tmp_path, {CPU: {A: 1.0, B: 1.2}}, launches=2, start=day, governor=f"governor {number}")
        seen = {"tensor": launch_files.observed(code=f"code {number}")}
        launch_files.write_counts(tmp_path, B, {}, methods=seen, start=day + timedelta(hours=1), governor="of counting")
    (result,) = launch_files.load(tmp_path, B)
    assert (result.provenance["governor"], result.methods["tensor"]["code"], len(result.launches)) == ("governor 1", "code 1", 6)


# Which history comes first


@pytest.fixture
def loaded(tmp_path):
    """`long` has three releases, `long-py3.9` two of them and an older one; `late` two, and a GPU on which `long` has nothing."""
    launch_files.write(tmp_path, {CPU: dict.fromkeys(("2.13.0", A, B), 1.0)}, launches=1, machine="long")
    launch_files.write(tmp_path, {CPU: dict.fromkeys(("2.8.0@3.9", "2.13.0@3.9", f"{A}@3.9"), 1.0)}, launches=1, machine="long")
    of_late = {CPU: dict.fromkeys((A, B), 1.0), CUDA: dict.fromkeys((A, B), 1.0)}
    launch_files.write(tmp_path, of_late, launches=1, machine="late", start=START + timedelta(days=1), cpu="Box 9001", **GPU)
    return reader.load_results(tmp_path, shipped())


@pytest.mark.parametrize(
    ("before", "after", "options", "expected"),
    [
        (A, B, {}, "long"),
        (A, f"v{B}", {}, "long"),
        (B, A, {}, "long"),
        (A, B, {"device": "cuda"}, "late"),
        (A, B, {"history": "late"}, "late"),
        ("2.13.0", A, {}, "long"),
        ("2.8.0", A, {}, "long-py3.9"),
        ("2.13.0", A, {"history": "long-py3.9"}, "long-py3.9"),
        ("2.8.0", B, {}, f"no history has both: .*next: compare 2.8.0 {A} --history long-py3.9, compare {A} {B}"),
        ("2.8.0", A, {"history": "long"}, "the history does not have both: .*next: --history long-py3.9"),
        (A, A, {}, "both sides are the same result"),
        ("2.12.1", B, {}, "no result of torch 2.12.1: .*or tensorcopy measure 2.12.1"),
        (A, B, {"unit": "bytes"}, f"no bytes of torch {A}: .*allowed: .* bytes were counted: none is; next: leave --metric out"),
        (A, B, {"history": "nowhere"}, "no such history: .*allowed: late, long, long-py3.9; next: compare --history late"),
        (A, B, {"device": "mps"}, "no result on mps: .*allowed: cpu .long., cuda .late."),
        (A, B, {"history": "long", "device": "cuda"}, "no result on cuda: .*next: compare --device cuda"),
        (A, "9.9.9", {}, "9.9.9"),
        (f"{A}@3.9", B, {}, "3.9"),
    ],
)
def test_the_results_that_two_names_select(loaded, before, after, options, expected):
    """Of the first history that has both; else the error says what can be compared."""
    if "history" not in expected and expected in {history.name for history in loaded.histories}:
        pair = select.pair(before, after, loaded, release_table.load(), command="compare", **options)
        assert [f"v{each.version}" for each in (pair.before, pair.after)] == [f"v{name.removeprefix('v')}" for name in (before, after)]
        assert {pair.before.history, pair.after.history} == {expected}
    else:
        with pytest.raises(TensorcopyError, match=expected):
            select.pair(before, after, loaded, release_table.load(), command="compare", **options)


@pytest.mark.parametrize(
    ("device", "ranked"), [("cpu", ["long", "late", "long-py3.9"]), ("cuda", ["late"]), ("mps", [])], ids=["cpu", "cuda", "mps"]
)
def test_the_order_of_histories(loaded, device, ranked):
    """Those with the newest release that was measured on the device first, and of these the one with most."""
    assert [each.name for each in histories.ranked(loaded.histories, device)] == ranked
    if ranked:
        history, chosen = select.chosen(loaded, device=device, command="history")
        assert (history.name, chosen) == (ranked[0], device)
