"""A launch: processes of several sides that take turns, and what becomes of those that cannot.

The suites are an asv suite as anybody writes one; of torch a launch needs only that it can be imported, so here it is empty.
"""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from math import log
from pathlib import Path

import pytest

from tensorcopy import files
from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import DiskError
from tensorcopy.measure import launch, process
from tensorcopy.measure.process import Program, SideFailed
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

def note(text):
    with (FOLDER / f"log-{SIDE}").open("a") as file:
        file.write(text)

def time_sleep():
    time.sleep(0.012 if SIDE == "slow" else 0.008)  # a busy machine adds some tenths of a millisecond

class Ends:
    params = ["raises", "is skipped", "is killed", "exits", "hangs"]
    timeout = 2

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

    def time_reading(self, value):
        Path("made").read_text()

    def setup(self, value):
        note("s")

    def teardown(self, value):
        Path("made").read_text()
        note("t")

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

def track_collecting():
    import gc
    return float(gc.isenabled())

def time_where():
    (FOLDER / f"cores-{SIDE}").write_text(str(sorted(os.sched_getaffinity(0))))
"""


class Matching:
    """The cases whose names a regular expression matches."""

    def __init__(self, pattern: str) -> None:
        self._pattern = re.compile(pattern)

    def __contains__(self, name: str) -> bool:
        return bool(self._pattern.search(name))


def take(programs: list[Program], pattern: str, **options: object) -> Launch:
    return launch.take(programs, "box", Matching(pattern), **options)


def count(program: Program, pattern: str = "", **options: object) -> Launch:
    return launch.take([program], "box", Matching(pattern), kind="counts", **options)


@pytest.fixture
def sides(tmp_path) -> list[Program]:
    return made_sides(tmp_path)


def made_sides(folder: Path) -> list[Program]:
    """Return a fast side and a slow one, of an asv suite that is written into a folder."""
    suites = folder / "suites"
    suites.mkdir()
    (suites / "__init__.py").write_text("")
    (suites / "several.py").write_text(SUITE)
    (folder / "libraries" / "torch").mkdir(parents=True)
    (folder / "libraries" / "torch" / "__init__.py").write_text("")
    (folder / "libraries" / "pympler.py").write_text("raise ImportError")  # asv_runner imports it, and it numpy, for 0.2 seconds
    search_path = os.pathsep.join([str(folder / "libraries"), str(ROOT)])
    return [
        Program(
            (sha_of(version), "py3.11-cuda", ""),
            Path(sys.executable),
            suites,
            {**os.environ, "PYTHONPATH": search_path, "ASV_PYTHONPATH": search_path, "SIDE": name, "FOLDER": str(folder)},
            specs=shipped().specs,
            provenance={**PROVENANCE, "torch": version, "torch_sha": sha_of(version)},
        )
        for version, name in (("2.14.1", "fast"), ("2.15.0", "slow"))
    ]


def with_suite(sides: list[Program], name: str, text: str) -> list[Program]:
    (sides[0].suites / f"{name}.py").write_text(text)
    return sides


@pytest.fixture(scope="module")
def taken(tmp_path_factory) -> tuple[Launch, Path]:
    """A launch that several tests look at, which lets a side hang for two seconds, and its folder. Processes take a second to start."""
    folder = tmp_path_factory.mktemp("taken")
    return take(made_sides(folder), "time_sleep|Ends|Cached.time|time_where", reference=0), folder


def test_the_ratio_of_two_sides_is_that_of_their_work(taken, tmp_path):
    """8 ms and 12 ms, which differ by log(1.5); each side has the effect, its seconds and its turns."""
    taken, _ = taken
    (row,) = taken.suites["several.time_sleep"].rows.values()
    assert (row.effects[1] - row.effects[0]) / UNIT == pytest.approx(log(1.5), abs=0.1)
    assert 0.008 < row.seconds < 0.016
    assert launch.FEWEST_TURNS <= row.turns <= launch.TURNS
    assert ([side.sha for side in taken.sides], taken.reference) == ([sha_of("2.14.1"), sha_of("2.15.0")], 0)
    assert launches.read(launches.write(tmp_path, taken)) == taken


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


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no system call")
def test_all_sides_are_on_one_core(taken):
    """One that this process may use."""
    (cores,) = {(taken[1] / f"cores-{name}").read_text() for name in ("fast", "slow")}
    assert cores in {f"[{core}]" for core in os.sched_getaffinity(0)}


def test_a_setup_cache_runs_once_on_each_side(taken, sides, tmp_path):
    """Benchmarks run in the folder where it ran, as with asv. One that fails is not tried again: it may take minutes."""
    (row,) = taken[0].suites["several.Cached.time_reading"].rows.values()
    assert None not in row.effects
    assert re.fullmatch("(st)+", (taken[1] / "log-slow").read_text())  # each time that it is set up, it is torn down
    counted = count(sides[0], methods={"clone": CLONE}, article={"cpu": HOLDS})
    assert counted.suites["several.Cached.track_value"].values == {"0": 35.0}
    assert counted.suites["several.Cached.track_twice"].values == {"0": 14.0}
    assert [(tmp_path / name).read_text() for name in ("cache-fast", "badly-fast")] == ["x", "x"]
    for name in ("track_one", "track_other"):
        assert counted.suites[f"several.CachedBadly.{name}"].failed == {"0": {ALL: "RuntimeError: setup_cache: OSError: no room"}}
    late = [counted.suites[f"several.CachedSlowly.{name}"].failed["0"][ALL] for name in ("track_late", "track_later")]
    assert late == ["took more than 0.5 s", "RuntimeError: setup_cache did not end"]
    assert counted.suites["several.track_collecting"].values == {"0": 0.0}  # a collection takes as long as thousands of small calls
    assert not any("time" in name for name in counted.suites)
    assert (counted.kind, counted.methods, counted.article) == ("counts", {"clone": CLONE}, {"cpu": HOLDS})
    assert launches.read(launches.write(tmp_path, counted)) == counted


CLONE = {"code": "x.clone()", "code_on_accelerator": "x.clone()", "group": "copies", "since": "1.9.0", "observed": {}}
HOLDS = {"statements": 11, "hold": 10, "fail": ["x.cpu() shares storage"]}
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


def test_two_revisions_have_their_own_suites(sides, tmp_path):
    """A case is the same whatever its place in the order; one that the earlier lacks has no time there, and is no failure.

    Of a benchmark that it has in another version it says so.
    """
    for number, milliseconds in enumerate(([2, 4, 8], [8, 6, 2])):
        suites = tmp_path / f"revision-{number}"
        suites.mkdir()
        (suites / "__init__.py").write_text("")
        (suites / "sleeping.py").write_text(SLEEPS.format(milliseconds=milliseconds, number=number))
        sides[number] = replace(sides[number], suites=suites, place=(*sides[number].place[:2], str(number)))
    suites = take(sides, "").suites
    assert (suites["sleeping.time_changed"].version, suites["sleeping.time_changed"].rows["0"].effects) == ("1", [None, 0])
    assert suites["sleeping.time_changed"].skipped == {"0": {"0": launches.OTHER_VERSION}}
    suite = suites["sleeping.Sleeps.time_sleep"]
    seconds = {int(suite.params[0][int(index)]): row for index, row in suite.rows.items()}
    assert {number: [effect is not None for effect in row.effects] for number, row in seconds.items()} == {
        2: [True, True],
        6: [False, True],
        8: [True, True],
    }
    assert all(number * 0.97 < row.seconds * 1000 for number, row in seconds.items()), seconds  # of two mixed up, one is too short
    assert suite.failed == suite.skipped == {}


METHODS = """
import os, time
from pathlib import Path

LOG = Path(os.environ["FOLDER"]) / "log"

class BySize:
    params = [["clone", "tensor", "exits", "raises"], [1, 2**20, 2**20 + 1]]
    param_names = ["method", "numel"]

    def setup(self, method, numel):
        if method == "raises":
            raise NotImplementedError("not here")

    def time_copy(self, method, numel):
        with LOG.open("a") as log:
            log.write(f"{os.getpid()} {method} {numel}\\n")
        if method == "exits":
            os._exit(3)
        time.sleep(0.002 * (1 + (method == "tensor")))
"""


def test_the_methods_of_a_side_that_is_alone_take_turns(sides, tmp_path):
    """At each size whose cases share a fork. One that ends it, or is skipped, leaves the others; with two sides, these take turns."""
    with_suite(sides, "copies", METHODS)
    log = tmp_path / "log"

    def calls(numel):
        lines = [line.split() for line in log.read_text().splitlines()]
        return [(fork, method) for fork, method, size in lines if size == str(numel) and method != "exits"]

    def changes(numel):
        """Return how often another method was called than before."""
        methods = [method for _, method in calls(numel)]
        return sum(one != other for one, other in zip(methods, methods[1:]))

    suite = take([sides[0]], "^copies").suites["copies.BySize.time_copy"]
    assert all(changes(numel) >= launch.FEWEST_TURNS for numel in (1, 2**20))  # of 4 MiB
    assert changes(2**20 + 1) == 1
    assert len({fork for fork, _ in calls(2**20 + 1)}) == 2  # of a larger tensor: a fork for each case
    assert [index for index, row in suite.rows.items() if row.in_turns] == ["0", "1", "3", "4"]
    assert [index for index, row in suite.rows.items() if not row.in_turns] == ["2", "5"]
    assert suite.failed == {index: {ALL: "ended with exit code 3"} for index in ("6", "7", "8")}
    assert suite.skipped == {index: {ALL: "not here"} for index in ("9", "10", "11")}
    for place, numel in enumerate((1, 2**20, 2**20 + 1)):
        assert suite.rows[str(3 + place)].seconds / suite.rows[str(place)].seconds == pytest.approx(2, abs=0.4), numel
    log.unlink()
    beside = take(sides, r"^copies.*\(('clone'|'tensor'), 1\)").suites["copies.BySize.time_copy"]
    assert (changes(1), {row.in_turns for row in beside.rows.values()}) == (1, {False})
    assert len({fork for fork, _ in calls(1)}) == 2  # one of each side: 30 ms of a fork are as long as the turns of a case


MEMORY = """
import os

class Host:
    params = ["a", "ends", "b", "c", "raises", "d"]

    def track_peak(self, method):
        if method == "raises":
            raise ValueError("no such thing")
        return os._exit(3) if method == "ends" else os.getpid()
"""


def test_the_counts_of_a_shipped_suite_share_a_fork(sides):
    """After a case that ends it, which is named, another one goes on."""
    with_suite(sides, "memory", MEMORY)
    peak = count(sides[0], "^memory").suites["memory.Host.track_peak"]
    assert peak.values["0"] != peak.values["2"] == peak.values["3"] != peak.values["5"]
    assert peak.failed == {"1": {ALL: "ended with exit code 3"}, "4": {ALL: "ValueError: no such thing"}}


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

class Named:
    params = [["a".upper, len], [object(), object()]]

    def time_named(self, function, anything):
        pass

class Alike:
    params = ["a".upper, "b".upper]

    def time_alike(self, anything):
        pass
"""


def test_whatever_asv_describes_is_measured_or_costs_its_own_case(sides, tmp_path):
    """With its name and the reason: parameters of any kind, what a benchmark tracks, and what it raises where."""
    with_suite(sides, "odd", ODD)
    taken = take(sides, r"^odd\.")
    assert launches.read(launches.write(tmp_path, taken)) == taken
    odd = taken.suites["odd.Odd.time_odd"]
    assert odd.param_names == ["one", "2"]
    assert odd.params[0][:-1] == ["1 (0)", "1 (1)", "None", "nan", "(1, 2)"]
    assert odd.params[0][-1].startswith("thing xxx")
    assert len(odd.params[0][-1]) == launch.LONGEST_PARAMETER
    assert odd.skipped == {index: {ALL: "by skip_for_params"} for index in ("0", "1")}
    assert len(odd.rows) == 4
    assert "odd.Many.time_many" not in taken.suites
    ends = taken.suites["odd.Ends.time_ends"]
    assert ends.failed["0"][ALL].startswith("NotImplementedError: no such operator. xxx")
    assert len(ends.failed["0"][ALL]) == turns.LONGEST_ERROR
    assert ends.failed["2"] == {ALL: "OSError: no room ?"}
    assert (ends.skipped, ends.rows) == ({"1": {ALL: "not for this"}}, {})
    assert taken.suites["odd.time_by_own_timer"].failed == {"0": {ALL: "its own timer gave 0 s for a call"}}
    assert taken.suites["odd.time_never"].rows["0"].calls > 1  # as without a number
    named = taken.suites["odd.Named.time_named"]  # an address would be another case in each launch
    assert named.params == [
        ["<built-in method upper of str object>", "<built-in function len>"],
        ["<object object> (0)", "<object object> (1)"],
    ]
    assert all(None not in row.effects for row in named.rows.values())
    alike = taken.suites["odd.Alike.time_alike"]
    assert alike.params == [["<built-in method upper of str object> (0)", "<built-in method upper of str object> (1)"]]
    assert len(alike.rows) == 2

    counted = count(sides[0], r"^odd\.")
    assert launches.read(launches.write(tmp_path, counted)) == counted
    values = counted.suites["odd.Values.track_value"]
    assert values.values == {"0": 1.0, "1": 7.0, "2": 0.25, "3": 3.0, "4": 0.0}
    assert (values.skipped, values.unit) == ({}, "5")
    assert {index: by_side[ALL] for index, by_side in values.failed.items()} == {
        "5": "TypeError: must be real number, not NoneType",
        "6": "ValueError: it returned nan, which is no finite number",
        "7": "ValueError: it returned -inf, which is no finite number",
        "8": "TypeError: must be real number, not str",
        "9": "OverflowError: int too large to convert to float",
        "10": "TypeError: must be real number, not complex",
        "11": "it returned 1e+308, beyond 1e+30 or its inverse",
        "12": "it returned -1e-300, beyond 1e+30 or its inverse",
    }


HARMS = """
import json, os, shutil, signal, subprocess, sys, tempfile, threading, time
from pathlib import Path

SIDE, FOLDER = os.environ["SIDE"], Path(os.environ["FOLDER"])

def each_descriptor(act):
    for descriptor in range(3, 32):
        try:
            act(descriptor)
        except OSError:
            pass

class Harms:
    number, timeout = 1, 3  # a busy machine may take a second for a case
    params = [
        "ends between turns", "reads", "writes", "prints", "answers itself", "closes descriptors", "sets descriptors non-blocking",
        "replaces functions", "quotes a full disk", "quotes a disk that is read-only", "returns twice", "empties TMPDIR",
        "stops its process", "signals itself",
    ]

    def setup(self, how):
        if SIDE == "fast":
            return
        if how == "ends between turns":
            threading.Timer(0.2, os._exit, [3]).start()
        elif how == "writes":
            Path("large").write_text("x")
            (FOLDER / "written").write_text(os.getcwd())

    def time_harm(self, how):
        if how == "ends between turns":
            time.sleep(0.05 if SIDE == "fast" else 0)
        elif how == "reads":
            subprocess.run(["cat"], check=True)
        if SIDE == "fast":
            return
        if how == "answers itself":
            in_form, otherwise = b'\\n{"turn": [1e-9, 0]}\\n{"ended": 0}\\n', b'\\n{"n": "one", "turn": 3}\\n[]\\nnull\\n'
            for text in (b"faster", in_form, otherwise, b"x" * 100_000):
                each_descriptor(lambda descriptor: os.write(descriptor, text))
        elif how == "closes descriptors":
            each_descriptor(os.close)
        elif how == "sets descriptors non-blocking":
            each_descriptor(lambda descriptor: os.set_blocking(descriptor, False))
        elif how == "replaces functions":
            json.dumps = json.loads = os.write = os.read = None
        elif how == "quotes a full disk":
            raise RuntimeError("as in [Errno 28] No space left on device")
        elif how == "quotes a disk that is read-only":
            raise OSError(30, "Read-only file system")
        elif how == "returns twice":
            os.fork()
        elif how == "empties TMPDIR":
            shutil.rmtree(tempfile.gettempdir(), ignore_errors=True)
        elif how == "stops its process":
            leave()
            os.kill(os.getppid(), signal.SIGSTOP)
        elif how == "signals itself":
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, lambda *_: None)
        elif how == "prints":
            print("x" * 2**20)

def leave():
    started = subprocess.Popen(["sleep", "60"], start_new_session=True)
    with (FOLDER / "started").open("a") as file:
        file.write(f"{started.pid} ")

class Leaves:
    def time_leaves(self):
        leave()
        time.sleep(0.01)

class Ends:
    params = list(range(5))

    def time_end(self, number):
        if SIDE == "slow":
            os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(0.01)
"""
FAILED = {
    "ends between turns": "ended with exit code 3",
    "closes descriptors": r"ended with exit code 0|ended by signal|OSError",
    "quotes a full disk": r"RuntimeError: as in \[Errno 28\] No space left on device",
    "quotes a disk that is read-only": r"OSError: \[Errno 30\] Read-only file system",
    "returns twice": "it returned in two processes|ended by signal 9",
}


def test_what_a_benchmark_does_to_its_process_costs_its_own_case(sides, tmp_path, monkeypatch):
    """And nothing of it is left: no answer is another's, the cases after it are timed, no process runs on, and no file takes space."""
    monkeypatch.setattr(process, "LONGEST_END", 2.0)  # until one that is stopped is killed
    with_suite(sides, "harms", HARMS)
    taken = take(sides, "^harms|time_sleep")
    assert processes(sides[0].suites) == []
    harms = taken.suites["harms.Harms.time_harm"]
    names = [name.strip("'") for name in harms.params[0]]
    failed = {names[int(index)]: by_side for index, by_side in harms.failed.items()}
    assert {how: set(by_side) for how, by_side in failed.items()} == {how: {"1"} for how in FAILED}
    for how, expected in FAILED.items():
        assert re.match(expected, failed[how]["1"]), how
    for index, row in harms.rows.items():
        assert row.effects[0] is not None
        assert (row.effects[1] is not None) == (names[int(index)] not in FAILED), names[int(index)]
        assert row.seconds > 2e-8, names[int(index)]  # not what a benchmark has answered
    assert len(harms.rows) == len(names)
    assert None not in taken.suites["several.time_sleep"].rows["0"].effects
    ends = taken.suites["harms.Ends.time_end"].failed
    assert [of["1"] for of in ends.values()] == ["ended or stopped the process that measures it"] * 5
    assert not any(runs(int(number)) for number in (tmp_path / "started").read_text().split())
    assert not Path((tmp_path / "written").read_text()).exists()


def test_a_full_disk_ends_the_launch(sides, monkeypatch):
    """No case is stored as one that has failed."""

    def refuse(folder: Path) -> None:
        raise DiskError("a file cannot be written", got=os.strerror(errno.ENOSPC), allowed="room", next="free some")

    with_suite(sides, "full", "def time_full():\n    raise OSError(28, 'No space left on device')\n")
    monkeypatch.setattr(files, "require_room", refuse)
    with pytest.raises(DiskError, match="No space left on device"):
        take(sides, "time_full|time_sleep")


def test_a_module_that_cannot_be_imported_costs_its_own_benchmarks(sides):
    """And a benchmark that cannot be made, also one whose parameters cannot be shown; each is named, with the reason."""
    with_suite(sides, "lacking", "import einops.layers\n\ndef time_it():\n    pass\n")
    with_suite(sides, "long", "raise ImportError('x' * 500)\n")
    with_suite(sides, "ends", "raise SystemExit(3)\n")
    with_suite(sides, "bad", "class Bad:\n    params = 5\n\n    def time_call(self, size):\n        pass\n\ndef time_good():\n    pass\n")
    with_suite(sides, "made", "class Made:\n    def __init__(self, size): ...\n\n    def time_call(self):\n        pass\n")
    with_suite(sides, "many", "def time_many(one, two):\n    pass\n\ntime_many.params = [list(range(400))] * 2\n")
    shown = "class Thing:\n    def __repr__(self):\n        raise ValueError('no text')\n\nclass Shown:\n    params = [Thing()]\n\n"
    with_suite(sides, "shown", f"{shown}    def time_call(self, thing):\n        pass\n")
    with process.started([sides[0]]) as (own,):
        broken, names = dict(own.program.broken), {each["name"] for each in own.program.benchmarks}
    assert broken.pop("lacking") == "ModuleNotFoundError: No module named 'einops'"
    assert broken.pop("long").startswith("ImportError: xxx")
    assert "SystemExit: 3" in broken.pop("ends")
    assert broken.pop("bad.Bad.time_call") == "TypeError: 'int' object is not iterable"
    assert re.match(r"TypeError: .*'size'", broken.pop("made.Made.time_call"))
    assert broken.pop("many.time_many") == "it has 160,000 cases: 100,000 are allowed"
    assert broken == {"shown.Shown.time_call": "ValueError: no text"}
    assert {"bad.time_good", "several.time_sleep"} <= names


def test_a_side_that_cannot_start_is_named_and_the_others_end(sides, tmp_path):
    """Its environment may be damaged, or removed by another program."""
    with pytest.raises(SideFailed, match="No such file or directory"):
        take([*sides, replace(sides[0], python=Path("/removed/bin/python"))], "sleep")
    (tmp_path / "libraries" / "torch" / "__init__.py").write_text(
        "import os\nif os.environ['SIDE'] == 'slow': raise OSError('no libtorch')"
    )
    with pytest.raises(SideFailed, match=r"got OSError: no libtorch; .*next: remove .*, it is built anew") as error:
        take(sides, "sleep")
    assert error.value.program == sides[1]
    assert processes(sides[0].suites) == []


def test_a_request_for_a_fork_that_has_ended_costs_the_next_one_nothing(sides):
    """Written before the end of the fork is known, it lies in the pipe with the next."""
    lines = [
        '{"n": 1, "fork": 0, "longest": 9, "turn": 0}',
        '{"n": 2, "fork": 1, "longest": 9, "value": "several.track_collecting", "index": -1}',
    ]
    command = [str(sides[0].python), "-m", "tensorcopy.worker.turns", str(sides[0].suites)]
    variables = {**sides[0].variables, "TMPDIR": str(sides[0].suites.parent)}
    done = subprocess.run(command, input="\n".join([*lines, ""]), env=variables, capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines() if line]
    assert answers[1:] == [{"n": 2, "value": 0.0}, {"ended": 0, "fork": 1}]


def test_a_process_that_does_not_become_ready_is_named(sides, monkeypatch):
    monkeypatch.setattr(process, "LONGEST_START", 1.0)
    with_suite(sides, "slow", "import time\ntime.sleep(60)\n")
    with pytest.raises(SideFailed, match="got no output"):
        take(sides, "sleep")
    assert processes(sides[0].suites) == []


def test_a_launch_ends_after_it_began_though_the_clock_steps_back(sides, monkeypatch):
    """`ended` follows the steady clock: a launch that ends before it begins would be refused when it is read."""
    now = [datetime.fromisoformat("2026-11-21T08:00:00+00:00"), datetime.fromisoformat("2026-11-21T07:00:00+00:00")]

    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            return now.pop(0) if len(now) > 1 else now[0]

    monkeypatch.setattr(launch, "datetime", Clock)
    taken = take(sides, "time_sleep")
    assert taken.started == "2026-11-21T08:00:00+00:00" <= taken.ended < "2026-11-21T08:01:00+00:00"


def processes(suites: Path) -> list[str]:
    """Return the command lines of the processes that run these suites."""
    listed = subprocess.run(["ps", "-ewwo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if "tensorcopy.worker.turns" in line and str(suites) in line]


def runs(number: int) -> bool:
    """Return whether a process runs, and has not ended without being waited for."""
    with suppress(OSError):
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def test_nothing_runs_on_after_an_interrupted_launch(sides):
    """Neither the sides nor their forks; and no temporary folder is left."""

    def interrupt(share: float, suite: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        take(sides, "time_sleep", report_progress=interrupt)
    assert processes(sides[0].suites) == []


KILLED = """
import sys
from pathlib import Path
from tensorcopy.results import launches
from tests.measure.test_launch import made_sides, take
made = made_sides(Path(sys.argv[1]))
for number in range(100):
    print(number, flush=True)
    launches.write(Path(sys.argv[1]) / "results", take(made, "time_(sleep|where)"))
"""
HANGING = """
import sys
from pathlib import Path
from tests.measure.test_launch import made_sides, take
made, folder = made_sides(Path(sys.argv[1])), Path(sys.argv[1])
body = "    left = subprocess.Popen(['sleep', '600'], start_new_session=True)\\n"
body += "    pathlib.Path(os.environ['FOLDER'], 'hangs').write_text(str(left.pid)) and time.sleep(600)"
(folder / "suites" / "hanging.py").write_text("import os, pathlib, subprocess, time\\ndef time_hang():\\n" + body)
take(made, "time_hang")
"""


def test_a_case_that_hangs_ends_with_a_killed_program(tmp_path, monkeypatch):
    """With what the suite has started, though no pipe tells its process that the program has ended; the next launch removes its folder."""
    hangs, temporary = tmp_path / "hangs", tmp_path / "temporary"
    temporary.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", HANGING, str(tmp_path)], cwd=ROOT, env={**os.environ, "TMPDIR": str(temporary)}
    ) as program:
        end = time.monotonic() + 30
        while not (hangs.exists() and hangs.read_text()) and time.monotonic() < end:
            time.sleep(0.1)
        assert len(processes(tmp_path / "suites")) >= 3
        os.kill(program.pid, signal.SIGKILL)
    end = time.monotonic() + 5
    while (processes(tmp_path / "suites") or runs(int(hangs.read_text()))) and time.monotonic() < end:
        time.sleep(0.1)
    assert processes(tmp_path / "suites") == []
    assert not runs(int(hangs.read_text()))
    (left,) = temporary.iterdir()
    monkeypatch.setattr(process.tempfile, "gettempdir", lambda: str(temporary))
    with process.temporary_folder() as running, process.temporary_folder() as own:
        assert sorted(temporary.iterdir()) == sorted([running, own])
        assert left not in (running, own)


@pytest.mark.parametrize("number", [0, 3, 9])
def test_a_killed_program_leaves_whole_launches_and_no_process(tmp_path, number):
    """Killed at any moment, while it starts, times or writes: what is there can be read."""
    with subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout.readline() == "0\n"
        time.sleep(0.2 + 0.37 * number)
        os.kill(program.pid, signal.SIGKILL)
    files = [path for path in (tmp_path / "results").rglob("*") if path.is_file()]
    assert all(launches.read(path).suites for path in files if path.suffix == ".json")
    assert all(path.name.startswith(".") for path in files if path.suffix != ".json")
    end = time.monotonic() + 10
    while processes(tmp_path / "suites") and time.monotonic() < end:
        time.sleep(0.1)
    assert processes(tmp_path / "suites") == []


FAULTS = """
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


@pytest.mark.parametrize(
    ("case", "forks_taken", "failed"), [("never", 1, False), ("at first", 2, False), ("always", 2, False), ("in turn", 3, True)]
)
def test_sides_that_differ_in_page_faults_are_taken_again(sides, tmp_path, case, forks_taken, failed):
    """What they do twice is how they copy; if they never do the same twice, the sides that differ fail."""
    suite = take(with_suite(sides, "forks", FAULTS), f"Faults.*'{case}'").suites["forks.Faults.time_copy"]
    assert len((tmp_path / "forks-slow").read_text().split()) == forks_taken
    (row,) = suite.rows.values()
    assert sum(each is not None for each in row.effects) == (1 if failed else 2)
    reasons = [reason.partition(",")[0] for by_side in suite.failed.values() for reason in by_side.values()]
    assert reasons == (["its page faults in a call differ from those of the others"] if failed else [])


LONG = """
import time

def time_computes():
    end = time.thread_time() + 0.02
    while time.thread_time() < end:
        pass

calls = []

def time_waits_once():  # as for a page of a library
    calls.append(0)
    if len(calls) == 4:
        time.sleep(0.001)
    time_computes()

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
    """Beside two busy processes, though it waits once; one that sleeps, or is short after a long setup, by the wall clock."""
    with_suite(sides, "long", LONG)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        rows = {name: suite.rows["0"].seconds for name, suite in take(sides, r"^long\.").suites.items()}
    finally:
        for each in busy:
            each.kill()
            each.wait()
    assert rows["long.time_computes"] == pytest.approx(0.02, rel=0.02)
    assert rows["long.time_waits_once"] == pytest.approx(0.02, rel=0.02)
    assert 0.02 < rows["long.time_waits"] < 0.1
    assert rows["long.SetUp.time_nothing"] < 1e-4


@pytest.mark.parametrize(("core", "beside"), [(0, {0, 1, 4}), (1, {0, 1, 4}), (5, {5, 6}), (9, {0, 1, 4, 5, 6, 9})])
def test_a_process_imports_on_the_cores_of_its_memory(tmp_path, monkeypatch, core, beside):
    """What it imports would else be far from the core on which it is timed; where no memory is known of a core, on all."""
    for name, cores in {"node0": "0-4\n", "node1": "5-6,8\n", "node2": "\n"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "cpulist").write_text(cores)
    monkeypatch.setattr(process, "NODES", tmp_path)
    monkeypatch.setattr(process.os, "sched_getaffinity", lambda _: {0, 1, 4, 5, 6, 9})
    assert process.cores_beside(core) == beside
