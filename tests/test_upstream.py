"""An issue for PyTorch's tracker reports only what the results show, in the order of the tracker's form."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from tensorcopy import cli
from tensorcopy.analysis.two_sample import Reason, Verdict
from tensorcopy.errors import TensorcopyError
from tensorcopy.report.why import cause, reproduction, upstream
from tensorcopy.results import confirmations, select
from tensorcopy.results.confirmations import Confirmation, RepeatOutcome

RESULTS = cause.RESULTS  # as the command reads them, so that they are read once
HISTORY = "https://example.org/history/cpu-1.html"


@pytest.fixture(scope="module")
def pair():
    return select.pair("2.9.1", "2.10.0", RESULTS)


@pytest.fixture(scope="module")
def explained(pair):
    return cause.of_pair(pair, "cpu")


@pytest.fixture(scope="module")
def report(pair, explained):
    return upstream.slowdown(explained, pair.beside, {}, HISTORY)


def confirmation(explained, outcome: RepeatOutcome) -> Confirmation:
    """Return a repeat measurement of a case's step."""
    before, after, change = explained.before, explained.after, explained.time
    return Confirmation(
        machine=after.machine,
        case=explained.case,
        version="1",
        before="2.9.1",
        after="2.10.0",
        sha_before=before.sha,
        sha_after=after.sha,
        python=after.python,
        build=after.series_key.build,
        identity=after.series_key.identity,
        expected=change.ratio,
        ratio=change.ratio,
        interval=change.interval,
        passes=8,
        passes_before=(),
        passes_after=(),
        outcome=outcome,
        started="2026-11-22T00:00:00+00:00",
    )


def test_the_issue_has_the_fields_of_the_form_in_order(report):
    """Title, description and versions, as blocks that render."""
    tokens = MarkdownIt("commonmark").enable("table").parse(upstream.issue(report))
    headings = [following.content for token, following in zip(tokens, tokens[1:]) if token.type == "heading_open"]
    assert headings == [upstream.title(report), "🐛 Describe the bug", "Which functions", "To reproduce", "Versions"]
    assert sum(token.type == "table_open" for token in tokens) == 2
    assert [token.info for token in tokens if token.type == "fence"] == ["python", "sh", ""]


def test_the_title_has_the_counted_and_the_measured_change(report, explained):
    percents = [f"{100 * (ratio - 1):.0f} %" for ratio in (report.count.ratio, explained.time.ratio)]
    assert upstream.title(report) == f"`x.cpu()` takes {percents[0]} more instructions since torch 2.10.0, and is {percents[1]} slower"


def test_the_table_has_every_release_from_before_the_change_on(report, pair):
    text = upstream.issue(report)
    rows = re.findall(r"^\| (\d+\.\d+\.\d+) \| \[(\w{10})\]\(\S+/commit/\2\w{30}\) \| (\d+ ns) \| ([\d\u2009]+) \|$", text, re.MULTILINE)
    assert [row[0] for row in rows][:3] == ["2.8.0", "2.9.1", "2.10.0"]
    assert rows[-1][0] == "2.15.0"
    counted = {row[0]: float(row[3].replace("\u2009", "")) for row in rows}
    assert (counted["2.9.1"], counted["2.10.0"]) == (pytest.approx(report.count.before, abs=1), pytest.approx(report.count.after, abs=1))


def test_the_issue_has_script_and_links(report, explained, pair):
    """The script is that of `repro`; the commits and the history are one click away."""
    text = upstream.issue(report)
    assert reproduction.script(explained) in text
    assert f"/compare/{pair.before.sha}...{pair.after.sha}\n" in text
    assert HISTORY in text
    assert "History" not in upstream.issue(replace(report, history=""))


def test_versions_are_named_as_collect_env_names_them(report):
    lines = upstream.environment(report.cause.after).splitlines()
    assert lines[0] == f"PyTorch version: {report.cause.after.provenance['torch']}"
    assert "Python version: 3.11.7" in lines
    assert "[pip3] numpy==1.26.4" in lines


def test_a_time_is_slower_only_where_the_clock_shows_it(pair, explained):
    """A verdict that the count decides does not make the time slower."""
    by_count = replace(explained, time=replace(explained.time, verdict=Verdict.SLOWER, reason=Reason.COUNT_CHANGED))
    report = upstream.slowdown(by_count, pair.beside, {})
    assert upstream.title(report).endswith("more instructions since torch 2.10.0")
    assert "the change is inconclusive" in upstream.issue(report)


def test_a_title_without_numbers_is_a_sentence(report):
    """A repeat measurement shows a change of the history that two releases alone do not."""
    equal = replace(report.count, after=report.count.before)
    assert upstream.title(replace(report, count=equal, is_slower=False)) == "`x.cpu()` is slower since torch 2.10.0"


def test_a_repeat_measurement_is_evidence_for_or_against(pair, explained):
    same = replace(explained.time.count, after=explained.time.count.before)
    uncounted = replace(explained, time=replace(explained.time, count=same))
    with pytest.raises(TensorcopyError, match="nothing to report"):
        upstream.slowdown(replace(uncounted, time=replace(uncounted.time, ratio=1.0)), pair.beside, {})
    held = confirmations.latest([confirmation(explained, RepeatOutcome.HELD)])
    fell = confirmations.latest([confirmation(explained, RepeatOutcome.FELL)])
    assert upstream.slowdown(explained, pair.beside, held).is_slower
    with pytest.raises(TensorcopyError, match="fell when it was measured again"):
        upstream.slowdown(explained, pair.beside, fell)


def test_a_speedup_is_not_reported(capsys):
    """In one line, which says where slowdowns are listed."""
    assert cli.main(["why", "detach", "2.5.1", "2.15.0", "--issue"]) == 2
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    assert "nothing to report" in printed
    assert "tensorcopy compare A B" in printed


@pytest.mark.slow
def test_the_newest_counted_slowdown_is_the_default(tmp_path, capsys):
    path = tmp_path / "issue.md"
    assert cli.main(["why", "cpu", "--issue", "--output", str(path)]) == 0
    assert "https://github.com/pytorch/pytorch/issues/new" in capsys.readouterr().out
    assert path.read_text(encoding="utf-8").startswith("# `x.cpu()` takes ")
    assert cli.main(["why", "cpu", "2.9.1", "--issue"]) == 2
    assert "one release is missing" in capsys.readouterr().err


def test_a_slowdown_that_later_releases_took_back_is_not_reported(capsys):
    """Of several, the newest that is left is."""
    assert cli.main(["why", "detach", "--issue", "--machine", "xeon-2core"]) == 2
    assert "no slowdown in the history of detach that lasts to its newest release" in capsys.readouterr().err
    assert cli.main(["why", "deepcopy", "--issue", "--machine", "xeon-2core"]) == 0
    assert "since torch 2.10.0" in capsys.readouterr().out.splitlines()[0]
