"""Addresses are safe and distinct, and a fork leads to itself."""

import re
import subprocess

import pytest

from tensorcopy.site import addresses
from tensorcopy.site.addresses import WebAddresses


def test_slugs_are_safe_and_distinct():
    """Letters, digits and three punctuation marks, never empty or hidden; also of texts that differ in dropped characters only."""
    texts = ["", ".", "..", "a", "A", "a b", "a  b", "a-b", "a/b", "../a", ".a", "a.", "é", "e\u0301", "値", "\0", "9" * 300]
    slugs = [addresses.slug(text) for text in texts]
    assert all(re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]*", slug) for slug in slugs)
    assert len({*slugs}) == len(texts)


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
