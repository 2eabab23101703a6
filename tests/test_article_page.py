"""The page of the article's questions: every statement agrees with the results, in both languages."""

from __future__ import annotations

import csv
import re
from io import StringIO

import pytest

from tensorcopy.analysis.comparisons import version
from tensorcopy.report.numbers import duration
from tensorcopy.results.passes import Case
from tensorcopy.site import render
from tensorcopy.site.pages import article
from tensorcopy.site.pages.article import statements, sweeps
from tensorcopy.site.pages.semantics import result_by_release
from tensorcopy.site.translate import translator
from tensorcopy.worker.probes import article_claims
from tests.conftest import NEW, OLD, SEEN, measured


@pytest.fixture(scope="module")
def content(shipped_results):
    return render.content(
        [result for result in shipped_results.results if result.path.name.startswith(("d69c22dd", "a8e7c98c", "d0f2af8b"))]
    )


@pytest.fixture(scope="module")
def site(content) -> dict[str, str]:
    templates = render.templates_of(content)
    return {
        page.address: page.text if page.address.endswith("csv") else render.page_text(templates, page) for page in article.pages(content)
    }


def test_every_value_that_the_article_prints_belongs_to_a_question():
    """The names of the checked sections are those of the worker."""
    claimed = [name for section in statements.table() for name in section.get("claims", ())]
    assert set(claimed) == {section.__name__ for section in article_claims.SECTIONS}


def test_every_statement_was_observed_on_every_shipped_release(shipped_results):
    """The page says so, and a release that differs would be named."""
    results = result_by_release(render.content(shipped_results.results).machine)
    sections = statements.sections(results, "en")
    rows = [statement for section in sections for statement in section.statements]
    assert len(rows) > 30
    assert [row.text for row in rows if not row.holds] == []
    first, last = version(results[0]), version(results[-1])
    assert {str(row.releases) for row in rows} == {f"all {len(results)} releases, {first} to {last}"}


def test_a_release_that_differs_is_named():
    """Both a method's behaviour and a value that the article prints."""
    old, new = measured(OLD, {("detach", 16): 1e-6}), measured(NEW, {("detach", 16): 1e-6})
    for result, shares in ((old, True), (new, False)):
        outcome = {**SEEN, "shares_storage": shares}
        result.methods["detach"]["observed"] = {"cpu": {"plain": outcome, "with_grad": outcome}}
    new.article["cpu"]["fail"] = ["detach: z.grad is 1, printed None"]
    (section,) = [section for section in statements.sections([old, new], "en") if section.name == "detach"]
    shared, cut, *_, printed = section.statements
    assert (shared.holds, str(shared.releases)) == (False, "1 of 2 releases; not 2.0.0")
    assert (printed.holds, str(printed.releases)) == (False, "1 of 2 releases; not 2.0.0")
    assert (cut.holds, str(cut.releases)) == (True, "all 2 releases, 1.0.0 to 2.0.0")
    (clone,) = [section for section in statements.sections([old, new], "en") if section.name == "clone"]
    assert str(clone.statements[0].releases) == "not observed yet"
    assert not clone.statements[0].holds


def test_both_languages_answer_the_same_questions(site):
    """They have the same sections, statements and pictures."""
    for pattern in (r'<h2 id="(.*?)"', r'<li class="(holds|fails)"', "<svg", r"<td[^>]*>([\d.]+ [nµm]s)</td>"):
        assert re.findall(pattern, site["article.html"]) == re.findall(pattern, site["ja/article.html"])
    text = re.sub(r"<(code|pre|small)[^>]*>.*?</\1>|<.*?>", "", site["ja/article.html"].split("<main")[1], flags=re.DOTALL)
    assert len(re.findall("[ぁ-んァ-ン一-龥]", text)) > 1500


def test_the_pictures_show_the_newest_release_and_torch_1_9(site):
    """Their times are in the table beside them and in the CSV."""
    assert re.findall(r"<figcaption>torch (\S+)", site["article.html"]) == ["2.15.0", "1.9.0"] * 2
    rows = list(csv.DictReader(StringIO(site["article.csv"])))
    assert {row["torch"] for row in rows} == {"2.15.0", "1.9.0"}
    times = re.findall(r"<td>([\d.]+ [nµm]s)</td>", site["article.html"])
    assert sorted(times) == sorted(duration(float(row["median"])) for row in rows)


def test_the_article_s_own_sizes_are_preferred(monkeypatch):
    """Where a release has them, they are drawn; where it has not, the page says which sizes are."""
    old, new = measured(OLD, {("detach_clone", 16): 1e-6}), measured(NEW, {("detach_clone", 16): 1e-6, ("tensor", 16): 2e-6})
    timing = next(iter(new.timings.values()))
    for numel in (1, 2**14, 2**15):
        new.timings[Case(sweeps.GRID["copy"], (("method", "detach_clone"), ("numel", str(numel))))] = timing
    monkeypatch.setattr("tensorcopy.releases.release_table.load", lambda: (OLD, NEW))
    content = render.content([old, new])
    newest, oldest = sweeps.of_machine(content.machine, "copy")
    assert (newest.own_grid, newest.numels) == (True, [1, 2**14])
    assert (oldest.own_grid, oldest.numels) == (False, [16])


def test_the_standing_of_a_method_is_its_time_over_the_fastest(monkeypatch):
    """At each size the fastest has a multiple of 1."""
    monkeypatch.setattr("tensorcopy.releases.release_table.load", lambda: (NEW,))
    times = {("detach_clone", 16): 1e-6, ("tensor", 16): 2e-6, ("detach_clone", 32): 1e-6, ("tensor", 32): 3e-6}
    content = render.content([measured(NEW, times)])
    (sweep,) = sweeps.of_machine(content.machine, "copy")
    fast, slow = sweeps.standing(sweep)
    assert (fast.method, fast.fastest, fast.sizes) == ("detach_clone", 2, 2)
    assert (slow.fastest, slow.low, slow.high) == (0, pytest.approx(2), pytest.approx(3))
    assert "tensor" not in sweeps.fastest(sweep, [fast, slow], content.machine, translator("en"))


def test_the_open_question_is_answered_with_the_counted_bytes(content, site):
    """They are those of the newest result."""
    counted = {
        method: content.machine.result.counts[Case("memory.Counted.track_peak", (("method", method), ("numel", str(2**20))))]
        for method in ("detach_clone_numpy", "detach_numpy_copy")
    }
    assert counted == {"detach_clone_numpy": 2**22, "detach_numpy_copy": 0}
    text = re.sub("<.*?>", "", site["article.html"])
    assert "x.detach().clone().cpu().numpy() takes 4 MiB there and x.detach().cpu().numpy().copy() takes 0 B (counted" in text


def test_a_site_without_results_asks_the_questions_too():
    """It explains how to measure."""
    empty = dict(render.files(render.content(())))
    assert "Nothing is measured yet" in empty["article.html"]
    assert "article.csv" not in empty
