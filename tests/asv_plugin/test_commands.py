"""asv's own commands over launches: each works as asv's users know it, or ends in one line."""

import json
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tensorcopy.asv_plugin import job_of_options
from tensorcopy.measure.plan import REFERENCE
from tensorcopy.results import launches
from tests import launch_files
from tests.cli.test_cli import LINE
from tests.conftest import ROOT, Checkout, at_home, installed, link_environments

BEFORE, TAG = "v2.14.1", "v2.15.0"
OLD = ("1.9.0", "1.9.1")  # are measured: a process imports them in a third of the time that the newest takes
INTERPRETERS = [f"interpreter:.asv/env/{version}-py3.9-cuda/bin/python" for version in OLD]
PYTHON = "PYTHON"  # stands for a Python without any package
RELEASE = f"{TAG}^!"
COPY = "copies.BySize.time_copy"
WORKING = {  # with a regular expression of what is printed
    "show": (["show", TAG], r"tensor +2\.\d+±\S*μs"),
    "show everything": (["show"], r"Machine    : box\nEnvironment: py3.11-cuda\n\n +5c488690\n +d0f2af8b"),
    "compare": (["compare", BEFORE, TAG], rf"\| \+ +\| \S+s +\| \S+s +\| 1\.2\d* \(1\.\d+ to 1\.\d+\) +\| {COPY}\('tensor', 16\) +\|"),
    "find": (
        ["find", f"{BEFORE}..{TAG}", f"{COPY}('tensor', 16)"],
        rf"'tensor', 16\): 1\.2\d \(1\.\d+ to 1\.\d+\) from torch 2.14.1.* of box\n(.*\n)*.*Regression found: d0f2af8b <{TAG}>",
    ),
    "publish": (["publish", "-o", "pages", "--no-pull"], r"^· Writing \S+/pages$"),
    "setup": (["setup"], r"^· Creating environments\n· py3\.11-\w+(\n· py3\.9-\w+)?$"),  # as far as there are these Pythons
}
REFUSED = {  # with parts of the last line
    "rm": (
        ["rm", "-y", f"commit_hash={TAG}"],
        ["several releases, and is never changed", "next: rm results/box/2026", "removes the newest launch"],
    ),
    "profile": (["profile", COPY, TAG], ["cannot profile", f"got asv profile {COPY};", "next: tensorcopy why CASE BEFORE AFTER"]),
    "check": (["check"], ["imported in each release's environment", "next: asv run --quick", "or tensorcopy measure --bench"]),
    "update": (["update"], ["nothing to convert", "never changed", "next: asv show"]),
    "find --parallel": (["find", "--parallel", "2", f"{BEFORE}..{TAG}", COPY], ["got --parallel 2", "next: leave --parallel out"]),
    "find one release": (["find", TAG, COPY], ["nothing to search", f"got {TAG};", f"next: asv find {BEFORE}..{TAG} {COPY}"]),
    "find backwards": (["find", f"{TAG}..{BEFORE}", COPY], [f"got {TAG}..{BEFORE};", "B later than A"]),
    "find nothing": (["find", "-i", f"{BEFORE}..{TAG}", COPY], ["no improvement to search for", f"next: asv find {BEFORE}..{TAG} {COPY}"]),
    "run --profile": (["run", RELEASE, "--profile"], ["got --profile", "next: tensorcopy why"]),
    "run --parallel": (["run", "--parallel", "2", f"{BEFORE}..{TAG}"], ["got --parallel 2", "next: leave --parallel out"]),
    "run --launch-method spawn": (["run", RELEASE, "--launch-method", "spawn"], ["got --launch-method spawn"]),
    "a label of one's own": (["run", "--set-commit-hash", TAG], [f"got --set-commit-hash {TAG}"]),
    "attributes of a sample": (["run", RELEASE, "-a", "repeat=3"], ["got -a repeat=3", "-a rounds=N"]),
    "a core": (["run", RELEASE, "--cpu-affinity", "0"], ["got -a cpu_affinity=", "next: leave it out; taskset -c CORE"]),
    "no commit": (["run", f"{TAG}..{TAG}"], [f"nothing to measure: got no commit in {TAG}..{TAG}"]),
    "no file of hashes": (["run", "HASHFILE:nowhere"], ["the file of hashes cannot be read: got nowhere: No such file or directory"]),
    "an empty file of hashes": (["run", f"HASHFILE:{os.devnull}"], ["nothing to measure: got no commit in HASHFILE:"]),
    "no regular expression": (["run", RELEASE, "--bench", "("], ["invalid --bench: got '(': missing )"]),
    "a machine that is a path": (["run", RELEASE, "--machine", "../box"], ["invalid --machine: got '../box'"]),
    **{
        f"the factor {factor} of {command}": (
            [command, BEFORE, TAG, "--factor", factor],
            [f"got --factor {factor}; allowed: more than 1, and"],
        )
        for command in ("continuous", "compare")
        for factor in ("1", "nan")
    },
    **{
        f"{number} rounds": (["run", RELEASE, "-a", f"rounds={number}"], [f"got -a rounds={number}; allowed: 1 to"]) for number in (0, 1001)
    },
    "a machine without a name": (["run", RELEASE, "--machine", ""], ["invalid --machine: got ''"]),
    "a release that its Python lacks": (["run", "-E", "release:3.11", f"v{OLD[0]}^!"], ["next: -E release:3.9, or another release"]),
    "an existing Python": (["run", "-E", "existing:same", RELEASE], ["got -E existing", "-E interpreter:same"]),
    "an unknown environment": (["run", "-E", "virtualenv", RELEASE], ["got -E virtualenv; allowed: release:N.N, interpreter:"]),
    "an unknown release": (["compare", "v9", TAG], ["unknown torch release or git revision: got 'v9'"]),
    "an interpreter without a Python": (["run", "-E", "interpreter", RELEASE], ["names no Python", "next: -E interpreter:same"]),
    "publish a range": (["publish", RELEASE], ["asv publish has no range", f"got {RELEASE};", "next: asv publish"]),
    "publish into a link": (["publish", "-o", "benchmarks"], ["benchmarks, a link"]),  # as `checkout_in` makes it
    "publish over the results": (["publish", "-o", "."], ["replaces the folder of the site", ", a folder that has"]),
    "publish over the environments": (["publish", "-o", ".asv"], ["replaces the folder of the site", ".asv, a folder that has"]),
    "publish over something else": (["publish", "-o", "notes"], ["a folder with today.txt, which is no site of tensorcopy"]),
    "a Python without torch": (
        ["run", "-E", f"interpreter:{PYTHON}", RELEASE],
        ["there is no torch", f"next: uv pip install --python {PYTHON} torch"],
    ),
}
# asv takes half a second to start: it is imported once, and each command runs in its own process
RUN_ALL = """
import gc, json, os, sys
from pathlib import Path
import numpy.ma, tensorcopy.cli.asv, tensorcopy.site.build
from asv import main
gc.freeze()
for number, command in enumerate(json.loads(sys.argv[1])):
    if not os.fork():
        with Path(f"{number}.txt").open("w") as shown:
            os.dup2(shown.fileno(), 1), os.dup2(shown.fileno(), 2)
        sys.argv = ["asv", *command]
        sys.exit(main.main())
    code = os.waitstatus_to_exitcode(os.wait()[1])
    print(json.dumps([code, Path(f"{number}.txt").read_text()]))
"""


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A Python without any package."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, symlinks=True)
    return str(folder / "bin" / "python")


def checkout_in(folder: Path) -> Path:
    """Return a checkout without results."""
    for name in ("tensorcopy", "benchmarks"):
        (folder / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "asv.conf.json", folder)
    return folder


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory, bare):
    """The exit code and the output of each command, by its name, in a checkout with a few launches."""
    home, checkout = tmp_path_factory.mktemp("home"), checkout_in(tmp_path_factory.mktemp("checkout"))
    cases = {f"{COPY} tensor 16": {BEFORE[1:]: 2.0, TAG[1:]: 2.4}, f"{COPY} clone_detach 16": {BEFORE[1:]: 1.0, TAG[1:]: 1.0}}
    launch_files.write(checkout / "results", cases, launches=6, common=0.01)
    (checkout / "notes").mkdir()
    (checkout / "notes" / "today.txt").write_text("mine")
    before = {path: path.read_bytes() for path in (*checkout.rglob("results/box/*"), checkout / "notes" / "today.txt")}
    every = {**WORKING, **REFUSED}
    commands = [[word.replace(PYTHON, bare) for word in command] for command, _ in every.values()]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"HOME": str(home)}
    arguments = [sys.executable, "-c", RUN_ALL, json.dumps(commands)]
    done = subprocess.run(arguments, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {path: path.read_bytes() for path in (*checkout.rglob("results/box/*"), checkout / "notes" / "today.txt")} == before
    return dict(zip(every, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("command", WORKING)
def test_asv_s_commands_work(outcomes, command):
    """They read a projection of the launches, which stay as they are. `setup` prints names and no objects, and is no failure."""
    code, shown = outcomes[command]
    assert code == 0, shown
    assert re.search(WORKING[command][1], shown, re.MULTILINE), shown


@pytest.mark.slow
@pytest.mark.parametrize("command", REFUSED)
def test_what_cannot_be_done_ends_in_one_line(outcomes, bare, command):
    """With exit code 2, before anything is measured; asv's lines before it name the Pythons of the configuration that are not used."""
    code, shown = outcomes[command]
    assert code == 2, shown
    *others, last = [line.strip("· ") for line in shown.splitlines()]
    assert all("not used" in line or line.startswith("no Python") for line in others), others
    assert LINE.match(f"tensorcopy: {last}\n"), last
    for part in REFUSED[command][1]:
        assert part.replace(PYTHON, bare) in last


@pytest.fixture(scope="module")
def measuring(tmp_path_factory):
    """Runs asv in a checkout whose environments are those of this one."""
    home, checkout = tmp_path_factory.mktemp("home"), checkout_in(tmp_path_factory.mktemp("checkout"))
    link_environments(checkout, installed(tmp_path_factory, f"{REFERENCE}@3.9", *OLD))
    made = Checkout(checkout, {name: value for name, value in at_home(home).items() if name != "PYTHONPATH"})
    options = ("--machine", "box", "--bench", f"{COPY}.*'tensor', (16|128)\\)")

    def asv(*words, environments=("release:3.9",)):
        named = [word for name in environments for word in ("-E", name)]
        done = made.run("asv", *words, *options, *named)
        taken = [launches.read(path) for path in sorted(checkout.glob("results/box/*.json"))]
        return done.returncode, done.stdout + done.stderr, taken

    return asv


@pytest.mark.slow
def test_asv_run_takes_launches_beside_the_reference(measuring, tmp_path):
    """It prints what asv would, of times that the launches have; --quick keeps none."""
    code, shown, taken = measuring("run", f"v{OLD[1]}^!", "--quick", environments=INTERPRETERS[1:])
    assert (code, taken) == (0, []), shown
    assert re.search(r"tensor +16 +\d\S*[nμ]s", shown), shown
    code, shown, taken = measuring("run", f"v{OLD[1]}^!", "-a", "rounds=2")
    assert code == 0, shown
    assert re.search(rf"{re.escape(COPY)} +ok$", shown, re.MULTILINE), shown
    assert re.search(r"tensor +16 +\d\S*±\S*[nμ]s", shown), shown
    shas = [launch_files.sha_of(version) for version in (OLD[1], REFERENCE)]
    assert [[side.sha for side in launch.sides] for launch in taken] == [shas, shas]
    assert [launch.reference for launch in taken] == [1, 1]
    assert len(taken[0].suites[COPY].rows) == 2
    hashes = tmp_path / "hashes"
    hashes.write_text(f"{launch_files.sha_of(OLD[1])}\n\n")
    code, shown, after = measuring("run", f"HASHFILE:{hashes}", "--skip-existing")
    assert (code, after) == (0, taken)
    assert "has a result" in shown


def test_a_stage_is_logged_as_a_sentence_and_a_sha_as_it_is(caplog):
    log = job_of_options.Log()
    for doing in ("launch 1 of 2: imports", "d0f2af8b: imports"):
        log(0.5, doing)
    assert [record.getMessage() for record in caplog.records] == ["Launch 1 of 2", "d0f2af8b"]


@pytest.mark.slow
def test_asv_continuous_lets_two_releases_take_turns(measuring):
    """A table as asv's, with the interval of each ratio."""
    before, after = (f"v{version}" for version in OLD)
    code, shown, taken = measuring("continuous", before, after, "-a", "rounds=3", "--no-only-changed", "--factor", "3")
    assert code == 0, shown
    assert "up to 3 launches of 2 sides: at most about 1 min\n" in shown.partition("Launch 1 of at most 3")[0]
    assert re.search(rf"\| [ ?] +\| \S+s +\| \S+s +\| ~?\d\.\d+ \(\d\.\d+ to \d\.\d+\) +\| {COPY}\('tensor', 16\)", shown), shown
    assert "BENCHMARKS NOT SIGNIFICANTLY CHANGED." in shown
    assert {launch_files.sha_of(version) for version in OLD} == {side.sha for side in taken[-1].sides}


@pytest.mark.slow
def test_asv_run_lets_several_interpreters_take_turns(measuring):
    """With each other, the newest as the reference; what none has is skipped, in a line for each release."""
    code, shown, taken = measuring("run", "ALL", "-a", "rounds=1", environments=INTERPRETERS)
    assert code == 0, shown
    assert all(line.endswith("no interpreter has it") for line in shown.splitlines() if "skipped" in line), shown
    launch = taken.pop()
    assert [side.sha for side in launch.sides] == [launch_files.sha_of(version) for version in OLD]
    assert ({side.environment for side in launch.sides}, launch.reference) == ({"py3.9-cuda-interpreter"}, 1)
