"""The command line: arguments, output and exit code."""

import io
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tensorcopy.cli import main, output, parser
from tensorcopy.cli.arguments import line, numel
from tensorcopy.measure import settings
from tensorcopy.releases import wheel_index
from tests import launch_files, walk
from tests.conftest import ROOT

LINE = re.compile(r"^tensorcopy: [^\n]+: got [^\n]+; allowed: [^\n]+; next: [^\n]+\n$")
TEXTS = (None, Path, line, settings.expression, settings.machine_name)  # types of options that are no number
NUMBERS = ("nan", "-3", "1.5", "0", "", "3", "1e400")
VALID = {"--margin": ("1.5", "3"), "--for": ()}  # of those; of every other option the whole number
GIVEN = [
    (command.words, action.option_strings[-1], value)
    for command in walk.commands()
    for action in command.actions
    if action.option_strings
    for value in ([""] if action.type is settings.machine_name else NUMBERS if action.type not in TEXTS else ())
]
GIVEN += [(["measure"], "--launches", text) for text in ("1001", "٥")]
GIVEN += [(["measure"], "--history", "../box")]
GIVEN += [(["advise"], "--numel", text) for text in ("2**63", "2**-1", "0**-1", "1e30", "4MB", "٤")]


def test_a_number_is_one_that_its_option_allows_and_a_name_is_not_empty(capsys):
    """Of any other text, the error has it and says what is allowed."""
    assert len(GIVEN) > 50
    for words, option, value in GIVEN:
        operands = {"why": ["tensor", "2.14.1", "2.15.0"], "compare": ["2.14.1", "2.15.0"]}.get(words[0], [])
        line = [*words, f"{option}={value}", *operands]
        if value in VALID.get(option, ("3",)):
            assert parser().parse_args(line), line
        else:
            assert main(line) == 2, line
            error = capsys.readouterr().err
            assert LINE.match(error), error
            assert f"{option}: got {value!r}; allowed: " in error, line


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("measure --bank=2", "got unrecognized arguments: --bank=2; allowed: tensorcopy measure [-h] [--launches N] "),
        ("ci collect", "got the following arguments are required: FOLDER; allowed: tensorcopy ci collect [-h] [--branch NAME] FOLDER; "),
        ("plot --device", "got argument --device: expected one argument; allowed: tensorcopy plot [-h] [-o FILE] "),
        ("copy", "argument COMMAND: got 'copy'; allowed: advise, check, "),
        ("plot copying", "argument what: got 'copying'; allowed: copies, conversions; next: tensorcopy plot -h lists the arguments"),
    ],
)
def test_arguments_that_cannot_be_read_are_refused_in_one_line(capsys, line, error):
    """It says what the command takes, without argparse's usage of several lines."""
    assert main(line.split()) == 2
    shown = capsys.readouterr()
    assert (shown.out, bool(LINE.match(shown.err))) == ("", True), shown
    assert error in shown.err


@pytest.mark.parametrize(("text", "number"), [("16384", 2**14), ("2**10", 1024), ("2^62", 2**62), ("1e6", 10**6)])
def test_a_size_is_a_number_of_elements(text, number):
    assert numel(text) == number


def test_a_missing_python_is_an_error(tmp_path, monkeypatch, capsys):
    """The error shows how to install it."""
    shutil.copy(ROOT / "asv.conf.json", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tensorcopy.releases.uv.find_python", lambda python: None)
    assert main(["measure", "1.9.0@3.9"]) == 2
    missing = "torch 1.9.0 is skipped: got no Python 3.9 on this machine; allowed: Python 3.7 to 3.9; next: uv python install 3.9"
    assert capsys.readouterr().err == f"tensorcopy: {missing}\n"
    assert main(["dashboard", "--no-serve"]) == 2
    assert " is skipped: got no Python 3" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("release", "code", "message"),
    [
        ("2.15", 2, "not a torch release: got '2.15'"),
        ("2.16.0rc1", 2, "not a torch release: got '2.16.0rc1'"),
        ("v2.15.0", 0, "There is no new release; the table's newest is torch 2.15.0\n"),
    ],
)
def test_only_a_release_that_the_table_lacks_is_added(monkeypatch, capsys, release, code, message):
    monkeypatch.setattr(wheel_index, "release", lambda version: pytest.fail("it would be installed"))
    assert main(["measure", "--add-release", release]) == code
    assert message in "".join(capsys.readouterr())


def test_of_another_s_suite_no_functions_are_counted(tmp_path, monkeypatch, capsys):
    """The error says of which `measure` does."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "__init__.py").write_text("")
    (tmp_path / "tensorcopy.toml").write_text('[project]\nname = "lab"\n[suites]\npath = "theirs"\n')
    launch_files.write(tmp_path / "results", {"theirs.time_a n=1": {"2.14.1": 1.0, "2.15.0": 1.0}}, launches=3)
    assert main(["why", "time_a", "2.14.1", "2.15.0"]) == 2
    assert "next: of the shipped methods, tensorcopy measure 2.14.1@3.11" in capsys.readouterr().err


def test_output_is_utf_8_in_any_locale(small_checkout, monkeypatch):
    """Minus signs and the user's text keep their characters: tables, JSON and error lines are the same everywhere."""
    written = {}
    for each in ("utf-8", "ascii"):
        stream = io.TextIOWrapper(io.BytesIO(), encoding=each, write_through=True)
        for name in ("stdout", "stderr"):
            monkeypatch.setattr(sys, name, stream)
        codes = [main(line.split()) for line in ("compare 2.15.0 2.4.1", "compare 2.15.0 2.4.1 --format json", "history é")]
        assert codes == [0, 0, 2]
        written[each] = stream.buffer.getvalue()
    assert written["ascii"] == written["utf-8"]
    shown = written["ascii"].decode("utf-8")
    assert re.search(r" −\d+\.\d % +−\d+\.\d to −\d+\.\d %", shown), shown
    assert "got 'é'" in shown


@pytest.mark.parametrize("command", ["history", "compare 2.14.1 2.15.0", "why detach 2.14.1 2.15.0"])
def test_without_results_the_next_step_is_to_measure(tmp_path, monkeypatch, capsys, command):
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "asv.conf.json", tmp_path)
    assert main(command.split()) == 2
    assert capsys.readouterr().err.endswith("; next: tensorcopy measure, in a clone or a project\n")


def test_what_is_piped_is_not_folded(monkeypatch, capsys):
    """So that code stays in one piece, unless COLUMNS says how wide a terminal is."""
    for columns in ("", "60"):
        monkeypatch.setenv("COLUMNS", columns)
        assert main(["advise", "--shipped"]) == 0
        *_, longest = sorted(map(len, capsys.readouterr().out.splitlines()))
        assert (longest > 100) is (columns == "")


HELP = """
import contextlib, io, sys
from tensorcopy.cli import main
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    main(["--help"])
print(*{name.split(".")[0] for name in sys.modules})
"""


def test_what_cannot_be_written_is_one_line():
    """Also at the end of a command, where its output is buffered."""
    command = f"unset PYTHONUNBUFFERED; {sys.executable} -m tensorcopy ci runners > /dev/full"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, bool(LINE.match(done.stderr))) == (2, True), done.stderr


def test_help_imports_no_other_package():
    """So that it is printed in a tenth of a second; nor does `import tensorcopy` import one."""
    done = subprocess.run([sys.executable, "-c", HELP], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {*done.stdout.split()} & {"rich", "numpy", "asv", "asv_runner", "torch"}


def test_without_a_terminal_progress_is_a_line_for_each_step(capsys):
    """And none for each of its cases."""
    with output.progress_bar(output.console()) as report_progress:
        report_progress(0.9, "installing torch 2.15.0")
        for number in (1, 2):
            for case in ("copies.BySize.time_copy", "copies.ByGrad.time_copy"):
                report_progress(number / 3, f"launch {number} of 2: {case}")
    *lines, bar = capsys.readouterr().out.splitlines()
    assert lines == ["installing torch 2.15.0", "launch 1 of 2", "launch 2 of 2"]
    assert "━ 100 %" in bar
    with output.progress_bar(output.console()):
        pass
    assert capsys.readouterr().out == ""  # what is refused before its first step has no bar
