"""asv's manual, typed line by line: each command works on launches, or ends in one line that says what to type."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from tests import launch_files
from tests.conftest import ROOT
from tests.repositories import AUTHOR, sha
from tests.repositories import run as git

BEFORE, TAG = "v2.14.1", "v2.15.0"
RELEASE = f"{TAG}^!"
COPY = "copies.BySize.time_copy"
TABLE = rf"▲ {COPY.rpartition('.')[0]} tensor numel=16 +2\.\d+ µs +2\.\d+ µs +\+[12]\d"
LINE = re.compile(r"tensorcopy: [^:]+: got .*; allowed: .*; next: .*")
COUNT = r"benchmark +value +± +launches\ninstructions\.BySize\.track_instructions\('tensor', 16\) +5\u2009001$"
OF_CASES = r"'clone', 16\) +failed: RuntimeError: no\n.*'empty_like_copy', 16\) +1\.00 µs +0\.6 % +6$"  # half of the interval
OF_COMMITS = r"[0-9a-f]{8} +[0-9a-f]{8} +lab +py3.11-cuda\n[0-9a-f]{8} +[0-9a-f]{8} +lab +py3.11-cuda$"
WORKING = {  # with a regular expression of what is printed
    "show": (["show", TAG], rf"\Atorch {TAG[1:]} on Python 3.11, box\n\n{COUNT}\n(.*\n)*.*{OF_CASES}"),
    "show everything": (["show"], rf"^commit .*\n(.*\n)*{TAG} +d0f2af8b +box +py3.11-cuda\n{OF_COMMITS}"),
    "show a machine": (["show", "-m", "lab"], rf"\Acommit .*\n{OF_COMMITS}"),
    "show a commit": (["show", "HEAD"], r"\A[0-9a-f]{8} with torch 2\.8\.0 on Python 3\.11, lab\n\n.*\n.*'tensor', 16\) +\S+ [µn]s +1$"),
    "show one benchmark": (["show", TAG, "-b", "instr"], r"\Atorch .*\n\nbenchmark +value\ninstr.* +5\u2009001\n\Z"),
    "show a history": (["show", TAG, "-b", "copies", "-m", "box"], rf"{COPY}\('clone_detach', 16\) +\S+ [µn]s"),
    "compare": (["compare", BEFORE, TAG], TABLE),
    "compare by name": (["compare", "2.14.1", "2.15", "--sort", "name", "--split", "-m", "box"], rf"^slower\n{TABLE}"),
    "compare with a factor": (["compare", BEFORE, TAG, "-f", "1.5"], r"none of 4 cases slower.*(\n.*)*factor of 1\.5 on \(--factor\)"),
    "compare what changed": (["compare", BEFORE, TAG, "--only-changed"], rf"{TABLE}.*(\n(?!.*clone_detach).*)*\Z"),
    "compare commits that are alike": (["compare", "HEAD~1", "HEAD"], r"no file that is measured differs between \w{8} and \w{8}"),
    "find": (["find", f"{BEFORE}..{TAG}", f"{COPY}('tensor', 16)"], rf"'tensor', 16\): 1\.2\d \(1.* in box\n.*found: d0f2af8b <{TAG}>"),
    "find by expression": (["find", f"v2.12.1..{TAG}", "copies.*tensor"], rf"from 2\.14\.1 to 2\.15\.0, in box\n.*found: d0f2af8b <{TAG}>"),
    "publish": (["publish", "-o", "pages"], r"^· Writing \S+/pages$"),
    "gh-pages": (["gh-pages", "--no-push"], r"Updating gh-pages branch"),
    "machine": (["machine", "--yes", "--machine", "box"], ""),
    "preview": (["preview", "--help"], r"Preview the results using a local web server"),
}
REFUSED = {  # with parts of the only line
    "show what was not measured": (["show", "v2.8.0"], ["no such result: got v2.8.0", "next: asv show"]),
    "rm": (["rm", "-y", f"commit_hash={TAG}"], ["asv rm has no meaning", "next: rm results/HISTORY/LAUNCH.json"]),
    "profile": (["profile", COPY, TAG], ["asv profile has no meaning", "next: tensorcopy why CASE A B"]),
    "check": (["check"], ["asv check has no meaning", "next: asv run --quick"]),
    "setup": (
        ["setup"],
        ["asv setup has no meaning", "allowed: run, continuous, compare, find, show, publish, gh-pages, preview, machine"],
    ),
    "update": (["update"], ["asv update has no meaning", "next: asv show"]),
    "preview on no port": (["preview", "--port", "99999"], ["invalid --port: got --port 99999; allowed: more than -1, less than 65536"]),
    "find one release": (["find", TAG, COPY], ["nothing to search", f"got {TAG};", f"next: asv find v2.8.0..{TAG} {COPY}"]),
    "find backwards": (["find", f"{TAG}..{BEFORE}", COPY], [f"got '{TAG}..{BEFORE}';", "next: swap the ends"]),
    "find commits": (["find", "HEAD~1..HEAD", COPY], ["unknown torch release: got 'HEAD~1'"]),
    "find nothing": (["find", "-i", f"{BEFORE}..{TAG}", COPY], ["no improvement to search for", f"got none of {COPY}"]),
    "find what was not measured": (["find", f"v2.0.1..{TAG}", COPY], ["no result of torch 2.0.1", "or tensorcopy measure 2.0.1"]),
    "run --profile": (["run", RELEASE, "--profile"], ["got --profile;", "next: leave it out"]),
    "run --parallel": (["run", "--parallel", "2", RELEASE], ["got --parallel 2", "next: leave it out"]),
    "a label of one's own": (["run", "--set-commit-hash", TAG], [f"got --set-commit-hash {TAG}", "next: leave it out"]),
    "attributes of a sample": (["run", RELEASE, "-a", "repeat=3"], ["got --attribute {'repeat': 3}", "allowed: -a rounds=N, "]),
    "no commit": (["run", f"{TAG}..{TAG}"], [f"nothing to measure: got no release in {TAG}..{TAG}"]),
    "run a commit": (["run", "HEAD~1..HEAD"], ["unknown torch release: got 'HEAD~1'"]),
    "no regular expression": (["run", RELEASE, "--bench", "("], ["invalid --bench: got '(': missing )"]),
    "a machine that is a path": (["run", RELEASE, "--machine", "../box"], ["invalid --machine: got '../box'"]),
    "the factor 1": (["compare", BEFORE, TAG, "-f", "1"], ["got --factor 1.0; allowed: more than 1, less than inf"]),
    "no finite factor": (["compare", BEFORE, TAG, "-f", "inf"], ["got --factor inf; allowed: more than 1, less than inf"]),
    "0 rounds": (["run", RELEASE, "-a", "rounds=0"], ["invalid -a rounds: got '0'; allowed: 1 to"]),
    "1001 rounds": (["run", RELEASE, "-a", "rounds=1001"], ["invalid -a rounds: got '1001'; allowed: 1 to"]),
    "no statistics": (["compare", BEFORE, TAG, "--no-stats"], ["got --use-stats False"]),
    "compare in an environment": (["compare", BEFORE, TAG, "-E", "release:3.9"], ["got --env-spec ['release:3.9']"]),
    "an unknown history": (["compare", BEFORE, TAG, "-m", "lab"], ["no such history: got --history lab; allowed: box"]),
    "a release and a commit": (["compare", BEFORE, "HEAD"], ["cannot be compared with a git revision", "next: asv continuous HEAD~1 HEAD"]),
    "one release": (["continuous", TAG, TAG], [f"nothing to compare: got {TAG} and {TAG};"]),
    "the first release": (["continuous", "v1.9.0"], ["nothing to compare: got v1.9.0^ and v1.9.0;"]),
    "an existing Python": (["run", "-E", "existing:same", RELEASE], ["got -E existing:same", "-E interpreter:same"]),
    "show an environment": (["show", TAG, "-E", "py3.11-cuda"], ["got --env-spec ['py3.11-cuda']", "next: leave it out"]),
    "a virtual environment": (["run", "-E", "virtualenv", RELEASE], ["got -E virtualenv; allowed: interpreter:PYTHON"]),
    "--python": (["run", "--python", "3.12", RELEASE], ["got -E :3.12; allowed: interpreter:PYTHON"]),
    "an interpreter without a Python": (["run", "-E", "interpreter", RELEASE], ["got -E interpreter;", "next: -E interpreter:same"]),
    "an unknown release": (
        ["compare", "v9", TAG],
        ["unknown torch release or git revision: got 'v9'", ", or a branch, tag or SHA of this repository"],
    ),
    "publish a range": (["publish", RELEASE], [f"asv publish has no such option for launches: got --range {RELEASE};"]),
    "publish over the results": (["publish", "-o", "."], ["replaces the folder of the site"]),
    "publish into a link": (["publish", "-o", "benchmarks"], ["replaces the folder of the site", "benchmarks; allowed: a folder, no link"]),
    "publish over the environments": (["publish", "-o", ".asv"], ["replaces the folder of the site"]),
    "publish over something else": (["publish", "-o", "notes"], ["with nothing in it but a site of tensorcopy"]),
}
# asv takes a second to start: what commands need is imported once, and each command has a process, which ends without taking that apart
RUN_ALL = """
import functools, gc, json, json5, os, sys
from pathlib import Path
import scipy.special, tensorcopy.cli.asv, tensorcopy.copying.pages.documents, tensorcopy.copying.shipped, tensorcopy.site.build
from asv import main
from asv.commands import common_args
from tensorcopy.asv_plugin import commands, measuring, publishing, reading
common_args.get_version, json5.loads = str, functools.lru_cache(json5.loads)
main.commands.make_argparser = commands.make_argparser = functools.cache(commands.make_argparser)
commands.make_argparser(), json5.loads(Path("asv.conf.json").read_text())
gc.freeze()

def exit_code():
    try:
        return main.main()
    except Exception:
        sys.excepthook(*sys.exc_info())
        return 1

for number, command in enumerate(json.loads(sys.argv[1])):
    if not os.fork():
        with Path(f".{number}.txt").open("w") as shown:
            os.dup2(shown.fileno(), 1), os.dup2(shown.fileno(), 2)
        sys.argv = ["asv", *command]
        try:
            code = exit_code()
        except SystemExit as end:
            code = end.code
        sys.stdout.flush()
        os._exit(code or 0)
    code = os.waitstatus_to_exitcode(os.wait()[1])
    print(json.dumps([code, Path(f".{number}.txt").read_text()]))
"""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """The exit code and the output of each command, by its name, in a checkout below the top of its repository, with a few launches."""
    home, top = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("top")
    (checkout := top / "checkout").mkdir()
    for name in ("tensorcopy", "benchmarks"):
        (checkout / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "asv.conf.json", checkout)
    times = {"2.12.1": 2.0, BEFORE[1:]: 2.2, TAG[1:]: 2.64}  # the second change is the larger one
    cases = {f"{COPY} tensor 16": times, f"{COPY} clone_detach 16": dict.fromkeys(times, 1.0)}
    # 1 % apart in each launch: the error of a side is 0.01 / √20, and Student's t with 5 degrees of freedom is 2.571
    cases |= {
        f"{COPY} clone 16": {**times, TAG[1:]: "RuntimeError: no"},
        f"{COPY} empty_like_copy 16": {BEFORE[1:]: [1.0] * 6, TAG[1:]: [1.01, 0.99] * 3},
    }
    launch_files.write(checkout / "results", cases, launches=6)
    launch_files.write_counts(checkout / "results", TAG[1:], {"instructions.BySize.track_instructions tensor 16": [5003, 5001]})
    (checkout / "notes").mkdir()
    (checkout / "notes" / "today.txt").write_text("mine")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    for number in range(2):
        (checkout / "tensorcopy.toml").write_text(f"# {number}\n")
        git(top, *(["init", "-q", "."] if number == 0 else ["status", "-s"]))
        git(top, "add", "checkout/tensorcopy.toml")
        git(top, *AUTHOR, "commit", "-qm", f"{number}")
    commits = {f"{COPY} tensor 16": {f"2.8.0#{sha(top, name)}": 1.0 for name in ("HEAD~1", "HEAD")}}
    launch_files.write(checkout / ".asv/revisions/results", commits, launches=1, machine="lab")
    (home / ".gitconfig").write_text("[user]\nname = a\nemail = a@example.org\n")
    before = {path: path.read_bytes() for path in (*checkout.rglob("results/box/*"), checkout / "notes" / "today.txt")}
    every = {**WORKING, **REFUSED}
    commands = [command for command, _ in every.values()]
    environment |= {"HOME": str(home), "PYTHONPATH": str(ROOT)}
    arguments = [sys.executable, "-c", RUN_ALL, json.dumps(commands)]
    done = subprocess.run(arguments, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {path: path.read_bytes() for path in (*checkout.rglob("results/box/*"), checkout / "notes" / "today.txt")} == before
    return dict(zip(every, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("command", WORKING)
def test_asv_s_commands_work(outcomes, command):
    """They read the launches, which stay as they are."""
    code, shown = outcomes[command]
    assert code == 0, shown
    assert re.search(WORKING[command][1], shown, re.MULTILINE), shown


@pytest.mark.parametrize("command", REFUSED)
def test_what_cannot_be_done_ends_in_one_line(outcomes, command):
    """With exit code 2, before anything is measured."""
    code, shown = outcomes[command]
    assert code == 2, shown
    (line,) = shown.splitlines()
    assert LINE.fullmatch(line), line
    for part in REFUSED[command][1]:
        assert part in line
