"""Show what a change does to the site and to the output of the commands.

    uv run python -m tests.guard COMMIT | cut -c 1-240

writes both from the shipped results, with the program of COMMIT and with that of the checkout, and prints the differences. Outputs lie in
`.asv/guard/`; those of a commit are written once.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
OUTPUTS = ROOT / ".asv/guard"
COMMANDS = (
    *("compare 2.14.1 2.15.0", "compare 2.9.1 2.10.0 --case clone_detach", "compare 2.8.0@3.9 2.8.0@3.11"),
    *("compare 2.14.1 2.15.0 --format json", "compare 1.13.1 2.0.1 --format markdown"),
    *("history", "history detach_clone", "why detach_clone 2.13.0 2.14.1"),
    *("advise --shipped", "advise --shipped --to numpy --requires-grad --numel 1000000"),
)


def main(revision: str) -> None:
    commit = subprocess.check_output(["git", "rev-parse", "--short=12", f"{revision}^{{commit}}"], cwd=ROOT, text=True).strip()
    before, after = OUTPUTS / commit, OUTPUTS / "checkout"
    if not before.exists():
        tree = OUTPUTS / f"tree-{commit}"
        subprocess.run(["git", "worktree", "add", "--quiet", "--force", "--detach", tree, commit], cwd=ROOT, check=True)
        write(tree, before)
        subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)
    write(ROOT, after)
    subprocess.run(["git", "diff", "--no-index", "--no-color", "--stat=160", "--patch", "-U0", before, after], check=False)


def write(tree: Path, folder: Path) -> None:
    """Write the site and the outputs of the commands of the program in `tree` to `folder`."""
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"} | {"COLUMNS": "120", "NO_COLOR": "1"}
    subprocess.run(["uv", "run", "--quiet", "asv", "publish"], cwd=tree, env=environment, check=True, stdout=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(tree / "site", folder / "site")
    for command in COMMANDS:
        with (folder / f"{command}.txt").open("w") as file:
            words = ["uv", "run", "--quiet", "tensorcopy", *command.split()]
            subprocess.run(words, cwd=tree, env=environment, check=False, stdout=file, stderr=subprocess.STDOUT)


if __name__ == "__main__":
    main(sys.argv[1])
