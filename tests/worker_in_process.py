"""Run a probe in this process, which has imported torch already.

In a separate process a probe imports torch for two seconds.
"""

from __future__ import annotations

import importlib
import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tensorcopy.worker.processes import ReportProgress, ignore_progress


def run_probe(
    python: Path,
    module: str,
    *arguments: str,
    variables: Mapping[str, str] = MappingProxyType({}),
    report_progress: ReportProgress = ignore_progress,
) -> dict[str, Any]:
    """Return a probe's result, in place of tensorcopy.releases.interpreters.run_probe."""
    import torch

    threads = torch.get_num_threads()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as a process prints them
        result = importlib.import_module(module).main(arguments, report_progress)
    torch.set_num_threads(threads)
    document: dict[str, Any] = json.loads(json.dumps(result))
    return document
