"""How asv ends where a signal, an error or a closed output ends it."""

import signal
import subprocess
import sys

import pytest

INTERRUPTS = """
import sys
class Interrupts:
    def find_spec(self, name, *_):
        if name == "tensorcopy.asv_plugin.commands":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupts())
from tensorcopy.cli import asv
asv.setup()
"""
ENDS = """
from tensorcopy.cli import asv
from tensorcopy.errors import TensorcopyError
import os, signal, tempfile, time
asv.end_in_one_line()
"""
WAITS = f"""{ENDS}
with tempfile.TemporaryDirectory() as folder:
    print(folder, flush=True)
    time.sleep(60)
"""


def test_an_interruption_while_modules_are_imported_ends_asv_in_one_line():
    """Which takes a second."""
    completed = subprocess.run([sys.executable, "-c", INTERRUPTS], check=False, capture_output=True, text=True)
    assert (completed.returncode, completed.stdout, completed.stderr.partition(";")[0]) == (130, "", "tensorcopy: interrupted")


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated"), (signal.SIGHUP, 129, "hung up")]
)
def test_a_signal_ends_asv_in_one_line_and_leaves_nothing(tmp_path, number, code, word):
    """A folder in TMPDIR is removed. The exit code is that of the signal."""
    environment = {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", WAITS], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline().startswith(str(tmp_path))
        process.send_signal(number)
        shown, errors = process.communicate()
    line = f"tensorcopy: {word}; complete launches, and the site that was there, are kept\n"
    assert (process.returncode, shown, errors) == (code, "", line)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("raised", "line"),
    [
        ('TensorcopyError("a", got="b", allowed="c", next="d")', "a: got b; allowed: c; next: d"),
        (
            "OSError(28, 'No space left on device', 'x')",
            "'x' cannot be written: got No space left on device; allowed: a disk with free space",
        ),
    ],
    ids=["ours", "the disk"],
)
def test_an_error_is_one_line(raised, line):
    """With exit code 2."""
    completed = subprocess.run([sys.executable, "-c", f"{ENDS}raise {raised}"], check=False, capture_output=True, text=True)
    assert (completed.returncode, completed.stdout) == (2, "")
    assert completed.stderr.startswith(f"tensorcopy: {line}")
    assert completed.stderr.count("\n") == 1


def test_a_fault_keeps_its_traceback():
    completed = subprocess.run([sys.executable, "-c", f"{ENDS}1 / 0"], check=False, capture_output=True, text=True)
    assert completed.returncode == 1
    assert "ZeroDivisionError" in completed.stderr


def test_a_closed_pipe_ends_asv_without_a_word():
    """As with `asv compare v1.13.1 v2.15.0 | head`."""
    program = f'{ENDS}\nprint("x" * 100_000)\nprint("x" * 100_000, flush=True)'
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.close()
    assert (process.stderr.read(), process.wait()) == ("", 141)
    process.stderr.close()
