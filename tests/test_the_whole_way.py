"""From two torch releases to a page, without a substitute: the oldest on Python 3.9 and the newest, installed, measured, published."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from tensorcopy.releases import environments, release_table
from tests.conftest import ON_3_11

pytestmark = pytest.mark.slow

OLDEST, NEWEST = release_table.find("1.9.0"), release_table.load()[-1]
LINE = re.compile(r"[^\n]+: got [^\n]+; allowed: [^\n]+; next: [^\n]+")


def file_of(checkout, release, python):
    return checkout.root / "results" / "ci" / f"{release.sha[:8]}-py{python}-cuda.json"


@pytest.fixture(scope="module")
def measured(checkout):
    """Both releases, measured with --quick and published by the main command."""
    runs = [
        checkout.run("tensorcopy", "dashboard", "--quick", "--no-serve", "--machine", "ci", "--releases", release.version)
        for release in (OLDEST, NEWEST)
    ]
    for done in runs:
        assert done.returncode == 0, done.stdout + done.stderr
    return runs


def test_the_dashboard_prints_each_stage_and_the_page(measured):
    """The stages are installing, measuring and publishing, each with the time that is left."""
    assert re.search(
        r"installing torch 1.9.0 \(about .* left\)\nmeasuring torch 1.9.0 \(.*\)\npublishing the site \(.*\)\n", measured[0].stdout
    )
    assert re.search(r"The page: .*site/index.html\n", measured[0].stdout)


@pytest.mark.parametrize(("release", "python"), [(OLDEST, "3.9"), (NEWEST, "3.11")], ids=["oldest", "newest"])
def test_a_result_has_its_provenance_and_every_promise_holds(checkout, measured, release, python):
    """The recorded torch is the one in the table; on it every method does what it promises and the article holds."""
    result = json.loads(file_of(checkout, release, python).read_text())
    assert result["ledger"]["torch_sha"] == result["commit_hash"] == release.sha
    assert result["ledger"]["numpy"] == "1.26.4"
    assert result["ledger"]["asv_runner"] == environments.runner()
    as_promised = {name: row["observed"]["cpu"]["as_promised"] for name, row in result["methods"].items() if row["observed"]}
    assert len(as_promised) >= 17
    assert all(as_promised.values()), as_promised
    assert result["article"]["cpu"]["fail"] == []


def test_the_page_shows_this_machine_first_and_the_shipped_history(checkout, measured):
    """The landing page has the newest release; the list of histories begins with the machine that measured last."""
    page = (checkout.root / "site" / "index.html").read_text()
    assert f'<p class="note">torch {NEWEST.version} on ' in page
    histories = (checkout.root / "site" / "history" / "index.html").read_text()
    assert re.search('<li id="ci">.*<li id="xeon-2core">', histories, re.DOTALL)
    assert (checkout.root / "site" / "index.json").exists()
    graphs = {path.name for path in (checkout.root / "site" / "graphs").rglob("*.json")}
    assert "copies.BySize.time_copy.json" in graphs
    assert "summary.json" not in graphs  # read by asv's own list view only, which is not there


def test_a_second_run_installs_and_measures_nothing(checkout, measured):
    """It prints that the release was measured, and publishes."""
    environment = environments.path_of(checkout.root / ".asv" / "env", NEWEST, "3.11", "cuda")
    before = (environment / "complete").stat().st_mtime_ns, file_of(checkout, NEWEST, "3.11").read_bytes()
    done = checkout.run("tensorcopy", "dashboard", "--quick", "--no-serve", "--machine", "ci")
    assert done.returncode == 0
    assert f"torch {NEWEST.version} was measured on this machine on" in done.stdout
    assert "installing" not in done.stdout
    assert before == ((environment / "complete").stat().st_mtime_ns, file_of(checkout, NEWEST, "3.11").read_bytes())


def test_samples_are_added_and_never_replaced(checkout, measured):
    """Also by `--again`."""

    def samples():
        row = json.loads(file_of(checkout, OLDEST, "3.9").read_text())
        return row["results"]["copies.BySize.time_copy"][row["result_columns"].index("samples")]

    before = samples()
    done = checkout.run("tensorcopy", "dashboard", "--quick", "--again", "--no-serve", "--machine", "ci", "--releases", "1.9.0")
    assert done.returncode == 0, done.stderr
    assert all(more[: len(old)] == old and len(more) == len(old) + 3 for old, more in zip(before, samples(), strict=True))


def test_asv_itself_works_from_the_root(checkout, measured):
    """It is not patched; releases are its commits."""
    shown = checkout.run("asv", "show", "v1.9.0", "--machine", "ci")
    assert shown.returncode == 0
    assert "Commit: v1.9.0" in shown.stdout
    assert "copies.BySize.time_copy" in shown.stdout
    checked = checkout.run("asv", "check", "-E", "release:3.11")
    assert checked.returncode == 0, checked.stdout
    assert "No problems found." in checked.stdout


def test_asv_compare_prints_real_rows(checkout, measured):
    """Of the shipped results: both columns are times of the same environment."""
    done = checkout.run("asv", "compare", ON_3_11[0].tag, ON_3_11[-1].tag, "--machine", "xeon-2core")
    assert done.returncode == 0
    time = r"\| \d[^|]*s +"
    rows = re.findall(rf"^\| \S* +{time}{time}\| ~?\d+\.\d+ +\| copies\.BySize\.time_copy\(.*\|$", done.stdout, re.MULTILINE)
    assert len(rows) >= 40


def test_a_range_skips_a_release_without_a_wheel_by_name(checkout, measured):
    """torch 1.9.0 has no wheel for Python 3.11; alone it is an error."""
    done = checkout.run("asv", "run", "..v1.9.0", "-E", "release:3.11", "--machine", "ci")
    assert done.returncode == 0
    assert "torch 1.9.0 is skipped: it has wheels for Python 3.7 to 3.9, not for 3.11" in done.stdout
    alone = checkout.run("asv", "run", "v1.9.0^!", "-E", "release:3.11", "--machine", "ci")
    assert alone.returncode == 2
    assert LINE.search(alone.stdout)


def test_a_python_without_a_wheel_has_no_result_file(checkout, measured):
    """asv runs both Pythons; the one without a wheel skips every case, and earlier results stay."""
    before = file_of(checkout, OLDEST, "3.9").read_bytes()
    done = checkout.run("asv", "run", "v1.9.0^!", "--machine", "ci", "--bench", "floors.Control", "--append-samples")
    assert done.returncode == 0, done.stdout
    assert "torch 1.9.0 is skipped on Python 3.11: it has wheels for Python 3.7 to 3.9" in done.stdout
    assert not file_of(checkout, OLDEST, "3.11").exists()
    after = json.loads(file_of(checkout, OLDEST, "3.9").read_text())
    assert "floors.Control.time_sum" in after["results"]
    assert after["results"]["copies.BySize.time_copy"] == json.loads(before)["results"]["copies.BySize.time_copy"]
    assert after["ledger"]["torch_sha"] == OLDEST.sha


COUNT_IMPORTS = """
import os, sys

class Count:
    @staticmethod
    def find_spec(name, path, target=None):
        if name == "torch" and "TORCH_IMPORTS" in os.environ:
            with open(os.environ["TORCH_IMPORTS"], "a") as file:
                file.write("x")

sys.meta_path.insert(0, Count)
"""


def test_this_interpreters_own_torch_can_be_measured(checkout, measured, tmp_path):
    """Its SHA identifies the release; nothing is installed, and torch is imported once."""
    import torch

    (checkout.root / "sitecustomize.py").write_text(COUNT_IMPORTS)

    release = environments.released_as({"torch_sha": torch.version.git_version, "torch": torch.__version__})
    registered = checkout.run("asv", "machine", "--yes", "--machine", "container")
    assert registered.returncode == 0, registered.stdout
    command = ["run", f"{release.tag}^!", "-E", "interpreter:same", "--machine", "container", "--bench", "floors.Control"]
    done = checkout.run("asv", *command, TORCH_IMPORTS=str(tmp_path / "imports"))
    assert done.returncode == 0, done.stdout
    assert len((tmp_path / "imports").read_text()) == 1
    (path,) = (checkout.root / "results" / "container").glob(f"{release.sha[:8]}-*.json")
    assert json.loads(path.read_text())["ledger"]["torch"] == torch.__version__
    shutil.rmtree(path.parent)
    (checkout.root / "sitecustomize.py").unlink()
    refused = checkout.run("asv", "run", "v1.9.0^!", "-E", "interpreter:same", "--machine", "container")
    assert refused.returncode == 2
    assert "torch 1.9.0 cannot be measured here" in refused.stdout


def test_an_interpreter_without_this_package_can_be_measured(checkout, measured):
    """It has torch, but neither tensorcopy nor the program's asv."""
    (python,) = (checkout.root / ".asv" / "env").glob(f"{OLDEST.version}-*/bin/python")
    options = ("--passes", "1", "--bench", "floors.Control", "--machine", "container", "--no-confirm")
    done = checkout.run("tensorcopy", "measure", "--interpreter", str(python), *options, PYTHONPATH="")
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = (checkout.root / "results" / "container").glob(f"{OLDEST.sha[:8]}-py3.9-*-interpreter.json")
    document = json.loads(path.read_text())
    assert document["ledger"]["torch_sha"] == OLDEST.sha
    assert len(document["passes"]) == 1
    shutil.rmtree(path.parent)


def test_a_wrong_sha_in_the_table_is_refused(checkout, measured):
    """The error has both SHAs and what to do next; nothing is stored."""
    table = checkout.root / "tensorcopy" / "releases.toml"
    correct, before = table.read_text(), file_of(checkout, OLDEST, "3.9").read_bytes()
    table.write_text(correct.replace(OLDEST.sha, "0" * 40))
    try:
        done = checkout.run("tensorcopy", "dashboard", "--quick", "--again", "--no-serve", "--machine", "ci", "--releases", "1.9.0")
    finally:
        table.write_text(correct)
    assert done.returncode == 2
    assert LINE.search(done.stderr)
    assert f"its torch_sha differs from the table of releases: got {OLDEST.sha}" in done.stderr
    assert file_of(checkout, OLDEST, "3.9").read_bytes() == before
    assert not list((checkout.root / "results" / "ci").glob("00000000-*"))


def test_without_a_network_the_error_is_one_line_and_results_stay(checkout, measured, tmp_path):
    """With a release that is not installed yet, an empty cache and no index."""
    before = file_of(checkout, OLDEST, "3.9").read_bytes()
    done = checkout.run(
        "tensorcopy",
        "dashboard",
        "--quick",
        "--no-serve",
        "--machine",
        "ci",
        "--releases",
        ON_3_11[-2].version,
        UV_OFFLINE="1",
        UV_CACHE_DIR=str(tmp_path),
    )
    assert done.returncode == 2
    assert LINE.search(done.stderr)
    assert f"torch {ON_3_11[-2].version} was not installed on Python 3.11" in done.stderr
    assert file_of(checkout, OLDEST, "3.9").read_bytes() == before
    assert not list((checkout.root / "results" / "ci").glob(f"{ON_3_11[-2].sha[:8]}-*"))


def test_a_truncated_result_is_an_error_and_the_others_are_published(checkout, measured):
    """asv and tensorcopy exit with 2 and name the file."""
    path = file_of(checkout, OLDEST, "3.9")
    complete = path.read_bytes()
    path.write_bytes(complete[: len(complete) // 2])
    try:
        published = checkout.run("asv", "publish")
        done = checkout.run("tensorcopy", "dashboard", "--quick", "--no-serve", "--machine", "ci")
    finally:
        path.write_bytes(complete)
    assert published.returncode == 2
    assert f"the result file results/ci/{path.name} cannot be read" in published.stdout
    assert done.returncode == 2
    assert [line.count("cannot be read") for line in done.stderr.splitlines()] == [1]
    page = (checkout.root / "site" / "index.html").read_text()
    assert ">Machines</a>: xeon-2core" in page  # one release is left of the machine that measured last: no history
    assert (checkout.root / "site" / "index.json").exists()
    graphs = {path.name for path in (checkout.root / "site" / "graphs").rglob("*.json")}
    assert "copies.BySize.time_copy.json" in graphs
    assert "summary.json" not in graphs  # read by asv's own list view only, which is not there


def test_a_device_that_is_found_is_measured_and_shown(checkout, measured, gpu):
    """The dashboard has no option for it. One size is measured here, and a page names the device."""
    sizes = {"benchmarks/cases.py": (r"^(NUMELS|ON_DEVICE) = [^#\n]*", r"\1 = [2**10]  ")}
    with checkout.edited(sizes):
        options = ("--quick", "--no-serve", "--machine", "gpu-box", "--releases", NEWEST.version)
        done = checkout.run("tensorcopy", "dashboard", *options, **gpu.variables(OPERATION_US=200))
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = (checkout.root / "results" / "gpu-box").glob(f"{NEWEST.sha[:8]}-*.json")
    result = json.loads(path.read_text())
    (name,) = result["ledger"]["accelerators"].values()
    suites = {suite for suite, row in result["results"].items() if any(row[0] or ())}
    assert suites >= {"copies.BySize.time_copy", "copies.Throughput.time_copy", "copies.Latency.time_copy"}
    assert suites >= {"conversions.BySize.time_conversion", "conversions.Latency.time_conversion"}
    assert name in (checkout.root / "site" / "machines" / "gpu-box.html").read_text(encoding="utf-8")
