"""What is published of the shipped results follows from their launch files, by other means than the program's."""

import csv
import json
from collections import Counter
from functools import cache

import pytest

from tests.conftest import ROOT, SHIPPED, SHIPPED_GPU
from tests.recomputed import History, is_compared, name_of, releases

pytestmark = pytest.mark.slow

# with the folders of their JSON
NAMES = {SHIPPED.name: "cpu", f"{SHIPPED.name}-py3.9": f"cpu-{SHIPPED.name}-py3.9", SHIPPED_GPU.name: "cuda"}
WORDS = ("slower", "faster", "unchanged", "unknown")


@cache
def of_files(name):
    """Return by release and case the time, and the ratio, the ends of its interval and the verdict against the release before it.

    That is the newest earlier release of the history's own environment that met it.
    """
    own, order = History(ROOT / "results" / name), [*releases()]
    environments = Counter(place[1] for place in own.places)
    places = sorted((each for each in own.places if each[1] == environments.most_common(1)[0][0]), key=lambda each: order.index(each[0]))
    found = {}
    for case in (case for case in own.logs if is_compared(case[0])):
        measured = [place for place in places if (place, case) in own.times]
        for index, place in enumerate(measured):
            earlier = next((each for each in reversed(measured[:index]) if case in own.compared(each, place)), None)
            judged = own.compared(earlier, place)[case] if earlier else None
            numbers = (judged.ratio, *judged.interval) if judged and judged.interval else ()
            found[releases()[place[0]], name_of(case)] = own.times[place, case], numbers, judged.verdict if judged else ""
    return found


def rows(site, name):
    with (site / "data" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return {(row["torch"], row["case"]): row for row in csv.DictReader(file)}


def differences(expected, printed):
    """Return the releases and cases of which another number or verdict is printed."""
    return [
        key
        for key, (seconds, numbers, verdict) in expected.items()
        if (row := printed.get(key)) is None
        or float(row["value"]) != pytest.approx(seconds, rel=1e-4)
        or [float(row[end]) for end in ("ratio", "low", "high") if row[end]] != pytest.approx(numbers, rel=1e-4)
        or row["verdict"] != verdict
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_number_follows_from_the_launches(published_site, name):
    """Times, changes, the ends of their intervals and verdicts in the CSV; the JSON of each method has the same."""
    expected, printed = of_files(name), rows(published_site, name)
    assert differences(expected, printed) == []
    checked = Counter(verdict for _, _, verdict in expected.values())
    assert checked.total() > 100
    assert {"unchanged"} <= set(checked) <= {*WORDS, ""}
    again = {}
    for path in (published_site / "data" / NAMES[name]).glob("*.json"):
        for case, of_case in json.loads(path.read_text(encoding="utf-8")).items():
            fields = [field for field in of_case if field != "unit"]
            again |= {(row[0], case): dict(zip(fields, row)) for row in zip(*(of_case[field] for field in fields))}
    assert again.keys() == printed.keys()
    for key, row in again.items():
        fields = [field for field in ("value", "ratio", "low", "high") if row.get(field) is not None]
        assert [float(printed[key][field]) for field in fields] == pytest.approx([row[field] for field in fields], rel=1e-4), key
