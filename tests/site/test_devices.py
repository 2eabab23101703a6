"""A GPU beside a CPU's machine, or inside it: what changed on a device is in each view of it, and in none of the other's."""

import json
import shutil

import feedparser
import pytest

from tests import launch_files
from tests.launch_files import START
from tests.site import world
from tests.site.reading import faults, read
from tests.site.test_one_answer import differences
from tests.site.world import CARD, RELEASES

OF_CPU = {
    "copies.BySize.time_copy clone_detach 128": world.times(1.0, 1.0, 1.0, 1.0, 1.31),
    "copies.BySize.time_copy detach_clone 128": world.times(1.2, 1.2, 1.2, 1.2, 1.2),
    "copies.BySize.time_copy detach_clone 131072": world.times(13.0, 13.0, 16.12, 16.12, 16.12),
}
OF_CUDA = {
    "copies.Throughput.time_copy clone_detach 128 cuda": world.times(8.0, 8.0, 8.0, 8.0, 9.44),
    "copies.Throughput.time_copy detach_clone 128 cuda": world.times(9.0, 9.0, 13.23, 13.23, 13.23),
    "copies.Throughput.time_copy detach_clone 131072 cuda": world.times(20.0, 20.0, 20.0, 12.0, 12.0),
}
DOCUMENTS = ("article", "index", "measurement", "gpu-runner", "guide", "own-operation")  # that the first page links
FILES = ["icon.svg", "tensorcopy.css", "page.js", *(f"docs/{name}.html" for name in DOCUMENTS)]


def write(folder, cases, machine, *devices, start=START):
    launch_files.write(folder, cases, machine=machine, noise=0.0, start=start, **CARD)
    launch_files.write_counts(folder, RELEASES[-1], {}, methods=world.methods(*devices), machine=machine, start=start, **CARD)


@pytest.fixture(scope="module", params=["beside", "inside"])
def folder(request, tmp_path_factory):
    """Results of both devices, of two machines or of one."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "inside":
        write(folder, {**OF_CPU, **OF_CUDA}, "box", "cpu", "cuda")
    else:
        write(folder, OF_CPU, "box", "cpu")
        write(folder, OF_CUDA, "card", "cuda", start=START.replace(day=28))
    return folder


@pytest.fixture(scope="module")
def files(folder):
    return world.files_of(folder)


def views(files: dict[str, str], device: str) -> dict[str, str]:
    """Return what each view says of a device."""
    pages = {address: read(text) for address, text in files.items() if address.endswith(".html")}
    entries = feedparser.parse(files["slowdowns.xml"].encode()).entries

    def sections(address: str) -> str:
        """Return the text of the sections of a page that are about the device."""
        return " ".join(each.text for each in pages[address].all("section") if device in str(each.attributes["id"]).split("-"))

    return {
        "first page": pages["index.html"].by_id(device).text,
        "Japanese": pages["ja/index.html"].by_id(device).text,
        "regressions": pages["regressions.html"].by_id(device).text,
        "history": sections("history.html"),
        "comparison": sections(f"compare/{RELEASES[-2]}..{RELEASES[-1]}.html"),
        "earlier comparison": sections(f"compare/{RELEASES[1]}..{RELEASES[2]}.html"),
        "methods": " ".join(page.first("main").text for address, page in pages.items() if address.startswith(f"methods/{device}/")),
        "feed": " ".join(f"{entry.title} {entry.summary}" for entry in entries if f" on {device}:" in entry.title),
        "data": " ".join(text for address, text in files.items() if f"/{device}/" in address and address.endswith(".json")),
    }


def test_every_view_of_a_device_says_what_the_judge_says_of_it(folder, files):
    """What the newest release changed on it is in each view of it, whatever changed on the other."""
    assert differences(world.site_of(folder), files) == []
    for device, size in (("cpu", "+31."), ("cuda", "+18.")):
        said = {name: size in text for name, text in views(files, device).items()}
        assert [name for name, is_said in said.items() if not is_said] == ["earlier comparison", "data"]


def test_what_is_said_of_a_device_does_not_depend_on_what_else_its_launches_measured(folder, tmp_path, files):
    for device, other in (("cpu", "Throughput"), ("cuda", "BySize")):
        alone = tmp_path / device
        shutil.copytree(folder, alone)
        for path in alone.rglob("*.json"):
            document = json.loads(path.read_text())
            document["suites"] = {name: suite for name, suite in document["suites"].items() if other not in name}
            if document["suites"] or document["kind"] == "counts":
                path.write_text(json.dumps(document))
            else:
                path.unlink()
        assert views(world.files_of(alone), device) == views(files, device)


def test_a_gpu_alone_says_nothing_of_a_cpu(tmp_path):
    """No page names the processor but that of the data, and none has a dead link."""
    write(tmp_path, OF_CUDA, "card", "cuda")
    files = world.files_of(tmp_path)
    assert faults(files, FILES) == []
    assert [address for address, text in files.items() if "Box 9000" in text and not address.startswith("data")] == []
    first = read(files["index.html"])
    assert [section.attributes["id"] for section in first.all("section")] == ["cuda"]
    assert "Is torch 2.15.0 slower? 1 of 3 cases slower" in first.text
    assert "timed without grad" in read(files["choose.html"]).text
    assert "CPU" not in first.first("main").text
    assert not any(address.startswith("methods/cpu") for address in files)
    assert {str(each.attributes["data-part"]).partition(";")[0] for each in read(files["choose.html"]).all("section")} == {"CUDA"}
    assert files["regressions.svg"].count("2 methods on torch 2.15.0 (cuda)") == 2
    assert "(cpu)" not in files["regressions.svg"]
