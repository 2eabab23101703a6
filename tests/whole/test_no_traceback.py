"""No command ends in a traceback, whatever its input and its surroundings."""

import re
import signal
import subprocess
import sys

import pytest

from tensorcopy import cli
from tensorcopy.cli import output
from tensorcopy.copying.shipped import shipped
from tensorcopy.results import reader
from tests import walk
from tests.conftest import ROOT

COMMANDS = list(walk.commands())
MEASURES = (["plot"], ["check"], ["advise", "--numel", "2**20"])  # with a process that imports torch


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    return walk.checkout(tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def evil_checkout(tmp_path_factory):
    folder = walk.checkout(tmp_path_factory.mktemp("evil"), evil=True)
    assert reader.load_results(folder / "results", shipped()).problems == ()
    return folder


@pytest.mark.parametrize("every", [74, pytest.param(1, marks=pytest.mark.slow)])
def test_bad_input_ends_in_one_line(checkout, every):
    """A part of the lines; slow tests try all."""
    lines = [line for command in COMMANDS for line in list(walk.bad_lines(command))[::every]]
    assert walk.walk(checkout, lines) == {}


SHOWN = ("compare", "history", "why")  # the fast ones that show most of a result


@pytest.mark.parametrize(
    "command",
    [pytest.param(command, marks=[] if command.name in SHOWN else pytest.mark.slow, id=command.name) for command in COMMANDS],
)
def test_control_characters_and_markup_of_results_stay_text(evil_checkout, command):
    """In tables, CSV, JSON, Markdown and error lines."""
    assert walk.walk(evil_checkout, list(walk.good_lines(command))[:8]) == {}


def test_a_bare_command_prints_the_commands(capsys):
    """It is no error."""
    assert cli.main([]) == 0
    shown = capsys.readouterr().out
    names = ["advise", "check", "plot", "compare", "history", "why", "dashboard", "measure", "init", "ci"]
    assert re.findall(r"^    (\w+)\b", shown, re.MULTILINE) == names


AFTER_A_SIGNAL = """
import os, signal, sys, types
from tensorcopy import __main__ as program, cli
def command(options):
    {body}
cli.measure._measure = command
sys.argv = ["tensorcopy", "measure"]
sys.exit(program.main())
"""
HIDDEN = (
    """try: os.kill(os.getpid(), signal.SIGTERM)
    finally: raise OSError(39, "Directory not empty")""",
    """try: os.kill(os.getpid(), signal.SIGTERM)
    except KeyboardInterrupt: pass
    raise ImportError("the C-extensions failed")""",
)
SERVING = 'cli.measure._serve(options, cli.measure.Path("."), failed={failed})'


@pytest.mark.parametrize("body", HIDDEN)
def test_a_signal_is_not_hidden_by_the_error_that_it_causes(body):
    """As where a temporary folder cannot be removed because a process still writes into it, or where numpy is imported."""
    done = subprocess.run([sys.executable, "-c", AFTER_A_SIGNAL.format(body=body)], cwd=ROOT, capture_output=True, text=True, check=False)
    line = "tensorcopy: terminated; finished launches are kept, and the same command continues with the rest\n"
    assert (done.returncode, done.stderr) == (143, line)


@pytest.mark.parametrize(("failed", "code"), [(False, 130), (True, 2)])
def test_ending_the_server_tells_whether_releases_failed(failed, code):
    """Nothing is left to continue, so the line does not ask for it."""
    program = AFTER_A_SIGNAL.format(body=SERVING.format(failed=failed))
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout.readline().startswith("Served at http://127.0.0.1:")
        server.send_signal(signal.SIGINT)
        line = "tensorcopy: interrupted; the server has ended; results and pages are kept\n"
        assert (server.wait(timeout=60), server.stderr.read()) == (code, line)


def test_control_characters_are_escaped_as_in_json():
    assert output.visible("a\x1b[31m\x9b\u202e\U000e0001µ\n\t") == "a\\u001b[31m\\u009b\\u202e\\udb40\\udc01µ\n\t"


def test_a_fault_is_one_line_that_says_how_to_see_more(monkeypatch, capsys):
    """Its traceback is one variable away."""
    monkeypatch.setattr(cli, "parser", lambda: 1 / 0)
    assert cli.main([]) == 2
    assert re.fullmatch(r"tensorcopy: a fault of tensorcopy: got ZeroDivisionError: .*\n", capsys.readouterr().err)
    monkeypatch.setenv(cli.TRACEBACK, "1")
    with pytest.raises(ZeroDivisionError):
        cli.main([])


@pytest.mark.slow
@pytest.mark.parametrize("name", walk.SURROUNDINGS)
def test_odd_surroundings_end_in_a_line_or_none(checkout, name):
    """Each with another command; the whole walk tries all of them."""
    command = COMMANDS[2 * list(walk.SURROUNDINGS).index(name) % len(COMMANDS)]
    assert walk.process(command.line(), name, checkout) == "", command.name


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
@pytest.mark.parametrize("arguments", MEASURES, ids=" ".join)
def test_a_signal_is_one_line_and_ends_what_the_command_has_started(checkout, number, arguments):
    """A killed one says nothing, and leaves no process either."""
    code, errors, left = walk.send(number, arguments, checkout)
    assert left == []
    if number != signal.SIGKILL:
        assert code == 128 + number
        assert re.search(r"^tensorcopy: (interrupted|terminated|hung up); [^\n]+\n\Z", errors, re.MULTILINE), errors
        assert "Traceback" not in errors
