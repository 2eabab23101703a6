"""The site of the shipped results, published once in each test process that asks for it."""

import pytest

from tensorcopy.copying.shipped import shipped
from tensorcopy.results import reader
from tensorcopy.site import build, facts
from tests.conftest import ROOT

MACHINES = ("epyc-2core", "h200-16core")


@pytest.fixture(scope="session")
def shipped_site():
    """What is published of the shipped results, and its files by address."""
    results = [result for result in reader.load_results(ROOT / "results").results if result.machine in MACHINES]
    site = facts.site(shipped(), results, docs=build.documents(ROOT), source="https://github.com/o/tensorcopy")
    return site, dict(build.files(site, "https://o.github.io/tensorcopy/"))
