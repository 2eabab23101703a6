"""Addresses are safe and distinct, and a fork leads to itself."""

import re
import subprocess

import pytest

from tensorcopy.site import addresses
from tensorcopy.site.addresses import WebAddresses
from tensorcopy.site.machine import machines
from tests import launch_files


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


def test_no_page_of_a_case_has_the_name_of_another_on_macos_or_windows(tmp_path):
    """Where the case of letters is ignored, or a dash of a value is one between two; the first keeps the short address."""
    names = ["a.time_IT order=c", "a.time_it order=c", "a.time_it order=C", "b.time_it x=1-2 y=3", "b.time_it x=1 y=2-3"]
    launch_files.write(tmp_path, {name: {"2.14.1": 1.0, "2.15.0": 1.0} for name in names}, launches=1)
    (machine,) = machines(launch_files.load(tmp_path))
    pages = [machine.case_address(launch_files.case(name)) for name in names]
    assert pages[0] == "history/box/a.time_IT/c.html"
    assert len({page.lower() for page in pages}) == len(names), pages
