"""The comment under a pull request has only our own sentences."""

import json
import os
import re
from dataclasses import replace
from functools import partial

import msgspec
import pytest
from markdown_it import MarkdownIt

from tensorcopy import files
from tensorcopy.ci import pr_comment, pull_request
from tensorcopy.ci.pull_request import PullRequest, RevisionPair
from tensorcopy.copying.inside.methods import METHODS
from tensorcopy.judge import comparisons, paired
from tensorcopy.judge.comparisons import Question
from tensorcopy.judge.paired import Change, Reason, Verdict
from tensorcopy.measure import revisions
from tensorcopy.releases import release_table
from tensorcopy.report import comparison as reports
from tensorcopy.report import table
from tensorcopy.results.kinds import TRACKED
from tests import launch_files
from tests.conftest import ROOT, assert_golden
from tests.report.test_table import ENTITIES

BASE, HEAD = "1" * 40, "f" * 40
OLD, NEW = release_table.load().find("2.14.1"), release_table.load().find("2.15.0")
REFUSED = "### ⚠️ The measurement on cpu cannot be shown\n\nThis tensorcopy writes no such comparison.json for it. [Workflow run]("
RUN = "https://github.com/someone/tensorcopy/actions/runs/1"
EVIL = "](http://evil.example) <img src=x onerror=alert(1)> @maintainer #1 `x` | \n# Approved \x1b[31m\x07 <!-- /tensorcopy: cpu --> \u202e"


@pytest.fixture
def comparison(tmp_path):
    """Return a comparison: one slower, one faster, one unchanged, one failed after."""
    sides = f"{NEW.version}#base", f"{NEW.version}#head"
    times = {"new_tensor": (2.0, 2.5), "clone_detach": (1.4, 1.2), "detach_clone": (1.1, 1.1), "tensor": (1.5, "KeyError: 3")}
    cases = {f"copies.BySize.time_copy {method} 16": dict(zip(sides, pair)) for method, pair in times.items()}
    launch_files.write(tmp_path, cases, launches=8)
    before, after = launch_files.load(tmp_path, *sides)
    after = replace(after, methods={method: {"code": METHODS[method].code} for method in times})
    return replace(comparisons.between(Question(before, after)), labels=("base", "head"))


def pair_result(comparison, *, of_releases=False, **failures):
    first, old = (HEAD, OLD) if of_releases else (BASE, NEW)
    before, after = (
        revisions.Revision(release, "3.11", commit=sha, name=name) for name, sha, release in (("base", first, old), ("head", HEAD, NEW))
    )
    return RevisionPair(before, after, comparison, failures)


def document(*results, device="cpu"):
    return msgspec.to_builtins(pull_request.document(PullRequest(BASE, HEAD, 8, device=device), results))


def artifact(folder, document, name="comparison.json"):
    """Write a comparison.json as a workflow run leaves it, and return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    text = document if isinstance(document, str) else json.dumps(document)
    (folder / name).write_text(text, encoding="utf-8")
    return folder


def comment(folder, device="cpu", before="") -> str:
    return pr_comment.body(device, pr_comment.section(folder, RUN, device), before)


def test_the_comment_is_read_in_five_seconds(comparison, tmp_path):
    """Slowdowns and failures are in the first line, how it was measured in the last; a case is named by its code."""
    assert_golden("comment.md", comment(artifact(tmp_path / "out", document(pair_result(comparison)))))


def test_a_new_release_is_compared_with_the_previous_one(comparison, tmp_path):
    text = comment(artifact(tmp_path / "out", document(pair_result(comparison, of_releases=True))))
    assert "\ntorch 2.15.0 against torch 2.14.1 on Box 9000, Python 3.11.\n" in text


def test_an_accepted_slowdown_is_shown_with_its_reason(comparison, tmp_path):
    """Which the pull request may have written, so it stays text; it is not what a reader has to look at, and not the title's symbol."""
    case, change = next((case, change) for case, change in comparison.changes.items() if change.verdict is Verdict.SLOWER)
    known = replace(comparison, changes={case: replace(change, accepted="a check `@x`, pytorch#1")})
    text = comment(artifact(tmp_path / "out", document(pair_result(known, of_releases=True))))
    assert "| accepted: a check &#96;@&#8203;x&#96;, pytorch\\#&#8203;1 |" in text
    assert "🔴" not in text


def test_a_revision_that_failed_is_named_with_its_error(tmp_path):
    """It does not count as faster."""
    line = "tensorcopy: asv run failed: got ModuleNotFoundError: No module named 'tensercopy'"
    text = comment(artifact(tmp_path / "out", document(pair_result(None, head=[line]))))
    assert "### ⚠️ base 11111111 and head ffffffff could not be compared" in text
    assert "**⚠️ head ffffffff failed**" in text
    assert f"- `{line}`" in text
    assert "faster" not in text


def test_every_reason_has_the_same_text_as_in_the_terminal(comparison, tmp_path):
    """Except for the fields that differ and what was raised: they are text."""
    case = next(iter(comparison.changes))
    numbers = {
        "launches": (2, 4),
        "more_launches": 7,
        "failure": "KeyError: 3",
    }
    for reason in set(Reason) - {Reason.COUNT_CHANGED, Reason.COUNT_UNCHANGED}:  # nothing is counted for a pull request
        verdict = {Reason.CHANGED: Verdict.SLOWER, Reason.WITHIN_MARGIN: Verdict.UNCHANGED}.get(reason, Verdict.UNKNOWN)
        of_reason = {"ratio": 1.01, "interval": (0.99, 1.02)} if reason is Reason.WITHIN_MARGIN else {"ratio": 1.25, "interval": (1.2, 1.3)}
        tested = of_reason if reason in pr_comment.TESTED else {}
        change = Change(verdict, reason, **numbers, **tested)
        text = comment(artifact(tmp_path / "out", document(pair_result(replace(comparison, changes={case: change})))))
        shown = reports.note(replace(change, failure=""))
        assert f"{table.escaped(shown)} |" in text if shown else "more launches" not in text


CONTRADICTIONS = {
    "an interval with 1": {"interval": [0.9, 1.3]},
    "outside its interval": {"ratio": 1.5},
    "no interval": {"interval": None},
    "no ratio": {"ratio": None},
    "reason": {"reason": "too_few_launches"},
    "beyond the margin": {"reason": "within_margin"},
    "a count": {"unit": "instructions", "interval": None},
    "an accepted speedup": {"ratio": 0.8, "interval": [0.7, 0.9], "accepted": "known"},
}


@pytest.mark.parametrize("fields", CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_a_change_that_contradicts_itself_is_not_shown(comparison, tmp_path, fields):
    """Nor is anything else of its file."""
    contradiction = json.loads(json.dumps(document(pair_result(comparison))))
    contradiction["pairs"][0]["rows"][0].update(fields)
    assert REFUSED in comment(artifact(tmp_path / "out", contradiction))


def test_the_verdict_follows_from_the_numbers(comparison, tmp_path):
    """The file has none, so that it cannot call a slowdown a speedup."""
    whole = document(pair_result(comparison))
    row = whole["pairs"][0]["rows"][0]
    row["ratio"], row["interval"] = 0.8, [0.7, 0.9]
    text = comment(artifact(tmp_path / "out", whole))
    assert f"| 🟢 `{row['case']}` | 2.00&nbsp;µs | 2.49&nbsp;µs | −20.0&nbsp;% | −30.0 to −10.0&nbsp;% |" in text


@pytest.mark.parametrize(
    "content",
    ["{" * 100_000, '{"a": ' * 100_000, '{"version": NaN}', "[1]", '{"pull_request": 7}', "\x00\xff"],
    ids=["braces", "deep", "NaN", "a list", "another object", "binary"],
)
def test_an_invalid_file_is_not_shown(tmp_path, content):
    """The comment links to the run."""
    assert REFUSED in comment(artifact(tmp_path / "out", content))


def test_a_large_file_is_not_read(comparison, tmp_path):
    """Nor one with more rows than the suites could have; a long comment is cut."""
    whole = document(pair_result(comparison))
    assert REFUSED in comment(artifact(tmp_path / "large", " " * files.LARGEST + json.dumps(whole)))
    rows = whole["pairs"][0]["rows"]
    rows += rows * 1_500
    del rows[5001:]
    assert REFUSED in comment(artifact(tmp_path / "many", whole))
    del rows[1500:]
    text = comment(artifact(tmp_path / "some", whole))
    assert re.search(r"Cut here: [\d,]+ more characters; the JSON has everything\.", text)
    assert len(text) < 65_536 / 2
    assert text.count("<details>") == text.count("</details>")


@pytest.mark.parametrize("target", ["/proc/self/environ", "/dev/zero", "comparison.json", ".", "/nowhere"])
def test_a_link_shows_nothing_of_the_machine_that_comments(tmp_path, target):
    """Only what the classes describe is shown, wherever it lies, and no more is read than they may need."""
    (tmp_path / "comparison.json").symlink_to(target)
    text = comment(tmp_path)
    assert REFUSED in text or "Nothing was measured on cpu" in text


def test_a_pipe_is_not_read(tmp_path):
    """It has no end."""
    os.mkfifo(tmp_path / "comparison.json")
    assert REFUSED in comment(tmp_path)


NUMBERS = ("5e-324", "-5e-324", "1e-300", "1e308", "1e999", "-1", "0", "-0.0", "0.5", "1e9", "9" * 400, "9" * 5000)
OTHERS = ("true", "null", '"1"', "[]", "{}")
TEXTS = (EVIL, *ENTITIES, "", "x" * 100_000, "\ud800", "\0", "<!-- /tensorcopy: cpu -->", "```", "| --- |", "www.a.b", "http://a.b")
PLACE = "a place for a number"


def places(value, path=()):
    """Yield the path of each value in a document, containers too."""
    yield path
    for key, part in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(part, (*path, key))


def changed(whole, path, value, number=""):
    """Return the text of a document with a value at one place; number : what JSON calls a number there, instead of `PLACE`."""
    copy = json.loads(json.dumps(whole))
    target = copy
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    return json.dumps(copy).replace(f'"{PLACE}"', number)


def artifacts(whole):
    """Yield what makes a document with each hostile value at each place."""
    for path in filter(None, places(whole)):
        yield from (partial(changed, whole, path, PLACE, number) for number in (*NUMBERS, *OTHERS))
        yield from (partial(changed, whole, path, value) for value in (*TEXTS, [[[[{"a": [EVIL]}]]]]))
        yield partial(changed, whole, *(((*path[:-1], EVIL), EVIL) if isinstance(path[-1], str) else (path, {EVIL: EVIL})))


def assert_harmless(text):
    """No fault, and nothing that GitHub would make a link, a mention, a reference, HTML or the end of a part of."""
    assert text.startswith(f"{pr_comment.MARKER}\n\n<!-- tensorcopy: cpu -->\n### ")
    assert text.count("<!--") == 3
    assert all(character.isprintable() or character == "\n" for character in text)
    assert len(text) < 65_536
    assert not re.search(r"\b(inf|nan)\b", text)
    tokens = [inner for token in MarkdownIt("gfm-like", {"linkify": False}).parse(text) for inner in (token, *(token.children or ()))]
    assert {token.attrGet("href") for token in tokens if token.type == "link_open"} <= {RUN}
    assert not [token for token in tokens if token.type == "image"]
    assert [token.content for token in tokens if token.type == "html_inline"] in ([], ["<sub>", "</sub>"])
    assert sum(token.type == "heading_open" for token in tokens) <= 2
    plain = " ".join(token.content for token in tokens if token.type == "text")
    assert not re.search(r"@\w|#\d|\bGH-\d|https?://|www\.\w", plain), plain


@pytest.mark.parametrize(
    "part",
    [pytest.param(slice(0, None, 31), id="some"), pytest.param(slice(None), id="all", marks=pytest.mark.weekly)],
)
def test_no_value_of_an_artifact_breaks_the_comment(comparison, tmp_path, part):
    """Each number, text and container at each place of a file."""
    two_cases = replace(comparison, changes=dict(list(comparison.changes.items())[-2:]))
    whole = document(pair_result(two_cases, of_releases=True, head=["a line"]))
    texts = [make() for make in list(artifacts(whole))[part]]
    assert len(texts) > (1350 if part == slice(None) else 40)
    shown = [comment(artifact(tmp_path / str(number % 2), text)) for number, text in enumerate(texts)]
    for text in shown:
        assert_harmless(text)
    assert {"cannot be shown" in text for text in shown} == {True, False}


def test_a_missing_artifact_is_reported():
    assert "### ⚠️ Nothing was measured on cpu" in comment(ROOT / "no such folder")


def test_two_devices_share_a_comment_and_each_replaces_its_own_section(comparison, tmp_path):
    """In either order."""
    cpu = artifact(tmp_path / "one" / "comparison-cpu", document(pair_result(comparison))).parent
    cuda = artifact(tmp_path / "two" / "comparison-cuda", document(pair_result(None), device="cuda")).parent
    first = comment(cpu)
    both = comment(cuda, "cuda", first)
    assert both.startswith(first)
    assert "<!-- tensorcopy: cuda -->\n### ⚠️ base" in both
    assert comment(cpu, "cpu", both) == both
    assert comment(cpu, "cpu", comment(cuda, "cuda")) == both
    assert "<!-- tensorcopy: cuda -->\n### ⚠️ The measurement on cuda cannot be shown" in comment(cpu, "cuda", both)


def test_a_base_that_runs_its_own_suites_says_so(tmp_path, comparison):
    """A benchmark that head has changed is in another version then, and neither compared nor undecided."""
    changes = {case: Change(Verdict.UNKNOWN, Reason.OTHER_VERSION) for case in [*comparison.changes][:1]}
    pair = pair_result(replace(comparison, changes={**comparison.changes, **changes}))
    pair = replace(pair, note="base runs its own suites: they cannot be imported")
    text = comment(artifact(tmp_path / "artifact", document(pair)))
    assert "runs its own: a benchmark that head has changed is not compared" in text
    assert re.search(r"^\| `.*` \| in another version of the benchmark \|$", text, re.MULTILINE)
    assert "1 in another version of the benchmark" in text.splitlines()[5]
    assert "runs its own" not in comment(artifact(tmp_path / "other", document(pair_result(comparison))))


@pytest.mark.parametrize(
    ("verdict", "failures", "code"),
    [
        (Verdict.SLOWER, {}, 1),
        (Verdict.SLOWER, {"head": ["a case failed"]}, 1),
        (Verdict.FASTER, {}, 0),
        (Verdict.UNKNOWN, {"head": ["a case failed"]}, 2),
        (Verdict.UNCHANGED, {"base": ["a case failed"]}, 0),
    ],
    ids=["slower", "slower and failed", "faster", "failed", "failed in base alone"],
)
def test_only_a_slowdown_fails_the_check(comparison, verdict, failures, code):
    """And a failed revision, and a pair that was not compared."""
    changes = {case: replace(change, verdict=verdict) for case, change in comparison.changes.items()}
    assert pull_request.exit_code([pair_result(replace(comparison, changes=changes), **failures)]) == code
    assert pull_request.exit_code([pair_result(None)]) == 3
    assert pull_request.exit_code([pair_result(None, base=["no torch"])]) == 2
    assert pull_request.exit_code([]) == 0  # nothing that is measured changed


def test_a_tracked_value_is_higher_or_lower_with_its_unit(comparison, tmp_path):
    """As it was declared, and an undecided one beside the interval of its difference, as in the terminal."""
    case = next(iter(comparison.changes))
    undecided = paired.of_values({case: ("GB/s", [2.4, 2.5, 2.6], [2.5, 2.6, 2.7])})
    artifact(tmp_path / "undecided", document(pair_result(replace(comparison, changes=undecided))))
    assert "| likely higher |" not in comment(tmp_path / "undecided")
    assert f"| {reports.interval(undecided[case])} | varies between launches |" in comment(tmp_path / "undecided")
    value = Change(Verdict.HIGHER, Reason.COUNT_CHANGED, before=2.5, after=3.5, unit="GB/s", kind=TRACKED, launches=(3, 3))
    artifact(tmp_path / "out", document(pair_result(replace(comparison, changes={case: value}))))
    assert re.search(
        r"### 1 of 1 case higher, none lower\n(.*\n)*\| `.*` \| 2\.5 GB/s \| 3\.5 GB/s \| \+1 GB/s \|", comment(tmp_path / "out")
    )
