"""From two torch releases to a page, with nothing pretended: the oldest on Python 3.9 and the newest, installed, measured, published."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from tensorcopy.releases import environments, release_table

pytestmark = pytest.mark.slow

OLDEST, NEWEST = release_table.find("1.9.0"), release_table.load()[-1]
LINE = re.compile(r"[^\n]+: got [^\n]+; allowed: [^\n]+; next: [^\n]+")


def file_of(checkout, release, python):
    return checkout.root / "results" / "ci" / f"{release.sha[:8]}-py{python}-cuda.json"


@pytest.fixture(scope="module")
def measured(checkout):
    """Both releases, measured quickly and published by the main command."""
    done = [
        checkout.run("tensorcopy", "dashboard", "--quick", "--no-serve", "--machine", "ci", "--releases", release.version)
        for release in (OLDEST, NEWEST)
    ]
    for one in done:
        assert one.returncode == 0, one.stdout + one.stderr
    return done


def test_the_dashboard_says_what_it_does(measured):
    """Installing, measuring, publishing, each with what is left; then where the page is."""
    assert re.search(
        r"installing torch 1.9.0 \(about .* left\)\nmeasuring torch 1.9.0 \(.*\)\npublishing the site \(.*\)\n", measured[0].stdout
    )
    assert re.search(r"The page: .*site/index.html\n", measured[0].stdout)


@pytest.mark.parametrize(("release", "python"), [(OLDEST, "3.9"), (NEWEST, "3.11")], ids=["oldest", "newest"])
def test_a_result_carries_its_ledger_and_promises_hold(checkout, measured, release, python):
    """The torch measured is the torch recorded; on it every method does what it promises and the article holds."""
    result = json.loads(file_of(checkout, release, python).read_text())
    assert result["ledger"]["torch_sha"] == result["commit_hash"] == release.sha
    assert result["ledger"]["numpy"] == "1.26.4"
    assert result["ledger"]["asv_runner"] == environments.runner()
    seen = {name: row["observed"]["cpu"]["as_promised"] for name, row in result["methods"].items() if row["observed"]}
    assert len(seen) >= 17
    assert all(seen.values()), seen
    assert result["article"]["cpu"]["fail"] == []


def test_the_page_shows_this_machine_first_and_the_shipped_history(checkout, measured):
    """What was just measured is "here"."""
    page = (checkout.root / "site" / "index.html").read_text()
    assert '<p class="answer">torch 2.15.0 on ' in page
    histories = (checkout.root / "site" / "history" / "index.html").read_text()
    assert re.search(r'<h2 id="ci">.*<h2 id="epyc-2core">', histories, re.DOTALL)
    assert (checkout.root / "site" / "explorer.html").exists()
    assert (checkout.root / "site" / "index.json").exists()


def test_a_second_run_installs_and_measures_nothing(checkout, measured):
    """It says so, and publishes."""
    environment = environments.path_of(checkout.root / ".asv" / "env", NEWEST, "3.11", "cuda")
    before = (environment / "complete").stat().st_mtime_ns, file_of(checkout, NEWEST, "3.11").read_bytes()
    done = checkout.run("tensorcopy", "dashboard", "--quick", "--no-serve", "--machine", "ci")
    assert done.returncode == 0
    assert "torch 2.15.0 was measured on this machine on" in done.stdout
    assert "installing" not in done.stdout
    assert before == ((environment / "complete").stat().st_mtime_ns, file_of(checkout, NEWEST, "3.11").read_bytes())


def test_samples_are_added_never_replaced(checkout, measured):
    """`--again` on what is there."""

    def samples():
        row = json.loads(file_of(checkout, OLDEST, "3.9").read_text())
        return row["results"]["copies.BySize.time_copy"][row["result_columns"].index("samples")]

    before = samples()
    done = checkout.run("tensorcopy", "dashboard", "--quick", "--again", "--no-serve", "--machine", "ci", "--releases", "1.9.0")
    assert done.returncode == 0, done.stderr
    assert all(after[: len(one)] == one and len(after) == len(one) + 3 for one, after in zip(before, samples(), strict=True))


def test_asv_itself_works_from_the_root(checkout, measured):
    """Unpatched, with releases for commits."""
    shown = checkout.run("asv", "show", "v1.9.0", "--machine", "ci")
    assert shown.returncode == 0
    assert "Commit: v1.9.0" in shown.stdout
    assert "copies.BySize.time_copy" in shown.stdout
    checked = checkout.run("asv", "check", "-E", "release:3.11")
    assert checked.returncode == 0, checked.stdout
    assert "No problems found." in checked.stdout


def test_asv_compare_prints_real_rows(checkout, measured):
    """Of the shipped history: both columns are times, joined by environment."""
    done = checkout.run("asv", "compare", "v1.13.1", "v2.15.0", "--machine", "epyc-2core")
    assert done.returncode == 0
    time = r"\| \d[^|]*s +"
    rows = re.findall(rf"^\| \S* +{time}{time}\| ~?\d+\.\d+ +\| copies\.BySize\.time_copy\(.*\|$", done.stdout, re.MULTILINE)
    assert len(rows) >= 40


def test_a_range_leaves_out_by_name_and_succeeds(checkout, measured):
    """torch 1.9.0 has no wheel for Python 3.11."""
    done = checkout.run("asv", "run", "..v1.9.0", "-E", "release:3.11", "--machine", "ci")
    assert done.returncode == 0
    assert "torch 1.9.0 is skipped: torch 1.9.0 has wheels for Python 3.7 to 3.9, not for 3.11" in done.stdout
    alone = checkout.run("asv", "run", "v1.9.0^!", "-E", "release:3.11", "--machine", "ci")
    assert alone.returncode == 2
    assert LINE.search(alone.stdout)


def test_a_release_that_cannot_be_on_one_python_leaves_no_file_for_it(checkout, measured):
    """asv asks both Pythons; the one without a wheel skips, and nothing of what is there changes."""
    before = file_of(checkout, OLDEST, "3.9").read_bytes()
    done = checkout.run("asv", "run", "v1.9.0^!", "--machine", "ci", "--bench", "floors.Control", "--append-samples")
    assert done.returncode == 0, done.stdout
    assert "torch 1.9.0 is skipped on Python 3.11: torch 1.9.0 has wheels for Python 3.7 to 3.9" in done.stdout
    assert not file_of(checkout, OLDEST, "3.11").exists()
    after = json.loads(file_of(checkout, OLDEST, "3.9").read_text())
    assert "floors.Control.time_sum" in after["results"]
    assert after["results"]["copies.BySize.time_copy"] == json.loads(before)["results"]["copies.BySize.time_copy"]
    assert after["ledger"]["torch_sha"] == OLDEST.sha


def test_this_interpreters_own_torch_can_be_measured(checkout, measured):
    """The release is found by its SHA; nothing is installed."""
    import torch

    release = environments.released_as({"torch_sha": torch.version.git_version, "torch": torch.__version__})
    known = checkout.run("asv", "machine", "--yes", "--machine", "container")
    assert known.returncode == 0, known.stdout
    done = checkout.run("asv", "run", f"{release.tag}^!", "-E", "interpreter:same", "--machine", "container", "--bench", "floors.Control")
    assert done.returncode == 0, done.stdout
    (path,) = (checkout.root / "results" / "container").glob(f"{release.sha[:8]}-*.json")
    assert json.loads(path.read_text())["ledger"]["torch"] == torch.__version__
    shutil.rmtree(path.parent)
    another = checkout.run("asv", "run", "v1.9.0^!", "-E", "interpreter:same", "--machine", "container")
    assert another.returncode == 2
    assert "torch 1.9.0 cannot be measured here" in another.stdout


def test_a_wrong_sha_in_the_table_is_refused(checkout, measured):
    """What was wanted, what came, what to do; nothing is stored."""
    table = checkout.root / "tensorcopy" / "releases.toml"
    good, before = table.read_text(), file_of(checkout, OLDEST, "3.9").read_bytes()
    table.write_text(good.replace(OLDEST.sha, "0" * 40))
    try:
        done = checkout.run("tensorcopy", "dashboard", "--quick", "--again", "--no-serve", "--machine", "ci", "--releases", "1.9.0")
    finally:
        table.write_text(good)
    assert done.returncode == 2
    assert LINE.search(done.stderr)
    assert f"its torch_sha is not the table's: got {OLDEST.sha}" in done.stderr
    assert file_of(checkout, OLDEST, "3.9").read_bytes() == before
    assert not list((checkout.root / "results" / "ci").glob("00000000-*"))


def test_no_network_is_one_line_and_loses_nothing(checkout, measured, tmp_path):
    """A release that is not installed yet, an empty cache, no index."""
    before = file_of(checkout, OLDEST, "3.9").read_bytes()
    done = checkout.run(
        "tensorcopy",
        "dashboard",
        "--quick",
        "--no-serve",
        "--machine",
        "ci",
        "--releases",
        "2.14.1",
        UV_OFFLINE="1",
        UV_CACHE_DIR=str(tmp_path),
    )
    assert done.returncode == 2
    assert LINE.search(done.stderr)
    assert "torch 2.14.1 was not installed on Python 3.11" in done.stderr
    assert file_of(checkout, OLDEST, "3.9").read_bytes() == before
    assert not list((checkout.root / "results" / "ci").glob("5c488690-*"))


def test_a_truncated_result_is_named_and_the_rest_is_published(checkout, measured):
    """Exit code 2, by asv as by ourselves."""
    path = file_of(checkout, OLDEST, "3.9")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    try:
        published = checkout.run("asv", "publish")
        done = checkout.run("tensorcopy", "dashboard", "--quick", "--no-serve", "--machine", "ci")
    finally:
        path.write_bytes(whole)
    assert published.returncode == 2
    assert f"the result file results/ci/{path.name} cannot be read" in published.stdout
    assert done.returncode == 2
    assert [line.count("cannot be read") for line in done.stderr.splitlines()] == [1]
    page = (checkout.root / "site" / "index.html").read_text()
    assert "nothing is compared yet" in page  # of the machine that measured last, one release is left
    assert (checkout.root / "site" / "index.json").exists()
