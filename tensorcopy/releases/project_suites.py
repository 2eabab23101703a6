"""The folders from which a release's environment imports tensorcopy, and asv the suites of a project.

In a checkout, tensorcopy is imported from the checkout. An installed package is beside others that were installed for another Python, so
it is linked into a folder of its own. A third-party suite is not changed: asv imports a generated package of the same name, whose search
path begins with that folder.
"""

from __future__ import annotations

import os
from pathlib import Path

from tensorcopy.errors import TensorcopyError
from tensorcopy.releases.interpreters import CHECKOUT
from tensorcopy.worker import declarations
from tensorcopy.worker.declarations import Project

PACKAGE = Path(__file__).resolve().parents[1]
SUITES_NAME = "tensorcopy_suites"  # the name by which a project's suites import tensorcopy's
OF_OPERATIONS_NAME = "tensorcopy_own"  # of the package; a module of the project must not have this name
OWN = "own"  # the module of the suites of own operations
OF_OPERATIONS = f'"""The operations of tensorcopy.toml, over sizes."""\n\nfrom {SUITES_NAME}.{OWN} import *  # noqa: F403\n'
OF_BOTH = '''"""The suites of the project, and those of the operations in tensorcopy.toml."""

from pathlib import Path

__path__ = [{path!r}, *__path__]
__file__ = str(Path({path!r}) / "__init__.py")
exec(compile(Path(__file__).read_text(encoding="utf-8"), __file__, "exec"))
'''


def is_checkout() -> bool:
    """Return whether this package is in a checkout, and not installed from a wheel."""
    return (CHECKOUT / "asv.conf.json").exists()


def own_suites() -> Path:
    """Return the folder of tensorcopy's suites: in the checkout, or in the wheel."""
    return CHECKOUT / "benchmarks" if is_checkout() else PACKAGE / "suites"


def package_folder(environments: Path) -> Path:
    """Return the folder to import tensorcopy from.

    environments : the folder of all environments, in which links are made
    """
    if is_checkout() and declarations.project() is None:
        return CHECKOUT
    folder = environments.absolute() / "tensorcopy"
    folder.mkdir(parents=True, exist_ok=True)
    for name, target in (("tensorcopy", PACKAGE), (SUITES_NAME, own_suites())):
        link = folder / name
        if not (link.is_symlink() and link.readlink() == target):
            link.unlink(missing_ok=True)  # it may lead to a package that was removed
            link.symlink_to(target)
    return folder


def folder(project: Project, workplace: Path) -> Path:
    """Return the folder that asv shall read, written into `workplace` unless it is the project's own.

    Raises TensorcopyError for a project with nothing to measure, and for a suite with the name of tensorcopy's.
    """
    theirs, operated = project.suites, bool(declarations.operations())
    if theirs and not operated:
        return theirs
    if not operated:
        raise TensorcopyError(
            "this project has nothing to measure",
            got=f"{declarations.FILE} without an operation or a suite",
            allowed='[[operation]], or [suites] with path = "benchmarks"',
            next=declarations.GUIDE,
        )
    if theirs and ((theirs / f"{OWN}.py").exists() or (theirs / OWN).exists()):
        raise TensorcopyError(
            "a suite has the name of tensorcopy's",
            got=f"{OWN} in {theirs.name}",
            allowed=f"any other name beside [[operation]], whose suites are in {OWN}",
            next="rename it, or measure the operations in a project of their own",
        )
    made = workplace / "suites" / (theirs.name if theirs else OF_OPERATIONS_NAME)
    made.mkdir(parents=True, exist_ok=True)
    _write(made / "__init__.py", OF_BOTH.format(path=str(theirs)) if theirs else "")
    _write(made / f"{OWN}.py", OF_OPERATIONS)
    return made


def _write(path: Path, text: str) -> None:
    """Write a file unless it has this text: another process may read it."""
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
