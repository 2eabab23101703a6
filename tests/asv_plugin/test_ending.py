"""How asv ends where it is interrupted, or its output is closed."""

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
KEEPS = """
from tensorcopy.asv_plugin import ending
ending.end_in_one_line()
ending.keeps("complete launches are kept")
raise KeyboardInterrupt
"""


@pytest.mark.parametrize(("program", "line"), [(INTERRUPTS, "interrupted\n"), (KEEPS, "interrupted; complete launches are kept\n")])
def test_an_interruption_ends_asv_in_one_line(program, line):
    """Also while the plugin's modules are imported, which takes a second."""
    completed = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert (completed.returncode, completed.stderr, completed.stdout) == (130, "", line)


def test_a_closed_pipe_ends_asv_without_a_word():
    """As with `asv compare v1.13.1 v2.15.0 | head`."""
    program = """
from tensorcopy.asv_plugin import ending
ending.end_in_one_line()
print("x" * 100_000)
print("x" * 100_000, flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.close()
    assert (process.stderr.read(), process.wait()) == ("", 141)
    process.stderr.close()
