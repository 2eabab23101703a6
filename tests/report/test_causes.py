"""`tensorcopy why` names the functions behind a change, and says how much it leaves open."""

import json
import re
import shlex
from collections import Counter

import pytest

from tensorcopy import cli
from tensorcopy.campaign import NO_RULES
from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.judge import function_changes
from tensorcopy.judge.paired import Change, Reason, Verdict
from tensorcopy.releases import release_table
from tensorcopy.report import causes, table
from tensorcopy.results import function_profiles, reader, select
from tensorcopy.results.function_profiles import FunctionCost, Profile
from tensorcopy.site.facts import Cause
from tests.conftest import ROOT

RESULTS = ROOT / "results"
PAIRS = [  # whose functions were counted on both sides
    ("detach", "2.5.1", "2.15.0"),
    ("numpy", "1.12.1", "1.13.1"),
    ("empty_like_copy 1 float32 contiguous grad", "1.13.1", "2.0.1"),
]
COPY, MALLOC = ("libtorch_cpu", "at::native::copy_"), ("libc", "malloc")
THERE, HERE = ("libc10", "c10::reset_not_null_"), ("libtorch_cpu", "c10::reset_not_null_")


def profile(*costs: tuple[tuple[str, str], float, float], rest: float = 100.0) -> Profile:
    """Return a profile of functions with their instructions and calls, and of the interpreter's loop."""
    loop = (("libpython", "_PyEval_EvalFrameDefault"), rest, 1.0)
    return Profile(sum(own for _, own, _ in (loop, *costs)), {name: FunctionCost(own, calls) for name, own, calls in (loop, *costs)})


def pair_of(before, after):
    """Return two of the shipped results."""
    return select.pair(before, after, reader.load_results(RESULTS, shipped()), release_table.load(), command="tensorcopy why")


@pytest.fixture(scope="module")
def reports():
    return {each: causes.of_pair(pair_of(*each[1:]), each[0], NO_RULES) for each in PAIRS}


def number(text):
    """Return a printed number of instructions."""
    return float(text.replace("\u2009", "").replace("−", "-"))


@pytest.mark.parametrize("pair", PAIRS, ids=[f"{case} {before} {after}" for case, before, after in PAIRS])
def test_the_named_functions_explain_four_fifths_of_a_shipped_change(reports, pair):
    """All functions together, and all groups, add up to the whole: what is printed, as what the JSON has."""
    document = json.loads(table.as_json(reports[pair]))
    total = document["instructions"]["difference"]
    assert document["changed"]
    assert document["share_named"] >= function_changes.NAMED
    assert sum(row["after"] - row["before"] for row in document["rows"]) == pytest.approx(total, rel=0.02)
    assert sum(group["after"] - group["before"] for group in document["groups"]) == pytest.approx(total, rel=0.02)
    lines = "\n".join(str(line) for line in table.terminal(reports[pair], 1000)).partition("\ninstructions, ")[2].split("\n\n")[0]
    rows = [re.split(r"\s{2,}", line.strip()) for line in lines.splitlines()[1:]]
    several = Counter(row["function"] for row in document["rows"])  # one function may be in two libraries
    functions = {row["function"]: row for row in document["rows"] if several[row["function"]] == 1}
    for name, before, after, change, *_ in rows:
        assert number(change) == pytest.approx(number(after) - number(before), abs=1.1)
        if name in functions:
            assert (number(before), number(after)) == pytest.approx((functions[name]["before"], functions[name]["after"]), abs=0.51)
    assert 3 < sum(name in functions for name, *_ in rows) < len(functions)


def test_the_heading_has_the_time_and_the_instructions(reports):
    """The largest group comes first, with its functions and how often they are called; the note says what is not named."""
    lines = [str(line) for line in table.terminal(reports[PAIRS[0]], 1000)]
    took = r"\d+ ns → \d+ ns \(−[\d.]+ %, 95 % interval −[\d.]+ to −[\d.]+ %\)"
    assert re.match(rf"x\.detach\(\) with torch 2\.15\.0\S* against 2\.5\.1\S*: {took}, −1\u2009\d+ instructions \(−[\d.]+ %\)$", lines[0])
    assert lines[4].startswith("TensorImpl and metadata  ")
    assert re.search(r"copy_generic_tensor_metadata +284 +142 +−142 +2 → 1$", lines[5])
    assert re.fullmatch(r"Named: \d+ functions, \d+ % of the change\. Not named: .* that the profile omits \(.*\)\.", lines[-1])


@pytest.mark.parametrize("pair", PAIRS, ids=[f"{case} {before} {after}" for case, before, after in PAIRS])
def test_the_sentence_of_a_page_has_the_largest_groups_of_the_table(reports, pair):
    """With their differences; the others are counted."""
    sides = pair_of(*pair[1:])
    first, second = (function_profiles.profiles_of(side) for side in (sides.before, sides.after))
    name = reports[pair].fields["case"]
    for profiles in (first, second):
        assert sum(function_changes.by_component(profiles.of(name)).values()) == pytest.approx(profiles.cases[name].instructions)
    cause = Cause(sides.before, sides.after, pair[0], name, function_changes.between(first.of(name), second.of(name)))
    total, _, groups = cause.sentence.partition(": ")
    assert reports[pair].heading.endswith(total)
    rows = [(row.name, round(row.after - row.before)) for row in reports[pair].rows if row.change is None]
    said = [(name, number(size)) for name, size in re.findall(r"(?:^|, )([A-Za-z][\w -]*?) ([+−][\d\u2009]+)(?=,|\.)", groups)]
    assert 2 <= len(said) <= 4
    assert said == rows[: len(said)]
    left = re.search(r", and (\d+) more groups?\.$", groups)
    assert (int(left[1]) if left else 0) == len(rows) - len(said)


def of(before, after, time=None):
    """Return the report of two profiles of a case."""
    difference = function_changes.between(before, after)
    return causes.report(pair_of("2.5.1", "2.15.0"), "detach 1 float32 contiguous", None, time, difference)


def test_what_is_named_is_said_of_a_change_only():
    """The fewest that make four fifths; of an unchanged case it would be a share of noise."""
    same = of(profile((COPY, 200, 1)), profile((MALLOC, 200.5, 1)))
    assert same.notes == []
    assert "no change of instructions" in same.heading
    (note,) = of(profile((COPY, 200, 1), (MALLOC, 40, 1)), profile((COPY, 300, 1), (MALLOC, 55, 1))).notes
    assert note.startswith("Named: 1 function, 87 % of the change. Not named: +15, in 1 other function and in ")


def test_a_function_that_is_in_two_libraries_has_its_own_beside_it():
    report = of(profile((THERE, 10, 2), (HERE, 20, 4)), profile((THERE, 40, 8), (HERE, 50, 10)))
    assert [row.name for row in report.rows if row.change] == [f"{name} ({library})" for library, name in (THERE, HERE)]


def test_a_time_that_changed_without_the_instructions_is_told():
    """Memory, caches or the machine are then the reason, and not more code."""
    slower = Change(Verdict.SLOWER, Reason.CHANGED, ratio=1.1, interval=(1.05, 1.15), before=1e-6, after=1.1e-6)
    report = of(profile((COPY, 200, 1)), profile((COPY, 200, 1)), slower)
    assert report.lines[1] == "The time changed and the instructions did not: memory, caches or the machine."
    assert report.fields["only_the_clock"]
    assert len(of(profile((COPY, 200, 1)), profile((COPY, 400, 1)), slower).lines) == 1


def test_the_method_that_an_error_names_is_one_of_the_project():
    """Where no case matches: "detach" is none of another's."""
    with pytest.raises(TensorcopyError) as raised:
        causes.selected({"sparse_copy 1 float32 contiguous": []}, "nosuch")
    assert raised.value.next == "a method alone, such as sparse_copy, or a whole name"


def test_a_method_alone_is_its_smallest_contiguous_tensor():
    """Without grad where there is one."""
    cases = ("m 16 float32 contiguous", "m 4 float32 contiguous", "m 1 float32 contiguous grad", "m 1 float32 strided")
    assert causes.selected({case: [] for case in cases}, "m") == "m 4 float32 contiguous"


def test_a_profile_without_instructions_is_compared():
    """It divides by none of both sides."""
    nothing, something = Profile(0.0, {}), profile((COPY, 200, 1))
    assert function_changes.between(something, nothing).changed
    assert function_changes.between(nothing, something).changed
    assert not function_changes.between(nothing, nothing).changed


LOOP = ("libpython", "_PyEval_EvalFrameDefault")
CALLS = {  # of a call before and after, the difference of each function that changed, and whether its calls did
    "more calls": ([(COPY, 200, 1), (MALLOC, 40, 1)], [(COPY, 400, 2), (MALLOC, 80, 2)], {COPY: (200, True), MALLOC: (40, True)}),
    # a profile leaves out the cheapest functions, which may still run
    "too cheap to be called gone": (
        [(COPY, 10, 1), (LOOP, 500, 1)],
        [(MALLOC, 40, 1), (LOOP, 600, 1)],
        {COPY: (-10, False), MALLOC: (40, True), LOOP: (100, False)},
    ),
    "hardly dearer than what may be left out": (
        [(COPY, 50, 1), (LOOP, 500, 1)],
        [(MALLOC, 40, 1), (LOOP, 600, 1)],
        {COPY: (-50, False), MALLOC: (40, False), LOOP: (100, False)},
    ),
    # an inline function is in each library that uses it, and the loader takes any: its costs count together
    "moved in part": ([(THERE, 30, 6), (MALLOC, 40, 1)], [(THERE, 10, 2), (HERE, 20, 4), (MALLOC, 50, 1)], {MALLOC: (10, False)}),
    "moved in part, and changed": ([(THERE, 30, 6), (MALLOC, 40, 1)], [(THERE, 10, 2), (HERE, 26, 5), (MALLOC, 40, 1)], {HERE: (6, True)}),
    "moved and changed": ([(THERE, 30, 6), (MALLOC, 40, 1)], [(HERE, 36, 7), (MALLOC, 40, 1)], {HERE: (6, True)}),
    "in both on both sides": ([(THERE, 10, 2), (HERE, 20, 4)], [(THERE, 20, 4), (HERE, 10, 2)], {THERE: (10, True), HERE: (-10, True)}),
}


@pytest.mark.parametrize(("before", "after", "changes"), CALLS.values(), ids=CALLS)
def test_what_becomes_of_a_function(before, after, changes):
    difference = function_changes.between(profile(*before), profile(*after))
    assert {change.function: (change.difference, change.calls_changed) for change in difference.functions} == changes


def test_a_release_whose_functions_were_not_counted_is_one_line(small_checkout, capsys):
    """It says which command counts them."""
    for path in small_checkout.glob(f"results/*/*{function_profiles.ENDING}"):
        path.unlink()
    assert cli.main(["why", "detach_clone", "2.4.1", "2.15.0"]) == 2
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    assert "tensorcopy measure 2.4.1" in printed


def test_functions_are_counted_on_the_cpu_alone(monkeypatch, capsys):
    """Of times on a GPU the error names the device, and the command that it advises works."""
    monkeypatch.chdir(ROOT)
    assert cli.main(["why", "detach", "2.14.1", "2.15.0", "--device", "cuda"]) == 2
    printed = capsys.readouterr().err
    assert "were not counted in h200-16core: got --device cuda; allowed: a release whose functions were counted, on the CPU" in printed
    (command,) = re.findall("; next: tensorcopy (why .*)", printed)
    assert cli.main(shlex.split(command)) == 0
