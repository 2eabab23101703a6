"""Our pages in what `asv publish` writes."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
from collections.abc import Callable, Iterable
from importlib.metadata import distribution
from importlib.resources import files
from pathlib import Path
from typing import Any

from asv.console import log
from asv.publishing import OutputPublisher

from tensorcopy.errors import TensorcopyError

ASVS = ("*.js", "*.css", "*.html", "*.ico", "*.png")  # of asv's own explorer, which asks three other hosts for its scripts


Writer = Callable[[Path, Path], Iterable[TensorcopyError]]  # from the folder of results and the site's folder to what went wrong

_writers: list[Writer] = []


def register(write: Writer) -> None:
    """Let `asv publish` call `write` after asv has written its own files."""
    _writers.append(write)


class Pages(OutputPublisher):  # type: ignore[misc]
    """Writes tensorcopy's pages into asv's site, with asv-tachyon for an explorer of all that asv has written beside them."""

    name = "tensorcopy"
    button_label = "tensorcopy"
    description = "How do I copy a tensor?"

    @classmethod
    def publish(cls, conf: Any, repo: Any, benchmarks: Any, graphs: Any, revisions: Any) -> None:
        html_dir = Path(conf.html_dir)
        _explorer(html_dir)
        problems = [problem for write in _writers for problem in write(Path(conf.results_dir).absolute(), html_dir)]
        for problem in problems:
            log.error(str(problem))
        if problems:
            atexit.register(_fail)


def _explorer(directory: Path) -> None:
    """asv-tachyon's page and what it needs, in the place of asv's own; asv's feed leads there."""
    for pattern in ASVS:
        for path in directory.glob(pattern):
            path.unlink()
    shipped = files("asv_tachyon") / "static"
    shutil.copyfile(str(shipped / "index.html"), directory / "explorer.html")
    shutil.copyfile(str(shipped / "favicon.svg"), directory / "favicon.svg")
    shutil.copytree(str(shipped / "assets"), directory / "assets", dirs_exist_ok=True)
    licences = [path for path in distribution("asv-tachyon").files or () if path.name.startswith("LICENSE")]
    (directory / "assets" / "LICENSE-asv-tachyon.txt").write_text("\n".join(path.read_text() for path in licences), encoding="utf-8")
    feed = directory / "regressions.xml"  # written before: asv's own publishers have a lower order
    if feed.exists():
        feed.write_text(feed.read_text(encoding="utf-8").replace("index.html#", "explorer.html#"), encoding="utf-8")


def _fail() -> None:
    """Exit code 2 after everything is written: asv writes its index after our pages and then says 0."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(2)
