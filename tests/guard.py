"""Show what a change does to the site and to the output of the commands.

    uv run python -m tests.guard COMMIT

writes both from the shipped results, with the program of COMMIT and with that of the checkout, and prints the differences. Outputs lie in
`.asv/guard/`; those of a commit are written once. Exits with 1 if anything differs.
"""

import argparse
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
OUTPUTS = ROOT / ".asv/guard"
VARYING = ("info.json", "regressions.json")  # asv writes the time of day, and an order that varies
LINE_LENGTH = 240  # characters of a difference that are printed
COMMANDS = {
    "compare": "compare 2.14.1 2.15.0",
    "compare-case": "compare 2.9.1 2.10.0 --case clone_detach",
    "compare-python": "compare 2.8.0@3.9 2.8.0@3.11",
    "compare-json": "compare 2.14.1 2.15.0 --format json",
    "compare-markdown": "compare 1.13.1 2.0.1 --format markdown",
    "history": "history",
    "history-case": "history detach_clone",
    "why": "why detach_clone 2.13.0 2.14.1",
    "times": "list times",
    "methods": "list methods",
    "advise": "advise --shipped",
    "advise-numpy": "advise --shipped --to numpy --requires-grad --numel 1000000",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("commit", help="to compare with, such as HEAD~1")
    commit = subprocess.run(
        ["git", "rev-parse", "--short=12", parser.parse_args().commit + "^{commit}"],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout.strip()
    before, after = OUTPUTS / commit, OUTPUTS / "checkout"
    if not (before / "complete").exists():
        tree = OUTPUTS / f"tree-{commit}"
        subprocess.run(["git", "worktree", "add", "--force", "--detach", tree, commit], cwd=ROOT, check=True, capture_output=True)
        try:
            write(tree, before)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)
    write(ROOT, after)
    done = subprocess.run(
        ["git", "diff", "--no-index", "--no-color", "--stat=160", "--patch", "-U0", before, after],
        check=False,
        capture_output=True,
        text=True,
    )
    sys.stdout.writelines(f"{line[:LINE_LENGTH]}\n" for line in done.stdout.splitlines())
    return done.returncode


def write(tree: Path, folder: Path) -> None:
    """Write the site and the outputs of the commands of the program in `tree` to `folder`."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"} | {"COLUMNS": "120", "NO_COLOR": "1"}

    def run(item: tuple[str, str]) -> None:
        name, command = item
        done = subprocess.run(
            ["uv", "run", "--quiet", *command.split()], cwd=tree, env=environment, check=False, capture_output=True, text=True
        )
        (folder / f"{name}.txt").write_text(f"{done.stdout}{done.stderr}exit {done.returncode}\n", encoding="utf-8")

    run(("publish", "asv publish"))  # first: `uv run` makes the environment
    shutil.copytree(tree / "site", folder / "site", ignore=shutil.ignore_patterns(*VARYING))
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, {name: f"tensorcopy {command}" for name, command in COMMANDS.items()}.items()))
    (folder / "complete").touch()


if __name__ == "__main__":
    sys.exit(main())
