"""Addresses are safe and distinct, and a fork leads to itself."""

import re
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorcopy.site import addresses
from tensorcopy.site.addresses import WebAddresses


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
