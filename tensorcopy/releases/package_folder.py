"""The folder from which a release's environment imports tensorcopy and its suites.

In a checkout it is the checkout. An installed package is beside others that were installed for another Python, so it is linked into a
folder of its own.
"""

from __future__ import annotations

from pathlib import Path

from tensorcopy.releases.interpreters import CHECKOUT
from tensorcopy.worker import project

PACKAGE = Path(__file__).resolve().parents[1]
SUITES_NAME = "tensorcopy_suites"  # the name by which a project's suites import tensorcopy's


def is_checkout() -> bool:
    """Return whether this package is in a checkout, and not installed from a wheel."""
    return (CHECKOUT / "asv.conf.json").exists()


def suites() -> Path:
    """Return the folder of tensorcopy's suites: in the checkout, or in the wheel."""
    return CHECKOUT / "benchmarks" if is_checkout() else PACKAGE / "suites"


def package_folder(environments: Path) -> Path:
    """Return the folder to import tensorcopy from.

    environments : the folder of all environments, in which links are made
    """
    if is_checkout() and project.declared() is None:
        return CHECKOUT
    folder = environments.absolute() / "tensorcopy"
    folder.mkdir(parents=True, exist_ok=True)
    for name, target in (("tensorcopy", PACKAGE), (SUITES_NAME, suites())):
        link = folder / name
        if not (link.is_symlink() and link.readlink() == target):
            link.unlink(missing_ok=True)  # it may lead to a package that was removed
            link.symlink_to(target)
    return folder
