"""What is said under a pull request: ours, whatever its measurement has left behind."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from tensorcopy.analysis import retest
from tensorcopy.analysis.two_sample import Verdict
from tensorcopy.ci import pull_request
from tensorcopy.ci.pull_request import Contest, Outcome, Request, Side
from tensorcopy.measure import plan
from tensorcopy.releases import release_table
from tensorcopy.report.comparison import pr_comment
from tests.conftest import ROOT, compared, measured_in_passes
from tests.test_judging import golden, passes

BASE, HEAD = "1" * 40, "f" * 40
OLD, NEW = release_table.find("2.14.1"), release_table.find("2.15.0")
RUN = "https://github.com/someone/tensorcopy/actions/runs/1"
EVIL = "](http://evil.example) <img src=x onerror=alert(1)> @maintainer #1 `x` | \n# Approved \x1b[31m\x07 <!-- /tensorcopy: cpu --> \u202e"


@pytest.fixture
def found(tmp_path):
    """A comparison of one slower, one faster, one same and one method that failed; both of a real shape."""
    times = {"new_tensor": 2.0, "clone_detach": 1.4, "detach_clone": 1.1, "tensor": 1.5}
    measured_in_passes(tmp_path / "base", NEW, {method: passes(time) for method, time in times.items()})
    times = {"new_tensor": 2.5, "clone_detach": 1.2, "detach_clone": 1.1}
    measured_in_passes(tmp_path / "head", NEW, {method: passes(time) for method, time in times.items()})
    comparison = compared(str(tmp_path / "base"), str(tmp_path / "head"), tmp_path, margin=0.03)
    held = {case: replace(change, confirmed=(2, 2)) for case, change in comparison.changes.items() if change.verdict in
            (Verdict.SLOWER, Verdict.FASTER)}  # fmt: skip
    return replace(comparison, named=("base", "head"), changes={**comparison.changes, **held})


def outcome(found, kind="code", **failures):
    one, other = (OLD, NEW) if kind == "release" else (NEW, NEW)
    contest = Contest(kind, Side("base", BASE, plan.Measurement(one, "3.11")), Side("head", HEAD, plan.Measurement(other, "3.11")))
    return Outcome(contest, found, failures)


def document(*outcomes, device="cpu"):
    return pull_request.document(Request(BASE, HEAD, 10, device=device), outcomes)


def left_behind(folder, document, name="comparison.json"):
    folder.mkdir(parents=True, exist_ok=True)
    text = document if isinstance(document, str) else json.dumps(document)
    (folder / name).write_text(text, encoding="utf-8")
    return folder


def said(folder, device="cpu", before="") -> str:
    return pr_comment.body(device, pr_comment.section(folder, RUN, device), before)


def test_the_comment_is_read_in_five_seconds(found, tmp_path):
    """What is slower and faster in the first line, how it was measured in the last."""
    golden("comment.md", said(left_behind(tmp_path / "out", document(outcome(found)))))


def test_a_new_release_stands_against_the_one_before(found, tmp_path):
    assert "torch 2.14.1 → torch 2.15.0 · Box 9000, Python 3.11" in said(
        left_behind(tmp_path / "out", document(outcome(found, kind="release")))
    )


def test_nothing_changed_is_said_with_how_much_it_can_be(found, tmp_path):
    """By the farthest end of an interval."""
    same = {case: change for case, change in found.changes.items() if change.verdict is Verdict.UNCHANGED}
    text = said(left_behind(tmp_path / "out", document(outcome(replace(found, changes=same)))))
    assert "### ⚪ No change larger than 1.0 % in 1 case\n" in text


def test_what_is_hardly_known_is_not_summed_up_by_its_worst(found, tmp_path):
    """One wide interval says little of the others."""
    (case, same), *_ = [row for row in found.changes.items() if row[1].verdict is Verdict.UNCHANGED]
    wide = replace(same, verdict=Verdict.INCONCLUSIVE, interval=(0.4, 2.4))
    others = {replace(case, suite=f"copies.S{number}.time_copy"): same for number in range(2)}
    text = said(left_behind(tmp_path / "out", document(outcome(replace(found, changes={case: wide, **others})))))
    assert "### ⚪ No change is seen in 3 cases, half of which cannot have changed by more than 1.0 %\n" in text


def test_a_side_that_failed_is_not_fast(tmp_path):
    """It is named, with what it said."""
    line = "tensorcopy: asv run failed: got ModuleNotFoundError: No module named 'tensercopy'"
    text = said(left_behind(tmp_path / "out", document(outcome(None, head=[line]))))
    assert "### ⚠️ base 11111111 and head ffffffff could not be compared" in text
    assert "**⚠️ head ffffffff failed**" in text
    assert f"- `{line}`" in text
    assert "faster" not in text


def test_a_change_that_fell_is_told_as_fallen(found, tmp_path):
    """Not as a change, and not as nothing."""
    fallen = {case: retest._fallen(replace(change, confirmed=(1, 2))) for case, change in found.changes.items() if change.confirmed}
    text = said(left_behind(tmp_path / "out", document(outcome(replace(found, changes=fallen)))))
    assert "inconclusive: between 23.8 and 26.2 % slower, which did not hold when measured again; held in 1 of 2" in text


def poisoned(value, path=()):
    """A document with each of its texts poisoned in turn."""
    if isinstance(value, str):
        yield path, EVIL
    for key, part in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from poisoned(part, (*path, key))
    if isinstance(value, dict):
        yield (*path, EVIL), EVIL


def test_no_text_of_an_artifact_does_anything(found, tmp_path):
    """Each of its texts, and each place where there could be one, poisoned in turn: no link, image, heading, mention or marker comes of it,
    and no control of a terminal.
    """
    whole = document(outcome(replace(found, changes=dict(list(found.changes.items())[-2:])), head=["a line"]))
    seen = set()
    for path, evil in poisoned(whole):
        spoilt = json.loads(json.dumps(whole))
        place = spoilt
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = evil
        text = said(left_behind(tmp_path / "out", spoilt))
        seen.add("cannot be shown" in text)
        assert text.startswith(f"{pr_comment.MARKER}\n\n<!-- tensorcopy: cpu -->\n### ")
        assert text.count("<!--") == 3
        assert all(character.isprintable() or character == "\n" for character in text)
        tokens = [inner for token in MarkdownIt("gfm-like", {"linkify": False}).parse(text) for inner in (token, *(token.children or ()))]
        kinds = [token.type for token in tokens if token.type not in ("html_block", "html_inline")]
        assert "image" not in kinds
        links = [token.attrGet("href") for token in tokens if token.type == "link_open"]
        assert set(links) <= {RUN}
        assert [token.content for token in tokens if token.type == "html_inline"] in ([], ["<sub>", "</sub>"])
        plain = " ".join(token.content for token in tokens if token.type == "text")
        assert "@m" not in plain
        assert "#1" not in plain
        assert kinds.count("heading_open") <= 2
    assert seen == {True, False}  # some are not shown at all, some are shown as text


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{" * 100_000, "is no JSON"),
        ('{"version": NaN}', "is no JSON"),
        ("[1]", "is not as comparison.schema.json has it"),
        ('{"pull_request": 7}', "is not as comparison.schema.json has it"),
        ("\x00\xff", "is no JSON"),
    ],
    ids=["deep", "no number", "a list", "a number of its own", "no text"],
)
def test_what_is_no_comparison_is_not_shown(tmp_path, content, why):
    """And that is said, with the way to the run."""
    text = said(left_behind(tmp_path / "out", content))
    assert f"### ⚠️ The measurement on cpu cannot be shown\n\nIts file {why}. [All of it]({RUN})" in text


def test_ten_megabytes_are_not_read(found, tmp_path):
    """Nor more rows than suites could have."""
    whole = document(outcome(found))
    rows = whole["contests"][0]["comparison"]["changes"]
    rows += rows * 20_000
    assert "Its file has " in said(left_behind(tmp_path / "large", whole))
    del rows[5001:]
    for row in rows:
        row["reason"] = ""
    assert "is not as comparison.schema.json has it" in said(left_behind(tmp_path / "many", whole))
    del rows[1500:]
    text = said(left_behind(tmp_path / "some", whole))
    assert "Cut here: " in text
    assert len(text) < 65_536 / 2
    assert text.count("<details>") == text.count("</details>")


def test_a_link_out_of_the_folder_is_not_followed(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "comparison.json").symlink_to(ROOT / "asv.conf.json")
    assert "Its file is no file" in said(tmp_path / "out")


def test_no_artifact_is_said():
    assert "### ⚠️ Nothing was measured on cpu" in said(ROOT / "no such folder")


def test_two_devices_share_a_comment_and_each_replaces_its_own(found, tmp_path):
    """Whichever comes first."""
    cpu = left_behind(tmp_path / "one" / "comparison-cpu", document(outcome(found))).parent
    cuda = left_behind(tmp_path / "two" / "comparison-cuda", document(outcome(None), device="cuda")).parent
    first = said(cpu)
    both = said(cuda, "cuda", first)
    assert both.startswith(first)
    assert "<!-- tensorcopy: cuda -->\n### ⚠️ base" in both
    assert said(cpu, "cpu", both) == both
    assert said(cpu, "cpu", said(cuda, "cuda")) == both
    assert "<!-- tensorcopy: cuda -->\n### ⚠️ The measurement on cuda cannot be shown" in said(cpu, "cuda", both)


def test_what_is_written_is_what_is_read(found):
    """The schema has everything that a real comparison says."""
    for one in (outcome(found), outcome(found, kind="release"), outcome(None, base=["a"], head=["b"])):
        assert list(pr_comment._validator().iter_errors(json.loads(json.dumps(document(one))))) == []


@pytest.mark.parametrize(
    ("held", "failures", "code"),
    [((2, 2), {}, 1), ((2, 2), {"head": ["a case failed"]}, 1), (None, {}, 0), (None, {"head": ["a case failed"]}, 2)],
    ids=["slower", "slower, and one failed", "not confirmed", "failed"],
)
def test_only_a_slowdown_that_held_fails_the_check(found, held, failures, code):
    """And a side that failed, and nothing at all: that is no success."""
    changes = {case: replace(change, confirmed=held) for case, change in found.changes.items()}
    assert pull_request.exit_code([outcome(replace(found, changes=changes), **failures)]) == code
    assert pull_request.exit_code([]) == 3
    assert pull_request.exit_code([outcome(None)]) == 3
