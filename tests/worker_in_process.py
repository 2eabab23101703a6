"""Run a probe in this process, which has imported torch already.

In a separate process a probe imports torch for two seconds.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tensorcopy.worker import operations
from tensorcopy.worker.processes import ReportProgress, ignore_progress


def declare(declared: str) -> None:
    """Let this process have operations, as JSON, as if it had been started with them."""
    os.environ[operations.VARIABLE] = declared
    own: Any = sys.modules.get("tensorcopy.copying.inside.own")  # which imports torch
    of_own = (own.own_operations, own.own_with_inputs, own.groups) if own else ()
    for cached in (operations.operations, *of_own):
        cached.cache_clear()


def run_probe(
    python: Path,
    module: str,
    *arguments: str,
    variables: Mapping[str, str] = MappingProxyType({}),
    report_progress: ReportProgress = ignore_progress,
) -> dict[str, Any]:
    """Return a probe's result, in place of tensorcopy.releases.interpreters.run_probe."""
    import torch

    declare(variables.get(operations.VARIABLE, "[]"))
    threads = torch.get_num_threads()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as a process prints them
        result = importlib.import_module(module).main(arguments, report_progress)
    torch.set_num_threads(threads)
    document: dict[str, Any] = json.loads(json.dumps(result))
    return document
