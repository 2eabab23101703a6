"""The site is the same however it is written, its errors are shown as they were, and its time grows with the results."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tensorcopy.copying.shipped import shipped
from tensorcopy.releases import release_table
from tensorcopy.results import reader
from tensorcopy.site import addresses, render, writer
from tests.conftest import ROOT, measured

WRITE = """
import sys
from pathlib import Path
from tensorcopy.copying.shipped import shipped
from tensorcopy.results import reader
from tensorcopy.site import writer

if __name__ == "__main__":
    results = reader.load_results(Path(sys.argv[1])).results
    for writer.START in ("fork", "spawn"):
        Path(writer.START).mkdir()
        writer.write(shipped(), results, {}, Path(writer.START), processes=2)
"""


def run(script: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a script in a separate process: this one has threads, and so does not fork."""
    command = [sys.executable, "-W", "error", script, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)


def files(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_the_files_do_not_depend_on_how_they_are_written(small, tmp_path, monkeypatch):
    """By one process or several, forked as on Linux or started afresh."""
    monkeypatch.chdir(tmp_path)
    script, site = tmp_path / "write.py", tmp_path / "site"
    script.write_text(WRITE)
    done = run(script, small / "results")
    assert (done.returncode, done.stderr) == (0, "")
    site.mkdir()
    writer.write(shipped(), reader.load_results(small / "results").results, {}, site, processes=1)
    assert len(files(site)) > 50
    assert files(tmp_path / "fork") == files(tmp_path / "spawn") == files(site)


def test_the_files_written_are_those_of_the_content(tmp_path):
    """Tests that look at pages look at what is published."""
    results = [measured(release, {("clone_detach", 16): 1e-6}) for release in release_table.load()[-3:]]
    writer.write(shipped(), results, {}, tmp_path, processes=1)
    written = {address: text.decode() for address, text in files(tmp_path).items() if address not in (*writer.ASSETS, addresses.MISSING)}
    assert written == dict(render.files(render.content(shipped(), results)))


FAIL = """
import os, sys, traceback
from pathlib import Path
from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.site import addresses, render, writer

def fail(site, how):
    if how == "exit":
        os._exit(1)
    raise {"usual": ValueError("on purpose"), "own": TensorcopyError("w", got="g", allowed="a", next="n")}[how]

if __name__ == "__main__":
    site = writer.Site(render.content(shipped(), ()), Path())
    for how in sys.argv[1:]:
        try:
            writer.run(site, [(fail, (how,)), (fail, (how,))], 2)
        except Exception:
            traceback.print_exc()
        print("end of", how, file=sys.stderr)
"""
LAST = {
    "usual": "ValueError: on purpose",
    "own": "tensorcopy.errors.TensorcopyError: w: got g; allowed: a; next: n",
    "exit": "tensorcopy.errors.TensorcopyError: a process that wrote pages was ended from outside",
}


def test_the_modules_whose_pages_take_longest_exist():
    """Or they are not the first."""
    assert {*writer.LONGEST} <= {module.__name__.rpartition(".")[2] for module in render.page_modules(render.content(shipped(), []))}


def test_an_error_in_a_process_is_shown_with_its_traceback(tmp_path):
    """Also that of a process that ends without a word."""
    script = tmp_path / "fail.py"
    script.write_text(FAIL)
    done = run(script, *LAST)
    assert done.returncode == 0
    parts = re.split(r"^end of (\w+)\n", done.stderr, flags=re.MULTILINE)
    shown = dict(zip(parts[1::2], parts[::2], strict=False))
    assert shown.keys() == LAST.keys()
    for how, printed in shown.items():
        assert LAST[how] in printed
        assert how == "exit" or "in fail" in printed
