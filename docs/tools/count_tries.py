"""Run tests and write docs/reliability.json: what they tried, how often, and how often it failed.

uv run docs/tools/count_tries.py && uv run python -m docs.tools.readme

Without arguments, all tests that count run; arguments are pytest's. A test that counts calls the fixture `tried` with a row of the table
and its number of tries. Rows that did not run keep their numbers. As root, the tests of real disks and of two users run too.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

FILE = Path(__file__).parents[1] / "reliability.json"


def counted(report: Path) -> dict[str, dict[str, Any]]:
    """Return the rows of a report in JUnit's format.

    A test that fails counts as one failed try of each row that it has counted, and a test that is skipped counts nothing.
    """
    rows: dict[str, dict[str, Any]] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        has_failed = case.find("failure") is not None or case.find("error") is not None
        for each in case.iter("property"):
            if each.get("name", "").startswith("tried: "):
                file = f"tests/{case.get('classname', '').split('.')[1]}.py"
                row = rows.setdefault(
                    each.get("name", "").removeprefix("tried: "), {"tries": 0, "failed": 0, "tests": file, "day": f"{date.today()}"}
                )
                row["tries"] += int(each.get("value", "0"))
                row["failed"] += has_failed
    return rows


def main() -> int:
    tests = [f"tests/test_{name}.py" for name in ("writers", "disk", "fuzz", "damaged_results", "no_traceback", "server", "pr_comment")]
    arguments = sys.argv[1:] or ["-m", "", *tests]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-n", "0", "-o", "junit_family=xunit1", f"--junitxml={report}", *arguments]
        code = subprocess.run(command, check=False).returncode
        rows = counted(report)
    earlier = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    FILE.write_text(json.dumps({**earlier, **rows}, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
