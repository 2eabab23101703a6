"""Install the tools of the tests when `uv run pytest` starts.

`uv run` installs the program and pytest, so that `uv run tensorcopy dashboard` installs no linter and no browser driver. pytest loads this
plugin first, and starts again with the group dev where its packages are missing.
"""

import os
import sys
from importlib.metadata import PackageNotFoundError, distribution

LAST = "zizmor"  # a package of the group dev alone
STARTED = "TENSORCOPY_TESTS_STARTED"  # the environment variable that says that pytest has started again


def pytest_addoption() -> None:
    """Start again with the group dev, before pytest redirects its output."""
    uv = os.environ.get("UV")  # set by `uv run`
    if uv and STARTED not in os.environ and not _has_tools():
        command = [uv, "run", f"--python={sys.version_info[0]}.{sys.version_info[1]}", "--group", "dev", "pytest", *sys.argv[1:]]
        os.execve(uv, command, {**os.environ, STARTED: "1"})


def _has_tools() -> bool:
    try:
        distribution(LAST)
    except PackageNotFoundError:
        return False
    return True
