"""How asv ends where it is interrupted."""

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
