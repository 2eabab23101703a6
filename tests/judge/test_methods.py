"""Methods are compared with the recommended one: slower, faster, as fast, or not told apart."""

import math

import numpy as np
import pytest
from scipy import stats

from tensorcopy.judge.methods import Word, ratios

TABLES = 300


def launches(random, methods, number, factors=(), spread=0.05):
    """Return seconds by method and launch: each launch disturbs all methods together, and each method by itself."""
    own = random.normal(0, spread, (methods, number)) * random.uniform(0.5, 2, (methods, 1))  # some vary more than others
    seconds = 1e-6 * np.exp(own + random.normal(0, 0.2, number))
    return {f"m{place}": list(each * dict(factors).get(place, 1)) for place, each in enumerate(seconds)}


@pytest.mark.parametrize(("methods", "number"), [(3, 3), (6, 3), (6, 30)])
def test_of_equal_methods_few_tables_call_one_slower_or_faster(monkeypatch, methods, number):
    """In 5 % of tables at most, from three launches on, also where differences of less than the margin would count."""
    monkeypatch.setattr(f"{ratios.__module__}.MARGIN", 0.0)
    random = np.random.default_rng(10 * methods + number)
    tables = [ratios(launches(random, methods, number), "m0") for _ in range(TABLES)]
    alarms = [{each.word for each in table.values()} & {Word.SLOWER, Word.FASTER} for table in tables]
    allowed = stats.binom.ppf(0.999, TABLES, 0.05) / TABLES  # by chance once in a thousand
    assert np.mean([bool(words) for words in alarms]) <= allowed
    assert np.mean([Word.SLOWER in words for words in alarms]) <= 0.05


@pytest.mark.parametrize("number", [3, 12])
def test_the_factor_that_would_be_seen_is_seen_nine_times_in_ten(number):
    """It is computed for a known spread, and planted in other tables."""
    random, logs = np.random.default_rng(number), np.linspace(-1, 1, number)
    logs *= 0.1 * math.sqrt(2) / logs.std(ddof=1)  # the spread of a difference of two of them
    found = ratios({"m0": [1e-6] * number, "m1": list(1e-6 * np.exp(logs)), "m2": [1e-6] * number}, "m0")["m1"]
    tables = []
    for _ in range(1000):
        noise = 1e-6 * np.exp(random.normal(0, 0.1, (3, number)))
        tables.append(ratios({"m0": list(noise[0]), "m1": list(noise[1] * found.seen), "m2": list(noise[2])}, "m0")["m1"].word)
    assert 0.88 <= tables.count(Word.SLOWER) / len(tables) <= 0.93  # Holm's second step sees a little more than was promised


def test_no_factor_below_the_margin_is_promised_to_be_seen():
    """Of launches that agree to the digit, a difference is called one from the margin on."""
    exact = ratios({"m0": [1e-6] * 12, "m1": [1.5e-6] * 12}, "m0")["m1"]
    assert 1.03 <= exact.seen < 1.0301


@pytest.mark.parametrize(
    ("logs", "word"),
    [
        ([0.30, 0.31, 0.29, 0.30], Word.SLOWER),
        ([-0.30, -0.31, -0.29, -0.30], Word.FASTER),
        ([0.05, 0.051, 0.049, 0.05], Word.SLOWER),  # a significant 5 %, though the interval is within 10 %
        ([0.025, 0.026, 0.024, 0.025], Word.AS_FAST),  # significant, and less than the margin of 3 %
        ([0.05, -0.05, 0.05, -0.05], Word.AS_FAST),  # its interval ends at 9.6 %
        ([0.00, 0.20, -0.20, 0.00], Word.NOT_TOLD_APART),
        ([0.057, -0.057, 0.057, -0.057], Word.NOT_TOLD_APART),  # its interval ends at 11 %
        ([0.30, 0.31], Word.TOO_FEW_LAUNCHES),
    ],
)
def test_the_word_follows_from_the_differences_within_launches(logs, word):
    """What a launch adds to both methods cancels."""
    disturbed = np.linspace(0, 1, len(logs))
    first, second = (list(1e-6 * np.exp(disturbed + each)) for each in (np.zeros(len(logs)), np.array(logs)))
    found = ratios({"m0": first, "m1": second}, "m0")["m1"]
    assert found.word is word
    assert found.ratio == pytest.approx(math.exp(np.mean(logs)))
    assert found.launches == len(logs)
    if word is Word.TOO_FEW_LAUNCHES:
        assert (found.interval, found.seen) == (None, None)
    else:
        low, high = stats.t.interval(0.95, len(logs) - 1, np.mean(logs), stats.sem(logs))
        assert found.interval == pytest.approx((math.exp(low), math.exp(high)))


def test_a_pair_has_one_interval_whatever_stands_beside_it():
    """The word may depend on the table, since all of its methods share the chance of a false alarm."""
    of_table = launches(np.random.default_rng(1), 6, 12)
    alone = {name: of_table[name] for name in ("m0", "m3")}
    assert ratios(alone, "m0")["m3"].interval == ratios(of_table, "m0")["m3"].interval


def test_a_method_that_no_launch_has_with_the_recommended_one_has_no_ratio():
    """A launch counts where it has both."""
    missing = {"m1": [None, 1e-6, None, None, None], "m2": [2e-6, math.nan, 2e-6, 2e-6, None]}
    table = ratios({"m0": [1e-6, None, 1e-6, 1e-6, 1e-6], **missing}, "m0")
    assert list(table) == ["m2"]
    assert (table["m2"].word, table["m2"].launches) == (Word.SLOWER, 3)
    assert ratios({"m1": [1e-6] * 3}, "m0") == {}
