"""`tensorcopy why` names the functions behind a change, and says how much it leaves open."""

from __future__ import annotations

import ast
import json
import lzma
import re
import subprocess
from dataclasses import replace

import pytest

from tensorcopy import cli
from tensorcopy.analysis.profiles import difference
from tensorcopy.asv_plugin import configuration
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import plan
from tensorcopy.measure.profiles import take
from tensorcopy.releases import uv
from tensorcopy.report.why import cause, cause_text, difference_text, reproduction
from tensorcopy.results import select
from tensorcopy.results.passes import Case
from tensorcopy.results.profiles import profile_file
from tensorcopy.results.profiles.profile_file import Node, Profile
from tensorcopy.site.model.changes import CountedChange, cause_link, counted_changes
from tensorcopy.worker.methods import METHODS
from tests.conftest import MEASURED, NEWEST_SHIPPED, ROOT

RESULTS = ROOT / "results"
SHIPPED = sorted(RESULTS.glob(f"*/*{profile_file.ENDING}"))
PAIRS = [  # whose functions were counted on both sides
    ("detach", "2.5.1", "2.15.0"),
    ("numpy", "1.12.1@3.9", "1.13.1@3.9"),
    ("empty_like_copy 1 float32 contiguous grad", "1.13.1@3.11", "2.0.1@3.11"),
    ("numpy_from_dlpack", "2.8.0", "2.9.1"),
    ("cpu", "2.9.1", "2.10.0"),
    ("detach_clone", "2.13.0", "2.15.0"),
]
LARGEST = 60_000  # bytes of a profile's file
ROUNDS = 3  # of the two runs of a reproduction

ROOT_FUNCTION, COPY, MALLOC = ("libpython", "_PyEval_EvalFrameDefault"), ("libtorch_cpu", "at::native::copy_"), ("libc", "malloc")


def profile(*callees: Node, own: float = 100.0) -> Profile:
    root = Node(ROOT_FUNCTION, own, 1, callees)
    return Profile(root.inclusive, (root,))


@pytest.fixture(scope="module")
def causes():
    return {pair: cause.of_pair(select.pair(pair[1], pair[2], RESULTS), pair[0]) for pair in PAIRS}


@pytest.mark.parametrize("pair", PAIRS, ids=[f"{case} {before} {after}" for case, before, after in PAIRS])
def test_the_named_functions_explain_four_fifths_of_a_shipped_change(causes, pair):
    """All functions together add up to the whole."""
    functions = causes[pair].difference
    assert functions.changed
    assert functions.share_named >= difference.NAMED
    assert sum(change.difference for change in functions.functions) == pytest.approx(functions.total, rel=0.02)
    assert len(functions.named) < len(functions.functions)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name.split(".")[0])
def test_a_shipped_profile_fits_its_result(path):
    """It is small, matches its schema, is of the same torch, and names functions for 99 % of a call."""
    assert path.stat().st_size <= LARGEST
    result = path.with_name(path.name.replace(profile_file.ENDING, ".json"))
    profiles = profile_file.read(path)
    assert profiles.provenance["torch_sha"] == json.loads(result.read_text(encoding="utf-8"))["commit_hash"]
    detach = profiles.of("detach 1 float32 contiguous")
    assert detach is not None
    named = sum(root.inclusive for root in detach.roots)
    assert 0.98 <= named / detach.instructions <= 1.001


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name.split(".")[0])
def test_a_shipped_profile_has_the_counted_instructions(shipped_results, path):
    """Up to 2^16 elements within 5 %, of 19 cases in 20 within 2 %; in a loop of two calls, the first one may take some hundred more."""
    (result,) = (result for result in shipped_results.results if profile_file.path_of(result.path) == path)
    cases = profile_file.read(path).cases
    counted = {name: count for case, count in result.counts.items() if (name := profile_file.name_of(case)) in cases}
    differences = {name: cases[name]["instructions"] - count for name, count in counted.items()}
    large = {name for name in counted if int(name.split()[1]) >= 2**17}
    assert all(abs(differences[name]) <= max(700, 0.02 * counted[name]) for name in large)
    relative = sorted(abs(differences[name]) / counted[name] for name in counted.keys() - large)
    assert relative[-1] <= 0.05
    assert relative[len(relative) * 19 // 20] <= 0.02


def test_the_sentence_comes_first(causes):
    """The total, then the groups by their part in it, and the calls that changed."""
    text = cause_text.text(causes[PAIRS[0]])
    answer = text.split("\n\n")[1]
    assert answer.startswith("−1\u2009")
    assert "TensorImpl and metadata −" in answer
    assert "× instead of" in answer
    assert "named functions explain" in text
    assert text.split("\n\n")[-1].count(" further functions and in the cheapest ones, together 1 % of a call") == 1


def test_what_is_named_is_said_of_a_change_only():
    """Of an unchanged case it would be a share of noise; one function explains, several explain."""
    same = difference.between(1, profile(Node(COPY, 200, 1)), profile(Node(MALLOC, 200.5, 1)))
    assert difference_text.named_text(same) == ""
    single = difference.between(1, profile(Node(COPY, 200, 1)), profile(Node(COPY, 300, 1)))
    assert difference_text.named_text(single).startswith(
        "1 named function explains 100 % of the difference; the other 0 instructions are in the"
    )


def test_a_profile_without_instructions_is_compared():
    """It divides by none of both sides."""
    nothing, something = Profile(0.0, ()), profile(Node(COPY, 200, 1))
    assert difference.between(1, something, nothing).changed
    assert difference.between(1, nothing, something).changed
    assert not difference.between(1, nothing, nothing).changed


@pytest.mark.parametrize(
    ("numel", "text"),
    [("1", "why"), ("1024", "why (numel=1)"), ("1024 grad", "why (numel=1, without grad)")],
)
def test_a_link_says_which_case_its_page_is_about(shipped_results, numel, text):
    result = next(result for result in shipped_results.results if result.sha.startswith(NEWEST_SHIPPED.sha[:8]))
    page = CountedChange(result, result, "detach 1 float32 contiguous")
    number, _, grad = numel.partition(" ")
    case = Case("primitives.BySize.time_primitive", (("method", "detach"), ("numel", number), ("requires_grad", str(bool(grad)))))
    link = cause_link({(result.path, page.name): page}, result, case)
    assert link is not None
    assert (link.address, link.text) == (page.address, text)
    assert cause_link({}, result, case) is None


def test_a_method_has_another_page_only_for_another_change(shipped_results):
    """What the smallest tensor's page shows is not shown again for one that requires grad, or a large one."""
    order = [release.sha for release in MEASURED]
    newest = sorted((result for result in shipped_results.results if result.python == "3.11"), key=lambda result: order.index(result.sha))
    changes = list(counted_changes([tuple(newest[-4:])]).values())
    by_method = {}
    for change in changes:
        by_method.setdefault((change.after.sha, change.name.split()[0]), []).append(change.difference)
    further = [(first, other) for first, *others in by_method.values() for other in others]
    assert 0 < len(further) < len(by_method)
    for first, other in further:
        assert other.changed
        assert difference.is_changed(other.before.instructions + first.total, other.after.instructions)


def test_an_invalid_expression_is_one_line():
    with pytest.raises(TensorcopyError, match="no regular expression"):
        cause.why("[", "2.5.1", "2.15.0")


def test_json_has_the_figures_of_the_text(causes):
    document = json.loads(cause_text.as_json(causes[PAIRS[0]]))
    functions = causes[PAIRS[0]].difference
    assert document["instructions"]["difference"] == functions.total
    assert [row["name"] for row in document["functions"] if row["named"]] == [change.function[1] for change in functions.named]


def test_a_function_that_is_called_more_often_is_named():
    """As the one planted extra call among other functions."""
    before = profile(Node(COPY, 200, 1, (Node(MALLOC, 40, 1),)))
    after = profile(Node(COPY, 400, 2, (Node(MALLOC, 80, 2),)))
    functions = difference.between(1, before, after)
    assert functions.total == 240
    assert functions.calls_changed[0].function == COPY
    assert functions.calls_changed[0].status == "called more often"
    assert "native::copy_ 2× instead of 1×" in difference_text.sentence(functions)


def test_a_function_too_cheap_for_a_profile_is_not_called_lost():
    """A profile leaves out the cheapest functions, which may still run."""
    before, after = profile(Node(COPY, 10, 1), own=500), profile(Node(MALLOC, 40, 1), own=600)
    by_function = {change.function: change for change in difference.between(1, before, after).functions}
    assert by_function[COPY].status == "changed"
    assert by_function[MALLOC].status == "gained"


@pytest.mark.parametrize(
    ("per_element", "words"),
    [(1.1, ""), (8.0, "The kernel lost its vectorisation."), (0.1, "The kernel became vectorised.")],
    ids=["as before", "slower", "faster"],
)
def test_a_lost_vectorisation_is_said_in_those_words(per_element, words):
    """Instructions per element and the instruction set of the symbol are shown for large tensors."""
    numel = 2**17

    def kernel(variant: str, cost: float) -> Profile:
        return profile(Node(("libtorch_cpu", f"at::native::{variant}::copy_kernel"), cost * numel, 1))

    functions = difference.between(numel, kernel("AVX2", 1.0), kernel("DEFAULT", per_element))
    text = difference_text.kernel_text(functions)
    assert "AVX2 → DEFAULT" in text
    assert text.endswith(words)
    assert ("vectoris" in text) is bool(words)
    assert not difference.between(16, kernel("AVX2", 1.0), kernel("DEFAULT", per_element)).kernel.shown


@pytest.mark.parametrize(
    ("before", "after"),
    [((1.0, 1), (2.0, 1)), ((1.0, 1), (2.1, 2)), ((2.1, 2), (1.0, 1)), ((1e-5, 1), (2.2e-5, 1))],
    ids=["AVX512 to AVX2", "runs twice", "ran twice", "no kernel over the elements"],
)
def test_a_kernel_is_not_called_vectorised_or_not_without_evidence(before, after):
    """A kernel of half the width, one that runs twice, and a memset of a few bytes are as vectorised as before."""
    numel = 2**20

    def kernel(per_element: float, calls: float) -> Profile:
        return profile(Node(("libc", "__memset_avx2_unaligned_erms"), per_element * numel, calls))

    functions = difference.between(numel, kernel(*before), kernel(*after))
    assert "vectoris" not in difference_text.kernel_text(functions)
    assert functions.kernel.shown is (before[0] >= 1)


def test_no_shipped_change_is_said_to_lose_its_vectorisation():
    """A detach of 2^20 elements runs no kernel."""
    detach = cause.of_pair(select.pair("2.0.1", "2.5.1", RESULTS), "^detach 1048576 float32 contiguous$")
    assert not detach.difference.kernel.shown
    assert "vectoris" not in cause_text.text(detach)


def test_a_function_that_moves_to_another_library_did_not_change():
    """Its costs count together; one that both sides have in the same libraries is compared in each."""
    there, here = ("libc10", "c10::reset_not_null_"), ("libtorch_cpu", "c10::reset_not_null_")
    before = profile(Node(there, 30, 6), Node(MALLOC, 40, 1))
    after = profile(Node(there, 10, 2), Node(here, 20, 4), Node(MALLOC, 50, 1))
    functions = difference.between(1, before, after)
    assert [(change.function, change.difference) for change in functions.functions] == [(MALLOC, 10)]
    after = profile(Node(here, 36, 7), Node(MALLOC, 40, 1))
    functions = difference.between(1, before, after)
    assert [(change.function, change.difference, change.calls, change.status) for change in functions.functions] == [
        (here, 6, 1, "called more often")
    ]
    both = (
        profile(Node(there, 10, 2), Node(here, 20, 4), Node(MALLOC, 40, 1)),
        profile(Node(there, 20, 4), Node(here, 10, 2), Node(MALLOC, 40, 1)),
    )
    assert {change.function: change.difference for change in difference.between(1, *both).functions} == {there: 10, here: -10}


@pytest.fixture(scope="module")
def few_profiles() -> str:
    """The document of a shipped file of profiles, with the first two."""
    document = json.loads(lzma.decompress(profile_file.path_of(select.pair("2.5.1", "2.15.0", RESULTS).after.path).read_bytes()))
    return json.dumps({**document, "cases": dict(list(document["cases"].items())[:2])})


def with_case(document, name="detach 1 float32 contiguous", instructions=1.0, tree=(0, 0, 1, 1)):
    """Return a document of profiles with one case."""
    return {**document, "cases": {name: {"instructions": instructions, "tree": tree}}}


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda document: {**document, "version": 2}, "version"),
        (lambda document: {**document, "torch_sha": "0" * 40}, "torch_sha"),
        (lambda document: with_case(document, tree=[0, 99999, 1, 1]), "no tree"),
        (lambda document: with_case(document, tree=[3, 0, 1, 1]), "no tree"),
        (lambda document: with_case(document, tree=[0, 0, 1]), "no tree"),
        (lambda document: with_case(document, tree=[0, 0, float("inf"), 1]), "no tree"),
        (lambda document: with_case(document, tree=[0, float("nan"), 1, 1]), "no tree"),
        (lambda document: with_case(document, tree=[0, float("inf"), 1, 1]), "no tree"),
        (lambda document: with_case(document, tree=[value for depth in range(3000) for value in (depth, 0, 1, 1)]), "no tree"),
        (lambda document: with_case(document, tree=[0, 0.5, 1, 1]), "no tree"),
        (lambda document: with_case(document, tree=[0, 10**400, 1, 1]), "too large"),
        (lambda document: with_case(document, tree=[0, 0, -1, 1]), "not a number from 0 on"),
        (lambda document: with_case(document, tree=[0, True, 1, 1]), "not a number from 0 on"),
        (lambda document: with_case(document, tree=[0, 0, "1", 1]), "not a number from 0 on"),
        (lambda document: with_case(document, tree=[0, 0, None, 1]), "not a number from 0 on"),
        (lambda document: with_case(document, tree={}), "must be array"),
        (lambda document: {**document, "cases": []}, "must be object"),
        (lambda document: [document], "must be object"),
        (lambda document: with_case(document, instructions=float("inf")), "no tree"),
        (lambda document: with_case(document, name="detach"), "propertyName"),
        (lambda document: with_case(document, name="detach 0 float32 contiguous"), "propertyName"),
        (b"x", "Input format not supported"),
        (lzma.compress(b"[" * 100_000), "within each other"),
        (lzma.compress(bytes(profile_file.LARGEST + 1), preset=0), "more than"),
        (None, "cut off"),
    ],
    ids=[
        "version",
        "another torch",
        "unknown function",
        "depth",
        "three numbers",
        "infinite cost",
        "no number",
        "infinite index",
        "deep",
        "half an index",
        "a number of 400 digits",
        "negative cost",
        "a truth value",
        "text",
        "null",
        "an object as tree",
        "an array as cases",
        "an array as document",
        "infinite sum",
        "case without a tensor",
        "no elements",
        "no xz",
        "brackets",
        "bomb",
        "cut off",
    ],
)
def test_a_damaged_profile_is_named_in_one_line(tmp_path, few_profiles, damage, message):
    pair = select.pair("2.5.1", "2.15.0", RESULTS)
    source = profile_file.path_of(pair.after.path)
    path = tmp_path / "results" / "xeon-2core" / source.name
    path.parent.mkdir(parents=True)
    if damage is None:
        path.write_bytes(source.read_bytes()[:1000])
    elif isinstance(damage, bytes):
        path.write_bytes(damage)
    else:
        path.write_bytes(lzma.compress(json.dumps(damage(json.loads(few_profiles))).encode(), preset=0))
    moved = replace(pair.after, path=path.with_name(pair.after.path.name))
    with pytest.raises(TensorcopyError, match=message) as error:
        profile_file.profiles_of(moved)
    assert source.name in str(error.value)
    assert "\n" not in str(error.value)


def test_a_release_without_a_profile_is_one_line(small_checkout, capsys):
    """It says which command counts its functions."""
    for path in small_checkout.glob(f"results/*/*{profile_file.ENDING}"):
        path.unlink()
    assert cli.main(["why", "detach", "1.9.0", "2.15.0"]) == 2
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    assert "tensorcopy measure 1.9.0@3.9 --machine xeon-2core, which needs valgrind" in printed


def test_a_profile_of_other_hardware_installs_nothing(small_checkout):
    """Its instructions would not be those of the result beside it."""
    (path,) = small_checkout.glob(f"results/xeon-2core/{NEWEST_SHIPPED.sha[:8]}-*cuda.json")
    path.write_text(re.sub(r'("identity": ?)"\w+"', r'\1"000000000000"', path.read_text(encoding="utf-8")), encoding="utf-8")
    (measurement,), _ = plan.select([NEWEST_SHIPPED.version], configuration.paths().pythons)
    with pytest.raises(TensorcopyError, match="this is not the machine of the result"):
        take.take(measurement, take.Job(configuration.paths(), "xeon-2core"))
    assert not (small_checkout / ".asv" / "env").exists()


@pytest.mark.parametrize("pair", PAIRS, ids=[case for case, _, _ in PAIRS])
def test_a_reproduction_is_a_short_script(causes, pair):
    """It imports torch, numpy and the standard library only, and names both commands and what was seen."""
    script = reproduction.script(causes[pair])
    lines = script.splitlines()
    assert len(lines) <= 42
    assert max(map(len, lines)) <= 140
    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name).partition(".")[0]
        for node in ast.walk(ast.parse(script))
        if isinstance(node, (ast.Import, ast.ImportFrom))
    }
    assert imported <= {"torch", "numpy", "platform", "warnings", "statistics", "copy"}
    assert script.startswith("# /// script\n# requires-python")
    for release in pair[1:]:
        assert f"--with torch=={release.partition('@')[0]}" in script
    assert "instructions (" in script


@pytest.mark.parametrize(
    ("file", "shown"), [("detach.py", "detach.py"), ("my scripts/detach.py", "'my scripts/detach.py'"), ("a\nexit()", reproduction.FILE)]
)
def test_the_commands_of_a_reproduction_name_its_file(causes, file, shown):
    """As a shell reads it; a comment has one line."""
    changed = causes[PAIRS[0]]
    script = reproduction.script(changed, file)
    ast.parse(script)
    for result in (changed.before, changed.after):
        assert reproduction.command(result, file).endswith(f" {shown}")
        assert f"\n#   {reproduction.command(result, file)}\n" in script


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
def test_a_reproduction_makes_the_tensor_that_was_measured(name, expression):
    assert reproduction.tensor(name) == expression


def test_the_script_s_codes_are_those_of_the_registry():
    assert json.loads(reproduction.CODES.read_text(encoding="utf-8")) == {name: method.code for name, method in METHODS.items()}


def renamed(explained: cause.Cause, **provenance: str) -> cause.Cause:
    """Return a cause with other provenance of the result after."""
    return replace(explained, after=replace(explained.after, provenance={**explained.after.provenance, **provenance}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda explained: replace(explained, name="relu 1 float32 contiguous", code="torch.relu(x)"), "which the registry does not have"),
        (lambda explained: replace(explained, code="__import__('os').system('true')"), "other code than the registry's"),
        (lambda explained: replace(explained, name="detach 1 float32;exit() contiguous"), "float32;exit"),
        (lambda explained: renamed(explained, torch="2.15.0;reboot"), "2.15.0;reboot"),
        (lambda explained: replace(explained, after=replace(explained.after, python="3.9")), "same Python"),
    ],
    ids=["own operation", "code", "case", "version", "two Pythons"],
)
def test_no_script_is_written_with_anybody_s_code(causes, change, message):
    """A result may come from anybody, and a script is run."""
    changed = change(causes[PAIRS[0]])
    assert not reproduction.is_possible(changed)
    with pytest.raises(TensorcopyError, match=message) as error:
        reproduction.script(changed)
    assert "\n" not in str(error.value)


def test_text_of_a_result_stays_in_the_comments_of_a_script(causes):
    """A line break in the name of a processor starts no line of code."""
    script = reproduction.script(renamed(causes[PAIRS[0]], cpu="Xeon\nexit()\rexit()"))
    assert "exit()" in script
    assert all(line.startswith("#") for line in script.splitlines() if "exit()" in line)


@pytest.mark.timed
def test_a_reproduction_shows_a_real_change_in_a_folder_of_its_own(tmp_path):
    """Run as its first lines say, the script is faster with the release that needs fewer instructions."""
    pair = select.pair("2.5.1", "2.15.0", ROOT / "results")
    explained = cause.of_pair(pair, "detach")
    (tmp_path / reproduction.FILE).write_text(reproduction.script(explained), encoding="utf-8")
    times: dict[str, list[float]] = {result.sha: [] for result in (pair.before, pair.after)}
    for result in ROUNDS * [pair.before, pair.after]:  # in turn: other work on the machine slows a single run by half and more
        command = reproduction.command(result).split()
        command[command.index("--python") + 1] = str(uv.find_python(result.python))
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert result.sha in done.stdout
        times[result.sha].append(float(re.search(r"minimum ([\d.]+) ns", done.stdout)[1]))
    assert explained.difference.ratio < 0.9
    before, after = times.values()
    assert min(after) < 0.95 * min(before), times
