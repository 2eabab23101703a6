"""The output of `tensorcopy history`."""

import json
import re

import pytest

from tensorcopy.cli import main
from tensorcopy.copying.shipped import shipped
from tensorcopy.releases import release_table
from tensorcopy.site import render
from tests import launch_files
from tests.conftest import assert_golden


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Results of eight releases: a case is slower from 2.12.1 on, one is faster from 2.11.0 on, and one is unchanged."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    versions = [release.version for release in release_table.load().select("2.8.0..2.15.0")]
    times = {
        "clone_detach": [1.4] * 4 + [1.7] * 4,
        "detach_clone": [1.2] * 3 + [1.0] * 5,
        "tensor": [2.0] * 8,
    }
    cases = {f"copies.BySize.time_copy {method} 16": dict(zip(versions, row)) for method, row in times.items()}
    launch_files.write(tmp_path / "results", cases)
    return tmp_path / "results"


@pytest.mark.parametrize(
    ("arguments", "golden"),
    [(["clone_detach"], "history.txt"), ([], "histories.txt"), (["--open"], "open.txt")],
    ids=["one", "all", "open"],
)
def test_the_history_is_printed(folder, capsys, arguments, golden):
    """Of a case each release with its error and change, of several what changed at each; a speedup is no open regression.

    No line is wider than the terminal.
    """
    assert main(["history", *arguments]) == 0
    text = capsys.readouterr().out
    assert_golden(golden, text)
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sideways"], "no such case: got 'sideways'; allowed: copies.BySize clone_detach, "),
        (["Clone_Detach"], "next: did you mean clone_detach?"),
        (["--fail-on", "slower"], "--fail-on needs --open"),
        (["--format", "json"], "--format needs --open"),
    ],
    ids=["no case", "another spelling", "not open", "a format of what is not open"],
)
def test_a_refused_argument_is_an_error(folder, capsys, arguments, message):
    """An unknown case lists the first cases."""
    assert main(["history", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(("releases", "launches"), [(("2.15.0",), 12), (("2.14.1", "2.15.0"), 1)], ids=["one release", "one launch"])
def test_what_cannot_be_seen_is_not_called_unchanged(tmp_path, monkeypatch, capsys, releases, launches):
    """Neither "No change" nor "0 methods" stands where nothing was compared; an unknown error is no error of 0.0 %."""
    monkeypatch.chdir(tmp_path)
    times = dict(zip(releases, (1.0, 1.5)))
    launch_files.write(tmp_path / "results", {f"copies.BySize.time_copy tensor {numel}": times for numel in (1, 16)}, launches=launches)
    for arguments in ([], ["numel=16"], ["--open"]):
        assert main(["history", *arguments]) == 0
        shown = capsys.readouterr().out
        assert "No two releases could be compared." in shown
        assert "0.0 %" not in shown


def test_no_open_regression_is_said_in_words(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    times = {"2.14.1": 1.0, "2.15.0": 1.0}
    launch_files.write(tmp_path / "results", {f"copies.BySize.time_copy tensor {numel}": times for numel in (1, 16)}, launches=12)
    assert main(["history", "--open"]) == 0
    assert "torch 2.15.0: none of 2 cases, each against its lowest level\n" in capsys.readouterr().out


def test_open_regressions_are_json(folder, capsys):
    """Each with the release and the size of its slowdown, and its state in tensorcopy.toml."""
    row = '[[accepted]]\ncase = "clone_detach"\nrelease = "2.12.1"\nwhy = "a check: pytorch#1"\n'
    for written, state, why in (("", "open", ""), (row, "accepted", "a check: pytorch#1")):
        (folder.parent / "tensorcopy.toml").write_text(written, encoding="utf-8")
        assert main(["history", "--open", "--format", "json", "--fail-on", "slower"]) == (state == "open")
        document = json.loads(capsys.readouterr().out)
        assert (document["device"], document["cases"], document["compared"]) == ("cpu", 3, 3)
        (method,) = document["regressions"]
        (case,) = method["cases"]
        assert (method["method"], method["age"]) == ("clone_detach", "recent")
        assert (case["case"], case["state"], case["accepted"]) == ("copies.BySize clone_detach numel=16", state, why)
        assert case["low"] < case["ratio"] < case["high"]
        assert case["ratio"] == pytest.approx(1.7 / 1.4, rel=0.01)
        (since,) = case["since"]
        assert (since["release"], since["against"]) == ("2.12.1", case["best"])


@pytest.fixture
def folder_of_two_pythons(tmp_path, monkeypatch):
    """Results of a case that becomes slower on Python 3.9, and is faster on 3.11."""
    monkeypatch.chdir(tmp_path)
    times = {"2.6.0@3.9": 1.0, "2.7.1@3.9": 2.0, "2.7.1": 1.0, "2.8.0": 1.0}
    launch_files.write(tmp_path / "results", {"copies.BySize.time_copy tensor 16": times})


def test_the_heading_says_which_times_are_scaled(folder_of_two_pythons, capsys):
    """A case has the times of an older Python as measured; open regressions have them on the newest one's scale."""
    for option, heading, time in (
        ("tensor", "before torch 2.7.1: Python 3.9, as measured, bars scaled", r"2\.6\.0 \(3\.9\) +1\.00 µs"),
        ("--open", "before torch 2.7.1: Python 3.9, times scaled to Python 3.11", r"50\d ns → 1\.00 µs"),
    ):
        assert main(["history", option]) == 0
        shown = capsys.readouterr().out
        assert heading in " ".join(shown.split())
        assert re.search(time, shown)


def test_a_comparison_of_two_pythons_says_what_the_history_leaves_out(folder_of_two_pythons, capsys):
    """The change of Python, of two releases; one release on two Pythons has no other change."""
    line = "includes the change from Python 3.9 to 3.11, which tensorcopy history leaves out"
    for before, after, is_said in (("2.6.0@3.9", "2.8.0", True), ("2.7.1@3.9", "2.7.1@3.11", False), ("2.7.1@3.11", "2.8.0", False)):
        for form in ("text", "markdown"):
            assert main(["compare", before, after, "--format", form]) == 0
            assert (line in " ".join(capsys.readouterr().out.split())) is is_said


UNPAIRED = "2.13.0"  # among five releases that took turns


@pytest.fixture
def folder_with_an_unpaired_release(tmp_path, monkeypatch):
    """The machine was 1.45 times as slow when one release was measured alone; the next one is slower by a tenth."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    case, results = "copies.BySize.time_copy tensor 16", tmp_path / "results"
    launch_files.write(results, {case: {"2.8.0": 1.0, "2.10.0": 1.0, "2.11.0": 1.0, "2.14.1": 1.1, "2.15.0": 1.1}}, launches=12)
    launch_files.write(results, {case: {UNPAIRED: 1.45}}, start=launch_files.START + 99 * launch_files.EVERY, launches=4)
    return results


def test_an_unpaired_release_is_told_apart_in_a_history(folder_with_an_unpaired_release, capsys):
    """It makes no change of its own, and the next release is compared with the last one that took turns with it."""
    assert main(["history", "tensor"]) == 0
    shown = capsys.readouterr().out
    rows = {line.split()[0]: line for line in shown.splitlines()[2:8]}
    assert rows[UNPAIRED].endswith("unpaired")
    assert not any("unpaired" in line for release, line in rows.items() if release != UNPAIRED)
    assert re.search(r"^torch 2\.14\.1: slower by (9|10)\.\d %.* than 2\.11\.0$", shown, re.MULTILINE)
    assert shown.count("slower by") == 1
    assert "Unpaired: measured alone in its launches" in shown


def test_an_unpaired_release_is_told_apart_on_the_pages(folder_with_an_unpaired_release):
    """With the spread of its launches, and without a ratio; the explorer gets to know it. Without a paired one, none is marked."""
    results = launch_files.load(folder_with_an_unpaired_release)
    content = render.content(shipped(), results)
    site = dict(render.files(content))
    page = site["history/box/copies.BySize/tensor-16.html"]
    (row,) = re.findall(rf'<tr id="{UNPAIRED}">.*', page)
    assert re.search(r"<td>4 unpaired: 1\.3\d to 1\.5\d µs", row), row
    assert "unknown: never measured beside each other" in row
    assert "%" not in row
    assert page.count(">unpaired</text>") == 1
    assert "Unpaired: measured alone in its launches" in page
    data = json.loads(site["history/box/times.js"].removeprefix("tensorHistory.receive(").removesuffix(");\n"))
    assert [data["releases"][number] for each in data["cases"] for number in each["unpaired"]] == [UNPAIRED]
    alone = dict(render.files(render.content(shipped(), [result for result in results if result.version == UNPAIRED])))
    assert not any("npaired" in text for address, text in alone.items() if address.startswith("history/"))


def test_a_margin_that_matches_no_case_is_told(folder, capsys):
    """Misspelt, it would change which slowdowns count without a word."""
    (folder.parent / "tensorcopy.toml").write_text("[margin]\nsideways = 50\n")
    assert main(["history"]) == 0
    assert "warning: a row of [margin] in tensorcopy.toml matches no case: got sideways;" in capsys.readouterr().err
