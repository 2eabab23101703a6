"""A launch: processes of several sides that take turns, and what becomes of those that cannot.

The suites are an asv suite as anybody writes one; of torch a launch needs only that it can be imported, so here it is empty.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from math import log
from pathlib import Path

import pytest

from tensorcopy.errors import DiskError, TensorcopyError
from tensorcopy.measure import case_turns, launch, side_benchmarks, side_process
from tensorcopy.measure.side_process import LocalSide, SideFailed
from tensorcopy.results import launches
from tensorcopy.results.launches import ALL, UNIT, Launch
from tensorcopy.worker import turns
from tests.conftest import ROOT
from tests.launch_files import PROVENANCE, sha_of

pytestmark = pytest.mark.slow

SUITE = """
import os, signal, time
from pathlib import Path

SIDE, FOLDER = os.environ["SIDE"], Path(os.environ["FOLDER"])

def time_sleep():
    time.sleep(0.012 if SIDE == "slow" else 0.008)  # a busy machine adds some tenths of a millisecond

class Ends:
    params = ["raises", "is skipped", "is killed", "exits", "hangs"]

    def setup(self, how):
        if SIDE != "slow":
            return
        if how == "raises":
            raise ValueError("no such thing")
        if how == "is skipped":
            raise NotImplementedError("not here")
        if how == "is killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "exits":
            os._exit(3)
        if how == "hangs":
            time.sleep(60)

    def time_nothing(self, how):
        pass

class Cached:
    def setup_cache(self):
        with (FOLDER / f"cache-{SIDE}").open("a") as file:
            file.write("x")
        Path("made").write_text("there")
        return 7

    def track_value(self, value):
        return value * len(Path("made").read_text())

    def track_twice(self, value):
        return 2 * value

    def time_nothing(self, value):
        pass

class CachedBadly:
    def setup_cache(self):
        with (FOLDER / f"badly-{SIDE}").open("a") as file:
            file.write("x")
        raise OSError("no room")

    def track_one(self, value):
        return 1

    def track_other(self, value):
        return 1

class CachedSlowly:
    timeout = 0.3

    def setup_cache(self):
        time.sleep(600)

    setup_cache.timeout = 0.2

    def track_late(self, value):
        return 1

    def track_later(self, value):
        return 1

def track_text():
    return "a text"

def time_where():
    (FOLDER / f"cores-{SIDE}").write_text(str(sorted(os.sched_getaffinity(0))))

def time_full():
    raise OSError(28, "No space left on device")

class On:
    params = ["cpu", "cuda"]

    def time_on(self, device):
        pass
"""


@pytest.fixture
def sides(tmp_path, monkeypatch) -> list[LocalSide]:
    monkeypatch.setattr(case_turns, "TURNS", 8)  # more of them make a time more certain
    return made_sides(tmp_path)


def made_sides(tmp_path: Path) -> list[LocalSide]:
    """Return a fast side and a slow one, of an asv suite that is written into a folder."""
    suites = tmp_path / "suites"
    suites.mkdir()
    (suites / "__init__.py").write_text("")
    (suites / "several.py").write_text(SUITE)
    (tmp_path / "libraries" / "torch").mkdir(parents=True)
    (tmp_path / "libraries" / "torch" / "__init__.py").write_text("")
    (tmp_path / "libraries" / "pympler.py").write_text("raise ImportError")  # asv_runner imports it, and it numpy, for 0.2 seconds
    search_path = os.pathsep.join([str(tmp_path / "libraries"), str(ROOT)])
    return [
        LocalSide(
            sha=sha_of(version),
            environment="py3.11-cuda",
            provenance={**PROVENANCE, "torch": version, "torch_sha": sha_of(version)},
            python=Path(sys.executable),
            suites=suites,
            variables={**os.environ, "PYTHONPATH": search_path, "ASV_PYTHONPATH": search_path, "SIDE": name, "FOLDER": str(tmp_path)},
        )
        for version, name in (("2.14.1", "fast"), ("2.15.0", "slow"))
    ]


@pytest.fixture(scope="module")
def taken(tmp_path_factory) -> tuple[Launch, Path]:
    """A launch that several tests look at, which lets a side hang for two seconds, and its folder. Processes take a second to start."""
    folder = tmp_path_factory.mktemp("taken")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch, "LONGEST_CASE", 2.0)
        patch.setattr(case_turns, "TURNS", 8)
        return launch.take(made_sides(folder), "box", selection="time_sleep|Ends|Cached.time|time_where", reference=0), folder


def test_the_ratio_of_two_sides_is_that_of_their_work(taken, sides):
    """8 ms and 12 ms, which differ by log(1.5); each side has the effect, its seconds and its turns."""
    taken, _ = taken
    (row,) = taken.suites["several.time_sleep"].rows.values()
    assert (row.effects[1] - row.effects[0]) / UNIT == pytest.approx(log(1.5), abs=0.1)
    assert 0.008 < row.seconds < 0.016
    assert case_turns.FEWEST_TURNS <= row.turns <= case_turns.TURNS
    assert ([side.sha for side in taken.sides], taken.reference) == ([side.sha for side in sides], 0)
    assert launches.read(launches.write(sides[0].suites.parent, taken)) == taken


def test_a_side_that_cannot_run_a_case_has_its_reason_and_the_other_its_time(taken):
    """And both go on with the next case."""
    suite = taken[0].suites["several.Ends.time_nothing"]
    ends = {suite.params[0][int(index)].strip("'"): by_side for index, by_side in [*suite.failed.items(), *suite.skipped.items()]}
    assert ends == {
        "raises": {"1": "ValueError: no such thing"},
        "is skipped": {"1": "not here"},
        "is killed": {"1": "ended by signal 9"},
        "exits": {"1": "ended with exit code 3"},
        "hangs": {"1": "took more than 2 s"},
    }
    assert set(suite.skipped) == {"1"}
    assert {(row.effects[0], row.effects[1]) for row in suite.rows.values()} == {(0, None)}
    assert len(suite.rows) == 5


SLEEPS = """
import time

class Sleeps:
    params = {milliseconds}

    def time_sleep(self, milliseconds):
        time.sleep(milliseconds / 1000)

def time_changed():
    pass

time_changed.version = "{number}"
"""


FUNCTIONS = """
class Named:
    params = [["a".upper, len], [object(), object()]]

    def time_named(self, function, anything):
        pass

class Alike:
    params = ["a".upper, "b".upper]

    def time_alike(self, anything):
        pass
"""


def test_the_name_of_a_case_has_no_address(sides):
    """It would be another case in each launch, and `measure` would never have its launches of one."""
    (sides[0].suites / "functions.py").write_text(FUNCTIONS)
    found = [side_benchmarks.suites_of(side) for side in sides]
    names = [suites["functions.Named.time_named"].names for suites in found]
    assert names[0] == names[1]
    assert names[0][0] == "functions.Named.time_named(<built-in method upper of str object>, <object object> (0))"
    refused = found[0]["functions.Alike.time_alike"].refused
    assert refused.startswith("parameters that differ in their addresses alone, ")
    assert refused.endswith(": <built-in method upper of str object>")


def test_two_revisions_have_their_own_suites(sides, tmp_path):
    """A case is the same whatever its place in the order; one that a revision lacks has no time there, and is no failure.

    Of a benchmark that it has in another version it says so.
    """
    for number, milliseconds in enumerate(([2, 4, 8], [8, 6, 2])):
        suites = tmp_path / f"revision-{number}"
        suites.mkdir()
        (suites / "__init__.py").write_text("")
        (suites / "sleeping.py").write_text(SLEEPS.format(milliseconds=milliseconds, number=number))
        sides[number] = replace(sides[number], suites=suites, revision=str(number))
    suites = launch.take(sides, "box").suites
    assert (suites["sleeping.time_changed"].version, suites["sleeping.time_changed"].rows["0"].effects) == ("1", [None, 0])
    assert suites["sleeping.time_changed"].skipped == {"0": {"0": launches.OTHER_VERSION}}
    suite = suites["sleeping.Sleeps.time_sleep"]
    seconds = {int(suite.params[0][int(index)]): row for index, row in suite.rows.items()}
    assert {number: [effect is not None for effect in row.effects] for number, row in seconds.items()} == {
        2: [True, True],
        4: [True, False],
        6: [False, True],
        8: [True, True],
    }
    assert all(number * 0.97 < row.seconds * 1000 for number, row in seconds.items()), seconds  # of two mixed up, one is too short
    assert suite.failed == suite.skipped == {}


def test_a_setup_cache_runs_once_on_each_side(taken, sides, tmp_path):
    """Benchmarks run in the folder where it ran, as with asv. One that fails is not tried again: it may take minutes."""
    (row,) = taken[0].suites["several.Cached.time_nothing"].rows.values()
    assert None not in row.effects
    counted = launch.count(sides[0], "box", observed={"methods": {"clone": CLONE}, "article": {"cpu": HOLDS}})
    assert counted.suites["several.Cached.track_value"].values == {"0": 35.0}
    assert counted.suites["several.Cached.track_twice"].values == {"0": 14.0}
    assert [(tmp_path / name).read_text() for name in ("cache-fast", "badly-fast")] == ["x", "x"]
    for name in ("track_one", "track_other"):
        assert counted.suites[f"several.CachedBadly.{name}"].failed == {"0": {ALL: "RuntimeError: setup_cache: OSError: no room"}}
    late = [counted.suites[f"several.CachedSlowly.{name}"].failed["0"][ALL] for name in ("track_late", "track_later")]
    assert late == ["took more than 0.5 s", "RuntimeError: setup_cache did not end"]
    assert counted.suites["several.track_text"].failed == {"0": {ALL: "TypeError: it returned 'a text', which is no number"}}
    assert not any("time" in name for name in counted.suites)
    assert (counted.kind, counted.methods, counted.article) == ("counts", {"clone": CLONE}, {"cpu": HOLDS})
    assert launches.read(launches.write(tmp_path, counted)) == counted


METHODS = """
import os, time
from pathlib import Path

LOG = Path(os.environ["FOLDER"]) / "log"

class BySize:
    params = [["clone", "tensor", "exits", "raises"], [1, 16, 2**21]]
    param_names = ["method", "numel"]

    def setup(self, method, numel):
        if method == "raises":
            raise NotImplementedError("not here")

    def time_copy(self, method, numel):
        with LOG.open("a") as log:
            log.write(f"{method} {numel}\\n")
        if method == "exits":
            os._exit(3)
        time.sleep(0.002 * (1 + (method == "tensor")))
"""


def test_the_methods_of_a_side_that_is_alone_take_turns(sides, tmp_path):
    """At each size whose cases share a fork. One that ends it, or is skipped, leaves the others; with two sides, these take turns."""
    (sides[0].suites / "copies.py").write_text(METHODS)
    log = tmp_path / "log"

    def changes(numel):
        """Return how often another method was called than before."""
        calls = [method for method, of_size in map(str.split, log.read_text().splitlines()) if of_size == str(numel) and method != "exits"]
        return sum(one != other for one, other in zip(calls, calls[1:]))

    suite = launch.take([sides[0]], "box", selection="^copies").suites["copies.BySize.time_copy"]
    assert all(changes(numel) >= case_turns.FEWEST_TURNS for numel in (1, 16))
    assert changes(2**21) == 1
    assert {index: row.in_turns for index, row in suite.rows.items()} == {
        "0": True,
        "1": True,
        "2": False,
        "3": True,
        "4": True,
        "5": False,
    }
    assert suite.failed == {index: {ALL: "ended with exit code 3"} for index in ("6", "7", "8")}
    assert suite.skipped == {index: {ALL: "not here"} for index in ("9", "10", "11")}
    for place, numel in enumerate((1, 16, 2**21)):
        assert suite.rows[str(3 + place)].seconds / suite.rows[str(place)].seconds == pytest.approx(2, abs=0.4), numel
    log.unlink()
    beside = launch.take(sides, "box", selection=r"^copies.*\(('clone'|'tensor'), 1\)").suites["copies.BySize.time_copy"]
    assert (changes(1), {row.in_turns for row in beside.rows.values()}) == (1, {False})


MEMORY = """
import os

class Host:
    params = ["a", "ends", "b", "c"]

    def track_peak(self, method):
        return os._exit(3) if method == "ends" else os.getpid()
"""


def test_the_counts_of_a_shipped_suite_share_a_fork(sides):
    """After a case that ends it, which is named, another one goes on."""
    (sides[0].suites / "memory.py").write_text(MEMORY)
    peak = launch.count(sides[0], "box", selection="^memory").suites["memory.Host.track_peak"]
    assert peak.values["0"] != peak.values["2"] == peak.values["3"]
    assert peak.failed == {"1": {ALL: "ended with exit code 3"}}


CLONE = {"code": "x.clone()", "code_on_accelerator": "x.clone()", "group": "copies", "since": "1.9.0", "observed": {}}
HOLDS = {"statements": 11, "hold": 10, "fail": ["x.cpu() shares storage"]}
ODD = """
import numpy, torch
from asv_runner.benchmarks.mark import SkipNotImplemented, skip_for_params

class Thing:
    def __repr__(self):
        return "thing " + "x" * 2000

class Odd:
    params = [[1, 1, None, float("nan"), (1, 2), Thing()], ["a"]]
    param_names = ["one", 2]

    @skip_for_params([(1, "a"), (Thing, object())])
    def time_odd(self, one, two):
        pass

Alias = Odd

class Many:
    params = [list(range(400)), list(range(400))]

    def time_many(self, one, two):
        pass

class Ends:
    params = ["raises", "skips", "fails when torn down"]

    def time_ends(self, how):
        if how == "raises":
            raise NotImplementedError("no such operator. " + 500 * "x")
        if how == "skips":
            raise SkipNotImplemented("not for this")

    def teardown(self, how):
        if how == "fails when torn down":
            raise OSError("no room " + chr(0xDC80))

def time_by_own_timer():
    pass

time_by_own_timer.timer = lambda: 0.0

def time_never():
    pass

time_never.number = -1

class Values:
    numbers = [True, 7, numpy.float32(0.25), numpy.int64(3), numpy.bool_(False), None, float("nan"), float("-inf")]
    params = [*numbers, "0.5", 10**400, 1j, 1e308, -1e-300]
    unit = 5

    def track_value(self, value):
        return value

def mem_list():
    return [0] * 1000
"""


def test_whatever_asv_describes_is_measured_or_costs_its_own_case(sides, tmp_path):
    """With its name and the reason: parameters of any kind, what a benchmark tracks, and what it raises where."""
    (sides[0].suites / "odd.py").write_text(ODD)
    taken = launch.take(sides, "box", selection=r"^odd\.")
    assert launches.read(launches.write(tmp_path, taken)) == taken
    odd = taken.suites["odd.Odd.time_odd"]
    assert odd.param_names == ["one", "2"]
    assert odd.params[0][:-1] == ["1 (0)", "1 (1)", "None", "nan", "(1, 2)"]
    assert odd.params[0][-1].startswith("thing xxx")
    assert len(odd.params[0][-1]) == side_benchmarks.LONGEST_PARAMETER
    assert odd.skipped == {index: {ALL: "by skip_for_params"} for index in ("0", "1")}
    assert len(odd.rows) == 4
    assert taken.suites["odd.Many.time_many"].failed == {"0": {ALL: "it has 160,000 cases: 100,000 are allowed"}}
    ends = taken.suites["odd.Ends.time_ends"]
    assert ends.failed["0"][ALL].startswith("NotImplementedError: no such operator. xxx")
    assert len(ends.failed["0"][ALL]) == turns.LONGEST_ERROR
    assert ends.failed["2"] == {ALL: "OSError: no room ?"}
    assert (ends.skipped, ends.rows) == ({"1": {ALL: "not for this"}}, {})
    assert taken.suites["odd.time_by_own_timer"].failed == {"0": {ALL: "its own timer gave 0 s for a call"}}
    assert taken.suites["odd.time_never"].failed == {"0": {ALL: "ValueError: number is -1, which is no number of calls"}}

    counted = launch.count(sides[0], "box", selection=r"^odd\.")
    assert launches.read(launches.write(tmp_path, counted)) == counted
    values = counted.suites["odd.Values.track_value"]
    assert values.values == {"0": 1.0, "1": 7.0, "2": 0.25, "3": 3.0, "4": 0.0}
    assert (values.skipped, values.unit) == ({"6": {ALL: "it returned nan"}}, "5")
    assert {index: by_side[ALL] for index, by_side in values.failed.items()} == {
        "5": "TypeError: it returned None, which is no number",
        "7": "ValueError: it returned -inf, which is no finite number",
        "8": "TypeError: it returned '0.5', which is no number",
        "9": "OverflowError: int too large to convert to float",
        "10": "TypeError: it returned 1j, which is no number",
        "11": "it returned 1e+308, beyond 1e+30 or its inverse",
        "12": "it returned -1e-300, beyond 1e+30 or its inverse",
    }
    (raised,) = counted.suites["odd.mem_list"].failed.values()
    assert raised == {ALL: "ModuleNotFoundError: mem_ benchmarks need pympler: name it in `requires`"}


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no system call")
def test_all_sides_are_on_one_core(taken):
    """One that this process may use."""
    (cores,) = {(taken[1] / f"cores-{name}").read_text() for name in ("fast", "slow")}
    assert cores in {f"[{core}]" for core in os.sched_getaffinity(0)}


def test_cases_on_absent_devices_are_left_out(sides):
    """A case of theirs would only be skipped."""
    suites = side_benchmarks.suites_of(sides[0])
    assert [*side_benchmarks.selected(suites, "On", ())["several.On.time_on"].selected] == ["several.On.time_on('cpu')"]
    assert len(side_benchmarks.selected(suites, "On", {"cuda"})["several.On.time_on"].selected) == 2
    assert set(side_benchmarks.selected(suites, "", (), timed=False)) == {name for name in suites if ".track_" in name}
    with pytest.raises(TensorcopyError, match="nothing was timed: got no case that matches 'no such'"):
        launch.take(sides, "box", selection="no such")


HARMS = """
import os, subprocess, threading, time
from pathlib import Path

SIDE, FOLDER = os.environ["SIDE"], Path(os.environ["FOLDER"])

class Harms:
    number = 1  # whichever side is asked for it
    params = ["ends between turns", "reads", "answers late", "leaves a process", "writes", "answers itself", "prints", "answers on"]

    def setup(self, how):
        if how == "ends between turns" and SIDE == "slow":
            threading.Timer(0.2, os._exit, [3]).start()
        elif how == "answers late":
            time.sleep(0.8 if SIDE == "slow" else 0)
        elif how == "leaves a process":
            started = subprocess.Popen(["sleep", "60"], start_new_session=True)
            (FOLDER / "started").write_text(str(started.pid))
            time.sleep(60 if SIDE == "slow" else 0)
        elif how == "writes":
            Path("large").write_text("x")
            (FOLDER / "written").write_text(os.getcwd())

    def time_harm(self, how):
        if how == "ends between turns":
            time.sleep(0.05 if SIDE == "fast" else 0)
        elif how == "reads":
            subprocess.run(["cat"], check=True)
        elif how in ("answers itself", "answers on") and SIDE == "slow":
            for descriptor in range(3, 32):
                try:
                    os.write(descriptor, b"faster\\n" if how == "answers itself" else b"x" * 100_000)
                except OSError:
                    pass
        elif how == "prints":
            print("x" * 2**20)


class Hangs:
    def setup_cache(self):
        time.sleep(60)

    def time_hang(self, cache):
        pass
"""


def test_what_a_benchmark_does_to_its_process_costs_its_own_case(sides, tmp_path, monkeypatch):
    """And nothing of it is left: no request is read, no answer is another's, no process runs on, and no file takes space."""
    (sides[0].suites / "harms.py").write_text(HARMS)
    kill = os.kill

    def kill_late(*arguments: int) -> None:
        time.sleep(0.8)
        kill(*arguments)

    monkeypatch.setattr(os, "kill", kill_late)
    with side_process.started(sides) as processes:
        taken = [case_turns.time_case(processes, "harms.Harms.time_harm", [index, index], longest=0.4) for index in range(8)]
        hanging = case_turns.time_case(processes, "harms.Hangs.time_hang", [-1, -1], longest=0.3)
        errors = [process.errors() for process in processes]
        started, end = int((tmp_path / "started").read_text()), time.monotonic() + 5
        while Path(f"/proc/{started}").exists() and time.monotonic() < end:  # until it is reaped
            time.sleep(0.05)
        with pytest.raises(ProcessLookupError):
            kill(started, 0)
        assert not Path((tmp_path / "written").read_text()).exists()
        left = []
        for process in processes:
            process.report_left("harms", lambda *named: left.append(named))
    assert [[each.failed for each in sides] for sides in taken] == [
        [None, "ended with exit code 3"],
        [None, None],
        [None, "took more than 0.4 s"],
        [None, "took more than 0.4 s"],
        [None, None],
        [None, "wrote to a file descriptor of the process that measures it"],
        [None, None],
        [None, "wrote to a file descriptor of the process that measures it"],
    ]
    assert [*dict.fromkeys(left)] == [("harms", "sleep 60")]
    assert [[bool(each.seconds) for each in sides] for sides in taken] == [[True, each.failed is None] for _, each in taken]
    assert errors == [""] * 2
    assert {each.failed for each in hanging} == {"took more than 0.3 s"}


SLOW_TO_IMPORT = """
import os, time
from pathlib import Path

path = Path(os.environ["FOLDER"]) / "imported"
if path.exists():
    time.sleep(60)
path.touch()
raise ImportError
"""


def test_suites_that_are_not_described_in_time_are_named(sides, monkeypatch):
    monkeypatch.setattr(side_benchmarks, "LONGEST_START", 5.0)
    (sides[0].suites / "slow.py").write_text(SLOW_TO_IMPORT)
    with pytest.raises(SideFailed, match="got took more than 5 s"):
        side_benchmarks.suites_of(sides[0])


@pytest.mark.parametrize(
    ("body", "got"),
    [("params = 5", "TypeError: 'int' object is not iterable"), ("def __init__(self, size): ...", "TypeError: .*'size'")],
    ids=["parameters", "a class"],
)
def test_a_benchmark_that_asv_cannot_make_is_named(sides, body, got):
    """Of the hundreds that a suite may have."""
    (sides[0].suites / "bad.py").write_text(f"class Bad:\n    {body}\n\n    def time_call(self, *size):\n        pass\n")
    with pytest.raises(SideFailed, match=rf"got ValueError: bad\.Bad\.time_call: {got}"):
        side_benchmarks.suites_of(sides[0])


def test_a_side_whose_interpreter_is_gone_is_named_and_the_other_ends(sides):
    """Another program may have removed the environment."""
    with pytest.raises(SideFailed, match="No such file or directory"):
        launch.take([*sides, replace(sides[0], python=Path("/removed/bin/python"))], "box")
    assert processes(sides[0].suites) == []


def test_a_side_that_cannot_start_is_named(sides, tmp_path):
    (tmp_path / "libraries" / "torch" / "__init__.py").write_text(
        "import os\nif os.environ['SIDE'] == 'slow': raise OSError('no libtorch')"
    )
    with pytest.raises(SideFailed, match="no libtorch") as error:
        launch.take(sides, "box")
    assert error.value.side == sides[1]


def test_no_launch_is_kept_of_a_process_that_ends(sides):
    """As where memory is short. No case has failed: the next launch may have its time."""
    sides[0].suites.joinpath("kills.py").write_text("import os\n\ndef time_kill():\n    os.kill(os.getppid(), 9)\n")
    revisions = [replace(side, revision=str(number) * 40) for number, side in enumerate(sides)]
    with pytest.raises(
        SideFailed, match=r"the process of py3\.11-cuda \([01]{8}\) ended during a launch: got SIGKILL while it ran kills.time_kill;"
    ):
        launch.take(revisions, "box", selection="kill")


def test_a_module_that_a_suite_lacks_is_named_with_the_file_that_imports_it(sides, tmp_path, monkeypatch):
    """A project requires it for the environments of releases; an interpreter has its own packages."""
    (tmp_path / "tensorcopy.toml").write_text('[project]\nname = "lab"\n')
    monkeypatch.chdir(tmp_path)
    sides[0].suites.joinpath("lacking.py").write_text("import einops.layers\n")
    own, another = r'requires = \["einops"\] in \[project\]', f"uv pip install --python {re.escape(str(sides[0].python))} einops"
    for environment, following in (("py3.11-cuda", own), ("py3.11-cuda-interpreter", another)):
        expected = rf"got ModuleNotFoundError: in {sides[0].suites.name}/lacking.py: No module named 'einops'; .*next: {following}"
        with pytest.raises(SideFailed, match=expected):
            side_benchmarks.suites_of(replace(sides[0], environment=environment))


def test_the_command_that_shows_a_long_error_of_an_import_ends(sides):
    """It does not wait for requests at the terminal; the message, which is cut, begins with the file."""
    sides[0].suites.joinpath("lacking.py").write_text("raise ImportError('x' * 500 + 'end')\n")
    with pytest.raises(SideFailed, match=f"got ImportError: in {sides[0].suites.name}/lacking.py: x*…;") as error:
        side_benchmarks.suites_of(sides[0])
    command = error.value.next.removesuffix(" shows the full error")
    with subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(sides[0].variables)) as shown:
        assert shown.wait(60) == 0
        assert shown.stderr is not None
        assert b"xend\n" in shown.stderr.read()


def processes(suites: Path) -> list[str]:
    """Return the command lines of the processes that run these suites."""
    listed = subprocess.run(["ps", "-ewwo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if "tensorcopy.worker.turns" in line and str(suites) in line]


def test_nothing_runs_on_after_an_interrupted_launch(sides):
    """Neither the sides nor their forks."""

    def interrupt(share: float, suite: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        launch.take(sides, "box", selection="time_sleep", report_progress=interrupt)
    assert processes(sides[0].suites) == []


KILLED = """
import sys
from pathlib import Path
from tensorcopy.measure import launch
from tensorcopy.results import launches
from tests.measure.test_launch import made_sides
made = made_sides(Path(sys.argv[1]))
for number in range(100):
    print(number, flush=True)
    launches.write(Path(sys.argv[1]) / "results", launch.take(made, "box", selection="time_(sleep|where)"))
"""


HANGING = """
import sys
from pathlib import Path
from tensorcopy.measure import launch
from tests.measure.test_launch import made_sides
made, folder = made_sides(Path(sys.argv[1])), Path(sys.argv[1])
body = "    left = subprocess.Popen(['sleep', '600'], start_new_session=True)\\n"
body += "    pathlib.Path(os.environ['FOLDER'], 'hangs').write_text(str(left.pid)) and time.sleep(600)"
(folder / "suites" / "hanging.py").write_text("import os, pathlib, subprocess, time\\ndef time_hang():\\n" + body)
launch.take(made, "box", selection="time_hang")
"""


def test_a_case_that_hangs_ends_with_a_killed_program(tmp_path):
    """Also while nothing answers, and no pipe tells its process that the program has ended; and with it what the suite has started."""
    hangs = tmp_path / "hangs"
    with subprocess.Popen([sys.executable, "-c", HANGING, str(tmp_path)], cwd=ROOT) as process:
        end = time.monotonic() + 30
        while not (hangs.exists() and hangs.read_text()) and time.monotonic() < end:
            time.sleep(0.1)
        assert len(processes(tmp_path / "suites")) >= 3
        os.kill(process.pid, signal.SIGKILL)
    end = time.monotonic() + 5
    while (processes(tmp_path / "suites") or runs(int(hangs.read_text()))) and time.monotonic() < end:
        time.sleep(0.1)
    assert processes(tmp_path / "suites") == []
    assert not runs(int(hangs.read_text()))


def runs(process: int) -> bool:
    """Return whether a process runs, and has not ended without being waited for."""
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.parametrize("number", [0, 3, 9])
def test_a_killed_program_leaves_whole_launches_and_no_process(tmp_path, number):
    """Killed at any moment, while it starts, times or writes: what is there can be read."""
    with subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "0\n"
        time.sleep(0.2 + 0.37 * number)
        os.kill(process.pid, signal.SIGKILL)
    files = [path for path in (tmp_path / "results").rglob("*") if path.is_file()]
    assert all(launches.read(path).suites for path in files if path.suffix == ".json")
    assert all(path.name.startswith(".") for path in files if path.suffix != ".json")
    end = time.monotonic() + 10
    while processes(tmp_path / "suites") and time.monotonic() < end:
        time.sleep(0.1)
    assert processes(tmp_path / "suites") == []


def test_a_full_disk_ends_the_launch(sides):
    """No case is stored as one that has failed."""
    with pytest.raises(DiskError, match="No space left on device"):
        launch.take(sides, "box", selection="time_full|time_sleep")


FORKS = """
import mmap, os
from pathlib import Path

SIDE, FOLDER = os.environ["SIDE"], Path(os.environ["FOLDER"])
seen = []

def fork():
    \"\"\"Return which fork of its side this is, from 1 on.\"\"\"
    path = FOLDER / f"forks-{SIDE}"
    if not seen:
        with path.open("a") as file:
            file.write(f"{os.getpid()}\\n")
        seen.append(len(path.read_text().split()))
    return seen[0]

def time_fork():
    fork()

class Skips:
    def setup(self):
        raise NotImplementedError("not here")

    def time_nothing(self):
        pass

class Faults:
    params = ["never", "at first", "always", "in turn"]
    number = 1

    def time_copy(self, when):
        slow = SIDE == "slow"
        if {"never": 0, "at first": slow and fork() == 1, "always": slow, "in turn": fork() % 2 == slow}[when]:
            with mmap.mmap(-1, 2**22) as memory:
                memory[::4096] = bytes(2**10)
        else:
            fork()
"""


@pytest.fixture
def forking(sides, tmp_path):
    """Processes of two sides, and a function that returns the forks that a side has had."""
    (sides[0].suites / "forks.py").write_text(FORKS)
    with side_process.started(sides) as processes:
        yield processes, lambda name="slow": (tmp_path / f"forks-{name}").read_text().split()


def test_one_fork_times_many_cases(forking):
    """Also after one that is skipped; a case that is alone has a fork for itself, before and after."""
    processes, forks = forking
    for name, index, alone in (("time_fork", -1, False), ("Skips.time_nothing", -1, False), ("time_fork", -1, False)):
        taken = case_turns.time_case(processes, f"forks.{name}", [index, index], alone=alone)
    assert ([bool(each.seconds) for each in taken], len(forks())) == ([True, True], 1)
    case_turns.time_case(processes, "forks.time_fork", [-1, -1])
    case_turns.time_case(processes, "forks.time_fork", [-1, -1], alone=False)
    assert len({*forks()}) == 3


@pytest.mark.parametrize(("case", "forks_taken", "failed"), [(0, 1, False), (1, 2, False), (2, 2, False), (3, 3, True)])
def test_sides_that_differ_in_page_faults_are_taken_again(forking, case, forks_taken, failed):
    """What they do twice is how they copy; if they never do the same twice, the sides that differ fail."""
    processes, forks = forking
    taken = case_turns.time_case(processes, "forks.Faults.time_copy", [case, case])
    assert len(forks()) == forks_taken
    assert sum(bool(each.seconds) for each in taken) == (1 if failed else 2)
    assert [each.failed.partition(",")[0] for each in taken if each.failed] == (
        ["its page faults in a call differ from those of the others"] if failed else []
    )


LONG = """
import time

def time_computes():
    end = time.thread_time() + 0.02
    while time.thread_time() < end:
        pass

def time_waits():
    time.sleep(0.02)

class SetUp:
    def setup(self):
        end = time.perf_counter() + 0.03
        while time.perf_counter() < end:
            pass

    def time_nothing(self):
        pass
"""


def test_a_long_call_that_computes_is_timed_on_its_core(sides):
    """Beside two busy processes; one that sleeps, or is short after a long setup, by the wall clock."""
    (sides[0].suites / "long.py").write_text(LONG)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        rows = {name: suite.rows["0"].seconds for name, suite in launch.take(sides, "box", selection=r"^long\.").suites.items()}
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert rows["long.time_computes"] == pytest.approx(0.02, rel=0.02)
    assert 0.02 < rows["long.time_waits"] < 0.1
    assert rows["long.SetUp.time_nothing"] < 1e-4
