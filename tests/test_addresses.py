"""Addresses are safe, distinct and stable, and a fork leads to itself."""

from __future__ import annotations

import re
import subprocess
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorcopy.analysis.recommend import CopyRequest
from tensorcopy.results.passes import Case
from tensorcopy.site import addresses
from tensorcopy.site.addresses import WebAddresses
from tests.conftest import NEW, OLD, measured


@given(st.text())
def test_a_slug_is_safe(text):
    """It has letters, digits and three punctuation marks only, and is never empty or a parent folder."""
    slug = addresses.slug(text)
    assert re.fullmatch(r"[A-Za-z0-9._-]+", slug)
    assert slug not in (".", "..")
    assert not slug.startswith(".")


@given(st.lists(st.text(min_size=1), min_size=2, max_size=2, unique=True))
def test_different_texts_have_different_slugs(texts):
    """Also when only the dropped characters differ."""
    assert addresses.slug(texts[0]) != addresses.slug(texts[1])


def test_addresses_are_stable():
    """Other sites link to them."""
    old, new = measured(OLD, {("a", 1): 1e-6}), measured(NEW, {("a", 1): 1e-6})
    elsewhere = measured(NEW, {("a", 1): 1e-6}, machine="h200", python="3.12")
    case = Case("copies.ByDtype.time_copy", (("method", "tensor"), ("numel", "131072"), ("dtype", "float16")))
    request = CopyRequest("tensor", own=True, keeps_graph=False, requires_grad=True, device="cpu")
    assert addresses.of_case("box", case) == "history/box/copies.ByDtype/tensor-131072-float16.html"
    assert addresses.of_comparison(old, new) == "compare/box/py3.11-cuda/1.0.0..2.0.0.html"
    assert addresses.of_comparison(new, elsewhere) == "compare/box..h200/py3.11-cuda..py3.12-cuda/2.0.0.html"
    assert addresses.of_sizes(new) == "sizes/box/py3.11-cuda/2.0.0.html"
    assert addresses.of_request(request, 16) == "choose/cpu-tensor-own-cut-grad-16.html"
    assert addresses.of_method("detach_clone") == "methods/detach_clone.html"
    assert addresses.translated(addresses.LANDING, "ja") == "ja/index.html"


@pytest.mark.parametrize(
    ("source", "target", "link"),
    [
        ("index.html", "data.html", "data.html"),
        ("ja/index.html", "index.html", "../index.html"),
        ("compare/a/b/x.html", "compare/a/b/y.html", "y.html"),
        ("compare/a/b/x.html", "compare/a/c/y.html", "../c/y.html"),
        ("compare/a/b/x.html", "history/c.html", "../../../history/c.html"),
    ],
)
def test_links_are_relative(source, target, link):
    """The site works in any folder, also on a disk."""
    assert addresses.relative(source, target) == link
    assert str(PurePosixPath(source).parent.joinpath(link)).count("..") == link.count("..")


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("https://github.com/a/b.git", "https://github.com/a/b"),
        ("git@github.com:a/b.git", "https://github.com/a/b"),
        ("ssh://git@example.org:2222/a/b", "https://example.org/a/b"),
        ("https://user:secret@example.org/a/b/", "https://example.org/a/b"),
        ("/home/someone/tensorcopy", ""),
        ("../tensorcopy", ""),
        ("file:///tmp/tensorcopy", ""),
        ("", ""),
    ],
)
def test_a_remote_is_shown_as_a_browser_opens_it(remote, address):
    """Without credentials; a folder has no address."""
    assert addresses.web_address(remote) == address


def test_the_source_is_configured_or_that_of_the_workflow_or_of_the_clone(tmp_path):
    """In this order, so that a fork that configures nothing links to itself."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    subprocess.run(["git", "-C", str(tmp_path), "remote", "add", "origin", "git@example.org:me/fork.git"], check=True)
    workflow = {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "you/fork"}
    assert WebAddresses.of_checkout("https://example.org/x", "https://example.org/p", workflow, tmp_path) == WebAddresses(
        "https://example.org/x", "https://example.org/p/"
    )
    assert WebAddresses.of_checkout("", "", workflow, tmp_path).source == "https://github.com/you/fork"
    assert WebAddresses.of_checkout("", "", {}, tmp_path) == WebAddresses("https://example.org/me/fork", "")
