"""Times with huge pages: what the suite measures, and what the pages show of it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tensorcopy.results.passes import PassSamples, timing
from tensorcopy.site import render
from tensorcopy.site.model.cases import huge_pages
from tests.conftest import NEW, OLD, ROOT, measured

SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")
TIMES = {("detach_clone", 16): 1e-6, ("detach_clone", huge_pages.NUMEL): 0.04}


def with_pages(release, small, huge):
    """Return a result with the times in both kinds of pages; None for one that was skipped."""
    result = measured(release, TIMES)
    times = {huge_pages.case(huge=False): small, huge_pages.case(huge=True): huge}
    timings = {case: timing([PassSamples((time,))] * 3) for case, time in times.items() if time}
    return replace(result, timings={**result.timings, **timings})


@pytest.fixture
def site(monkeypatch):
    monkeypatch.setattr("tensorcopy.releases.release_table.load", lambda: (OLD, NEW))
    results = [with_pages(OLD, 0.05, None), with_pages(NEW, 0.04, 0.02)]
    return dict(render.files(render.content(results)))


def test_the_page_of_memory_shows_both_kinds_of_pages(site):
    """A release whose torch asks for no huge pages has a time in pages of 4 KiB only."""
    page = site["memory.html"]
    assert "of 64 MiB takes 40.0 ms, and 20.0 ms if the environment variable" in page
    assert page.index(">2.0.0<") < page.index("20.0 ms</td>") < page.index(">1.0.0<") < page.index("not asked for")


def test_the_chooser_names_what_huge_pages_save_of_large_tensors(site):
    """In both languages; not of smaller tensors, whose memory is not newly mapped."""
    text = "takes 20.0 ms instead of 40.0 ms if THP_MEM_ALLOC_ENABLE is 1"
    with_text = {address for address, page in site.items() if text in page}
    assert with_text
    assert all("16777216" in address or address.endswith("index.html") for address in with_text), with_text
    japanese = {address for address, page in site.items() if "40.0 ms ではなく 20.0 ms で終わります" in page}
    assert japanese == {f"ja/{address}" for address in with_text}


def test_a_case_is_one_place_of_the_explorer(site):
    """Both kinds of pages have a history of their own, and none takes the place of the plain case."""
    for pages in ("False", "True"):
        assert f"history/box/pages.HugePages/detach_clone-16777216-{pages}.html" in site
    assert "pages of 4 KiB" in site["history/box/pages.HugePages/detach_clone-16777216-False.html"]


SUITE = """
import torch
from asv_runner.benchmarks.mark import SkipNotImplemented
from benchmarks import pages
if {before}:
    torch.ones(4)
try:
    pages.skip_without({huge}, 2**24)
    print("timed")
except SkipNotImplemented as reason:
    print(reason)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("huge", "before", "printed"),
    [(True, False, "timed"), (False, False, "timed"), (True, True, "gets no huge pages here")],
    ids=["huge pages", "small pages", "asked too late"],
)
def test_a_case_is_timed_only_with_the_pages_that_it_names(huge, before, printed):
    """torch reads the variable once, at its first allocation: the kernel's count tells whether that was in time."""
    if not SETTING.exists() or "[madvise]" not in SETTING.read_text():
        pytest.skip("the kernel's setting is not madvise")
    done = subprocess.run(
        [sys.executable, "-c", SUITE.format(huge=huge, before=before)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert printed in done.stdout
