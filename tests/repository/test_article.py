"""docs/article.md: what stands beside the printed values."""

from dataclasses import replace

from docs.tools import article
from tensorcopy.copying.shipped import shipped
from tensorcopy.site import facts


def test_a_value_that_differs_stands_beside_the_printed_one(shipped_results):
    """With its release and its device; the score counts it, and the values beside it are the same."""
    other = ["detach: w is 1.0, printed 2.0"]

    def changed(history):
        *others, newest = history.results
        differing = replace(newest, article={"cpu": {"statements": 99, "hold": 98, "fail": other}})
        return replace(history, results=(*others, differing)) if history.name == "epyc-2core" else history

    site = facts.site(shipped(), map(changed, shipped_results.histories))
    table = article.values("detach", site)
    assert "| `w, z` | `2.0, 2.0` | `w` is `1.0` with torch 2.15.0 | same |" in table.splitlines()
    assert table.count("same") == 3
    newer, older, _ = article.score(site).splitlines()
    assert "99 of 99 printed values are the same with " in newer
    assert "98 of 99 printed values are the same with torch 2.15.0" in newer
    assert "98" not in older


def test_values_of_other_hardware_stand_in_no_column(shipped_results):
    """A column is of one processor: a history on another one is left out, also where it has releases that no other has."""

    def moved(history):
        results = tuple(replace(each, provenance={**each.provenance, "cpu": "Another"}) for each in history.results)
        return replace(history, results=results) if history.name == "epyc-2core-py3.9" else history

    assert "py3.9" not in article.score(facts.site(shipped(), map(moved, shipped_results.histories)))
