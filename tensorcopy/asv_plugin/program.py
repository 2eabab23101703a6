"""Run `asv publish` as a subprocess, and turn its failures into errors."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tensorcopy.asv_plugin.commands import ERROR_FILE
from tensorcopy.errors import NOWHERE, TensorcopyError, of_text
from tensorcopy.releases import interpreters
from tensorcopy.worker import declarations

RAISED = re.compile(r"[\w.]*(Error|Exception|Interrupt|Exit)\b(: |$)")
SUCCESS = (0, 2)  # 2: a launch cannot be read; its reader reports it, and the site is complete except for it


def publish() -> None:
    """Run `asv publish`.

    Raises the error with which tensorcopy's plugin has ended it, or one with its last lines where its exit code is none of `SUCCESS`.
    """
    with tempfile.TemporaryDirectory() as folder:
        error_file = Path(folder) / "error.json"
        variables = {
            declarations.FOLDER: str(declarations.folder()),
            ERROR_FILE: str(error_file),
            "PYTHONUNBUFFERED": "1",
            "PYTHONIOENCODING": "utf-8",
        }
        with interpreters.started_process(
            [sys.executable, "-m", "asv", "publish"], stderr=subprocess.STDOUT, encoding="utf-8", env={**os.environ, **variables}
        ) as process:
            assert process.stdout is not None
            lines = process.stdout.read().splitlines()
        if error_file.exists():
            raise TensorcopyError.of_document(json.loads(error_file.read_text(encoding="utf-8")))
    if process.returncode not in SUCCESS:
        raise _failure(lines)


def _failure(lines: Sequence[str]) -> TensorcopyError:
    """Return the error of an `asv publish` that has failed: it names a full disk or the exception, or quotes the last lines."""
    texts = [line.split("· ", 1)[-1].strip() for line in lines if line.strip()]
    raised = [text for text in texts if RAISED.match(text)]
    return of_text("\n".join(lines), NOWHERE) or TensorcopyError(
        "asv publish failed",
        got=raised[-1] if raised else " ".join(texts[-2:]),
        allowed="a folder of launches, and one for the site",
        next="run asv publish --verbose to see why",
    )
