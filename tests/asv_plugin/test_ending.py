"""How asv ends where a signal, an error or a closed output ends it."""

import re
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
import tempfile, time
asv.end_in_one_line()
"""
WAITS = f"""{ENDS}
with tempfile.TemporaryDirectory() as folder:
    print(folder, flush=True)
    time.sleep(60)
"""


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
    ("program", "code", "errors"),
    [
        (INTERRUPTS, 130, r"tensorcopy: interrupted; .*\n"),
        (f"{ENDS}raise OSError(28, 'No space left on device', 'x')", 2, r"tensorcopy: 'x' cannot be written: got No space left .*\n"),
        (f"{ENDS}1 / 0", 1, r"Traceback (.*\n)+ZeroDivisionError: .*\n"),
    ],
    ids=["an interruption while modules are imported", "a full disk", "a fault"],
)
def test_an_error_is_one_line_and_a_fault_keeps_its_traceback(program, code, errors):
    """Importing takes a second. Errors of asv's commands are asserted beside them."""
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (code, "")
    assert re.fullmatch(errors, done.stderr), done.stderr


def test_a_closed_pipe_ends_asv_without_a_word():
    """As with `asv compare v1.13.1 v2.15.0 | head`."""
    program = f'{ENDS}\nprint("x" * 100_000)\nprint("x" * 100_000, flush=True)'
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.close()
    assert (process.stderr.read(), process.wait()) == ("", 141)
    process.stderr.close()
