"""A change is shown to others by a script and by an issue; a result may come from anybody, and a script is run."""

import ast
import re
import subprocess
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from tensorcopy import cli
from tensorcopy.campaign import NO_RULES
from tensorcopy.copying.inside.methods import METHODS
from tensorcopy.errors import TensorcopyError
from tensorcopy.numbers import signed_interval
from tensorcopy.releases import release_table, uv
from tensorcopy.report import explanation, words
from tensorcopy.results import select
from tests.conftest import ROOT

HISTORY = "https://example.org/history/cpu-1.html"
PAIRS = [("detach", "2.5.1", "2.15.0"), ("numpy", "1.12.1@3.9", "1.13.1@3.9"), ("cpu", "2.9.1", "2.10.0")]


@pytest.fixture(scope="module")
def causes():
    return {
        pair[0]: explanation.of_pair(select.pair(pair[1], pair[2], ROOT / "results", release_table.load()), pair[0], NO_RULES)
        for pair in PAIRS
    }


@pytest.mark.parametrize(
    ("file", "shown"), [("detach.py", "detach.py"), ("my scripts/detach.py", "'my scripts/detach.py'"), ("a\nexit()", explanation.SCRIPT)]
)
def test_the_commands_of_a_script_name_its_file(causes, file, shown):
    """As a shell reads it; a comment has one line."""
    script = explanation.script(causes["detach"], file)
    ast.parse(script)
    for result in (causes["detach"].before, causes["detach"].after):
        assert explanation.command(result, file).endswith(f" {shown}")
        assert f"\n#   {explanation.command(result, file)}\n" in script


@pytest.mark.parametrize(
    ("name", "expression"),
    [
        ("clone 16 float32 contiguous", "torch.ones(16)"),
        ("clone 16 float32 contiguous grad", "torch.ones(16, requires_grad=True)"),
        ("clone 1024 bool contiguous", "torch.ones(1024, dtype=torch.bool)"),
        ("clone 1024 float32 strided", "torch.ones(2048)[::2]"),
        ("clone 2048 float32 transposed", "torch.ones(2, 4, 16, 16).transpose(-1, -2)"),
    ],
)
def test_a_script_makes_the_tensor_that_was_measured(name, expression):
    assert explanation.tensor(name) == expression


def test_the_script_s_codes_are_those_of_the_registry():
    assert words.codes() == {name: method.code for name, method in METHODS.items()}


def test_a_damaged_file_of_codes_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(words, "CODES", tmp_path / "codes.json")
    words.CODES.write_text('{"clone": 5}')
    with pytest.raises(TensorcopyError, match=r"codes\.json cannot be read: got Expected `str`, got `int`"):
        words.codes.__wrapped__()


def renamed(cause: explanation.Cause, **provenance: str) -> explanation.Cause:
    """Return a cause whose later result is of a release that is not in the table, and has other provenance."""
    return replace(cause, after=replace(cause.after, sha="9" * 40, release=None, provenance={**cause.after.provenance, **provenance}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda cause: replace(cause, name="relu 1 float32 contiguous", code="torch.relu(x)"), "which the registry does not have"),
        (lambda cause: replace(cause, code="__import__('os').system('true')"), "other code than the registry's"),
        (lambda cause: replace(cause, name="detach 1 float32;exit() contiguous"), "float32;exit"),
        (lambda cause: renamed(cause, torch="2.15.0;reboot"), "2.15.0;reboot"),
        (lambda cause: replace(cause, after=replace(cause.after, python="3.9")), "same Python"),
    ],
    ids=["own operation", "code", "case", "version", "two Pythons"],
)
def test_no_script_is_written_with_anybody_s_code(causes, change, message):
    changed = change(causes["detach"])
    assert explanation.script_problem(changed)
    with pytest.raises(TensorcopyError, match=message) as error:
        explanation.script(changed)
    assert "\n" not in str(error.value)


def test_text_of_a_result_stays_in_the_comments_of_a_script(causes):
    """A line break in the name of a processor starts no line of code."""
    script = explanation.script(renamed(causes["detach"], cpu="Xeon\nexit()\rexit()"))
    assert "exit()" in script
    assert all(line.startswith("#") for line in script.splitlines() if "exit()" in line)


@pytest.mark.slow
def test_a_script_shows_a_real_change_in_a_folder_of_its_own(tmp_path, causes):
    """Run as its first lines say, the script is slower with the release that needs four times the instructions."""
    cause = causes["numpy"]
    (tmp_path / explanation.SCRIPT).write_text(explanation.script(cause), encoding="utf-8")
    times = []
    for result in (cause.before, cause.after):
        command = explanation.command(result).split()
        command[command.index("--python") + 1] = str(uv.find_python(result.python))
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert result.sha in done.stdout
        times.append(float(re.search(r"minimum ([\d.]+) ns", done.stdout)[1]))
    assert cause.difference.ratio > 4
    assert times[1] > 2 * times[0], "about five times: no load of the machine changes the minima by as much"


def percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):.1f} %"


def test_an_issue_has_the_fields_of_the_form_in_order(causes):
    """Title, description and versions, as blocks that render; what it says is what `why` prints."""
    cause = causes["cpu"]
    text = explanation.issue(cause, HISTORY)
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    slower = f", and {percent(cause.time.ratio)} more time (95 % interval {signed_interval(cause.time.interval)})"
    headings = [following.content for token, following in zip(tokens, tokens[1:]) if token.type == "heading_open"]
    assert headings == [
        f"`x.cpu()` takes {percent(cause.difference.ratio)} more instructions since torch 2.10.0{slower}",
        "🐛 Describe the bug",
        "Versions",
    ]
    assert [token.info for token in tokens if token.type == "fence"] == ["python", "sh", ""]
    assert [token.type for token in tokens].count("table_open") == 1
    assert explanation.script(cause) in text
    assert explanation.sentence(cause.difference) in text
    assert explanation.named_text(cause.difference) in text
    assert f"/compare/{cause.before.sha}...{cause.after.sha}\n" in text
    assert f"History of this call over releases: {HISTORY}" in text
    assert "History" not in explanation.issue(cause)


def test_text_of_a_result_ends_no_block_of_an_issue(causes):
    text = explanation.issue(renamed(causes["cpu"], cpu="Xeon\n```\n# mine"))
    assert "\n# mine" not in text


def test_only_more_instructions_are_an_issue(capsys):
    """In one line, which says where slowdowns are listed."""
    assert cli.main(["why", "detach", "2.5.1", "2.15.0", "--issue"]) == 2
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    assert "nothing to report: got detach 1 float32 contiguous from torch 2.5.1 to 2.15.0: −29.9 % instructions" in printed
    assert "tensorcopy compare A B" in printed


@pytest.mark.parametrize(("form", "start"), [("--script", "# /// script"), ("--issue", "# `x.cpu()` takes")])
def test_a_script_and_an_issue_can_be_redirected_into_a_file(capsys, form, start):
    """What to do with an issue is on the other stream."""
    assert cli.main(["why", "cpu", "2.9.1", "2.10.0", form]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith(start)
    assert (explanation.NEW_ISSUE in printed.err) == (form == "--issue")
