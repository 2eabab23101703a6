"""Result files are read, cached, validated and stamped; damaged ones are named."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from tensorcopy.errors import TensorcopyError
from tensorcopy.results import files, passes, reader, schemas, writing
from tensorcopy.results.passes import Case, PassSamples
from tests.conftest import PROVENANCE


def test_a_file_is_read(results_dir):
    """Parameters by name and times in seconds; a skipped case is missing."""
    (result,) = reader.load_results(results_dir).results
    assert (result.machine, result.python, result.build, result.environment) == ("box", "3.11", "cuda", "py3.11-cuda")
    assert len(result.timings) == 2
    timing = result.timings[Case("copies.BySize.time_copy", (("method", "clone_detach"), ("numel", "16")))]
    assert (timing.median, timing.low, timing.high, timing.samples) == (1e-6, 0.9e-6, 1.1e-6, (0.9e-6, 1e-6, 1.1e-6))
    timing = result.timings[Case("copies.BySize.time_copy", (("method", "tensor"), ("numel", "16")))]
    assert (timing.low, timing.high) == (2e-6, 2e-6)


def test_every_shipped_result_is_valid_and_has_its_provenance(shipped_results):
    """The torch in the provenance is the one in the label."""
    assert shipped_results.problems == ()
    assert len({result.sha for result in shipped_results.results}) >= 10
    for result in shipped_results.results:
        assert result.provenance["torch_sha"] == result.sha
        assert result.provenance["asv"]
        assert result.article["cpu"]["fail"] == []
        assert all(row["observed"]["cpu"]["as_promised"] for row in result.methods.values() if row["observed"])


def test_results_share_the_hardware_of_their_passes(shipped_results):
    """Of each machine one copy is in memory, whatever the number of files and passes."""
    hardware = [record["ledger"]["hardware"] for result in shipped_results.results for record in result.passes]
    assert len({id(each) for each in hardware}) == len({json.dumps(each) for each in hardware}) < 10 < len(hardware)


@pytest.mark.parametrize("name", ["benchmarks.json", "box/machine.json", "box/d0f2af8b-py3.11-cuda.json"])
@pytest.mark.parametrize("damage", ["deleted", "truncated", "empty", "a list"])
def test_a_damaged_file_is_named_and_the_others_are_read(results_dir, name, damage):
    """With one problem per file; nothing raises."""
    intact = results_dir / "other"
    intact.mkdir()
    for path in (results_dir / "box").iterdir():
        (intact / path.name).write_text(path.read_text().replace('"box"', '"other"'))
    path = results_dir / name
    if damage == "deleted":
        path.unlink()
    else:
        path.write_text({"truncated": path.read_text()[: path.stat().st_size // 2], "empty": "", "a list": "[1]"}[damage])
    loaded = reader.load_results(results_dir)
    if damage == "deleted" and name.startswith("box/d0"):
        assert loaded.problems == ()  # as if it was not measured; in a checkout git lists it, see below
    else:
        (problem,) = loaded.problems
        assert str(problem).startswith(f"the result file results/{name} cannot be read: got ")
        assert "; next: " in str(problem)
    if name != "benchmarks.json":
        assert [result.machine for result in loaded.results] == ["other"]


@pytest.mark.parametrize("damaged", ["benchmarks.json", "box/machine.json", "box/d0f2af8b-py3.11-cuda.json"])
@pytest.mark.parametrize("directory", [".", "../results", "box/.."])
def test_a_damaged_file_of_a_relative_folder_is_named(results_dir, monkeypatch, directory, damaged):
    """From the folder of results on, however short the path is."""
    monkeypatch.chdir(results_dir)
    Path(damaged).write_text("{")
    (problem,) = reader.load_results(Path(directory)).problems
    assert problem.what == f"the result file results/{damaged} cannot be read"


def test_a_damaged_file_of_a_folder_in_the_current_one_is_named(results_dir, monkeypatch):
    """`Path("results")`, as every command passes it."""
    monkeypatch.chdir(results_dir.parent)
    (results_dir / "benchmarks.json").write_text("{")
    (problem,) = reader.load_results(Path("results")).problems
    assert problem.what == "the result file results/benchmarks.json cannot be read"


def age(folder):
    """Set the files' times back, as if they had been written a minute ago."""
    for path in folder.rglob("*.json"):
        os.utime(path, (path.stat().st_atime - 60, path.stat().st_mtime - 60))


def test_an_unchanged_folder_is_read_once(results_dir, monkeypatch):
    """A second load returns the same values until a file changes, comes or goes."""
    age(results_dir)
    loaded = reader.load_results(results_dir)
    monkeypatch.setattr(schemas, "fault", lambda _: pytest.fail("a file was read again"))
    assert reader.load_results(results_dir) is loaded
    monkeypatch.undo()
    path = results_dir / "box" / "d0f2af8b-py3.11-cuda.json"
    path.with_name("copy.json").write_text(path.read_text())
    assert [problem.got for problem in reader.load_results(results_dir).problems] == ["the file name copy.json"]
    path.with_name("copy.json").unlink()
    path.write_text("{")
    age(results_dir)
    assert reader.load_results(results_dir).results == ()


def test_the_paths_of_valid_files_are_read_once_until_one_changes(results_dir, monkeypatch):
    """`asv publish` needs them several times; a damaged file is left out."""
    paths = sorted((results_dir / "box").glob("*-*.json"))
    age(results_dir)
    assert list(reader.load_results(results_dir).valid) == paths
    monkeypatch.setattr(reader, "documents", lambda directory: pytest.fail("read again"))
    assert list(reader.load_results(results_dir).valid) == paths
    monkeypatch.undo()
    paths[0].write_text("{")
    assert list(reader.load_results(results_dir).valid) == paths[1:]


def test_a_file_that_was_just_written_is_read_again(results_dir):
    """It may change again without a new time stamp or size."""
    path = results_dir / "box" / "d0f2af8b-py3.11-cuda.json"
    stat = path.stat()
    (result,) = reader.load_results(results_dir).results
    assert result.provenance["cpu"] == PROVENANCE["cpu"]
    path.write_text(path.read_text().replace(PROVENANCE["cpu"], PROVENANCE["cpu"][::-1]))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    (result,) = reader.load_results(results_dir).results
    assert result.provenance["cpu"] == PROVENANCE["cpu"][::-1]


def test_reading_results_imports_no_numerical_package():
    """`tensorcopy --help` imports the modules of this folder, and must be fast."""
    modules = [f"tensorcopy.results.{name}" for name in ("related", "reader", "merge", "select", "noise")]
    code = f"import sys, {', '.join(modules)}; print(*sys.modules)"
    imported = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "scipy", "fastjsonschema"} & set(imported)


def test_a_deleted_result_of_a_checkout_is_named(results_dir):
    """git lists it."""

    def git(*arguments):
        subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments], cwd=results_dir, check=True, capture_output=True
        )

    git("init")
    git("add", ".")
    git("commit", "-m", "results")
    (results_dir / "box" / "d0f2af8b-py3.11-cuda.json").unlink()
    (problem,) = reader.load_results(results_dir).problems
    assert str(problem).startswith("the result file results/box/d0f2af8b-py3.11-cuda.json is gone: got a deleted file")


def stamp(path, report, before="{}", *record):
    """Stamp asv's file on the disk."""
    writing.write_result(path, writing.stamped(files.read(path), report, json.loads(before), *record))


def test_provenance_is_stamped_into_asvs_file(results_dir):
    """asv's own keys are unchanged."""
    path = results_dir / "box" / "d0f2af8b-py3.11-cuda.json"
    before = json.loads(path.read_text())
    stamp(path, {"ledger": {**PROVENANCE, "threads": 8}, "methods": {}, "article": {}})
    after = json.loads(path.read_text())
    assert after["ledger"]["threads"] == 8
    asvs = [key for key in before if key not in ("results", "ledger")]  # results have NaN, which equals nothing
    assert {key: after[key] for key in asvs} == {key: before[key] for key in asvs}
    assert list(results_dir.glob("box/*.new")) == []


def test_a_case_that_is_skipped_later_keeps_its_samples(results_dir):
    """asv would drop them; a new number still replaces an old one."""
    path = results_dir / "box" / "d0f2af8b-py3.11-cuda.json"
    before = path.read_text()
    document = json.loads(before)
    row = document["results"]["copies.BySize.time_copy"]
    row[0] = [float("nan"), 5e-6, 6e-6]
    row[-1] = None
    path.write_text(json.dumps(document))
    stamp(path, {"passes": []}, before)
    (result,) = reader.load_results(results_dir).results
    by_method = {case["method"]: timing for case, timing in result.timings.items()}
    assert {method: timing.median for method, timing in by_method.items()} == pytest.approx(
        {"clone_detach": 1e-6, "tensor": 5e-6, "detach_clone": 6e-6}
    )
    assert by_method["clone_detach"].samples == (0.9e-6, 1e-6, 1.1e-6)
    assert (by_method["clone_detach"].low, by_method["clone_detach"].high) == (0.9e-6, 1.1e-6)


@pytest.mark.parametrize("provenance", [None, {**PROVENANCE, "torch_sha": "f" * 40}], ids=["none", "another"])
def test_a_result_whose_provenance_does_not_match_its_label_is_refused(results_dir, provenance):
    """As after a run that was killed; the file is named."""
    path = results_dir / "box" / "d0f2af8b-py3.11-cuda.json"
    document = json.loads(path.read_text())
    del document["ledger"]
    path.write_text(json.dumps({**document, **({"ledger": provenance} if provenance else {})}))
    loaded = reader.load_results(results_dir)
    assert loaded.results == ()
    (problem,) = loaded.problems
    assert problem.what == "the result file results/box/d0f2af8b-py3.11-cuda.json is refused, its provenance does not match its label"


def test_the_range_of_few_samples_is_finite(results_dir):
    """asv's interval of three samples is infinite."""
    path = results_dir / "box" / "d0f2af8b-py3.11-cuda.json"
    document = json.loads(path.read_text())
    row = document["results"]["copies.BySize.time_copy"]
    row[5][0], row[6][0], row[-1][0] = float("-inf"), float("inf"), [0.8e-6, 1e-6, 1.3e-6]
    path.write_text(json.dumps(document))
    (result,) = reader.load_results(results_dir).results
    timing = next(timing for case, timing in result.timings.items() if case["method"] == "clone_detach")
    assert (timing.low, timing.high) == (0.8e-6, 1.3e-6)


def test_a_file_of_skipped_cases_is_empty(results_dir):
    """asv writes one for a release that has no wheel for a Python."""
    path = results_dir / "box" / "d0f2af8b-py3.11-cuda.json"
    assert not files.is_empty(path)
    document = json.loads(path.read_text())
    document["results"]["copies.BySize.time_copy"][0] = [float("nan")] * 3
    path.write_text(json.dumps(document))
    assert files.is_empty(path)


def test_a_suite_of_another_version_is_skipped(results_dir):
    """Its numbers are not comparable."""
    suites = json.loads((results_dir / "benchmarks.json").read_text())
    suites["copies.BySize.time_copy"]["version"] = "2"
    (results_dir / "benchmarks.json").write_text(json.dumps(suites))
    (result,) = reader.load_results(results_dir).results
    assert result.timings == {}


def test_reading_one_damaged_file_raises(results_dir):
    """`load_results` collects problems, `read` raises them."""
    path = results_dir / "box" / "d0f2af8b-py3.11-cuda.json"
    path.write_text("{}")
    with pytest.raises(TensorcopyError, match="no provenance"):
        reader.read(path, {})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"threads": "two"}, "ledger.threads must be integer: got 'two'"),
        ({"torch_sha": "d0f2af8b"}, "ledger.torch_sha must match pattern ^[0-9a-f]{40}$: got 'd0f2af8b'"),
        ({"weather": "fine"}, "ledger must not contain {'weather'} properties"),
    ],
    ids=["wrong type", "short SHA", "unknown field"],
)
def test_a_file_that_violates_the_schema_is_neither_read_nor_written(results_dir, change, message):
    """The error names the place and the fault, and the file is unchanged."""
    path = results_dir / "box" / "d0f2af8b-py3.11-cuda.json"
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "ledger": {**PROVENANCE, **change}}))
    (problem,) = reader.load_results(results_dir).problems
    assert message in problem.got
    path.write_text(json.dumps(document))
    before = path.read_text()
    with pytest.raises(TensorcopyError, match="cannot be read"):
        stamp(path, {"ledger": {**PROVENANCE, **change}}, before)
    assert path.read_text() == before


def test_a_pass_is_recorded_beside_asvs_samples(results_dir):
    """The record counts the samples that asv has appended, with their control."""
    path = results_dir / "box" / "d0f2af8b-py3.11-cuda.json"
    document = json.loads(path.read_text())
    earlier = {"id": "earlier", "started": PROVENANCE["started"], "selection": "", "ledger": PROVENANCE}
    earlier |= {"suites": {"copies.BySize.time_copy": {"version": "1", "samples": [3, 0, 0], "control_ns": [[], [], []]}}}
    before = json.dumps({**document, "passes": [earlier]})
    del document["passes"], document["ledger"]  # asv drops keys that are not its own
    row = document["results"]["copies.BySize.time_copy"]
    row[0][0], row[-1][0] = 1.1e-6, [0.9e-6, 1e-6, 1.1e-6, 3e-6, 5e-6]
    path.write_text(json.dumps(document))
    record = {"id": "one", "started": PROVENANCE["started"], "selection": "", "ledger": PROVENANCE}
    journal = ["copies.BySize 0 0 0 0 8.5e-06", "copies.BySize 0 1025 1 2 1.7e-05", "copies.BySize 1 0 0 0 8.5e-06"]
    stamp(path, {"ledger": PROVENANCE}, before, record, journal)
    _, row = json.loads(path.read_text())["passes"]
    assert row["suites"] == {
        "copies.BySize.time_copy": {
            "version": "1",
            "samples": [2, 0, 0],
            "control_ns": [[8500, 17000], [], []],
            "interruptions": {"0": [[0, 0, 0], [1025, 1, 2]]},
        },
    }
    (result,) = reader.load_results(results_dir).results
    timing = result.timings[Case("copies.BySize.time_copy", (("method", "clone_detach"), ("numel", "16")))]
    assert [pass_samples.samples for pass_samples in timing.by_pass] == [(0.9e-6, 1e-6, 1.1e-6), (3e-6, 5e-6)]


def test_a_count_is_recorded_beside_a_case_that_is_skipped(results_dir):
    """The case keeps its earlier count, which is not this pass's."""
    path = results_dir / "box" / "d0f2af8b-py3.11-cuda.json"
    document = json.loads(path.read_text())
    columns = document["result_columns"]
    row = dict.fromkeys(columns) | {"params": [["'a'", "'b'"]], "version": "1", "started_at": 1}
    earlier = {**document, "results": {"memory.Host.track_peak": list({**row, "result": [100.0, 50.0]}.values())}}
    now = {**document, "results": {"memory.Host.track_peak": list({**row, "result": [None, 60.0], "started_at": 2}.values())}, "version": 2}
    record = {"id": "one", "started": PROVENANCE["started"], "selection": "", "ledger": PROVENANCE}
    stamped = writing.stamped(now, {"ledger": PROVENANCE}, earlier, record)
    assert stamped["results"]["memory.Host.track_peak"][columns.index("result")] == [100.0, 60.0]
    assert stamped["passes"][-1]["counts"] == {"memory.Host.track_peak": {"version": "1", "values": [None, 60.0]}}


@pytest.mark.parametrize("character", ["\\u009b", "\x9b", "\\u007f", "\x7f"])
def test_a_control_character_is_refused_however_it_is_written(character):
    """A terminal would obey it; JSON allows these as they are, too."""
    with pytest.raises(ValueError, match="control"):
        files.parsed(f'{{"cpu": "{character}31m"}}'.encode())


def test_values_that_differ_in_quotes_only_are_different_cases():
    """A third party's suite may have the parameters 1 and '1'; others lose the quotes of their texts."""
    cases = passes._cases("suite.time_it", ("value", "name"), (("1", "'1'"), ("'a'", "'b'")))
    assert [case.parameters for case in cases] == [(("value", value), ("name", name)) for value in ("1", "'1'") for name in ("a", "b")]


def test_a_pass_without_a_control_does_not_hide_how_a_case_follows_it():
    """Its limit is infinite; the control of the other passes still tells quiet samples from disturbed ones."""
    case = Case("copies.BySize.time_copy", (("method", "clone"), ("numel", "1")))
    quiet, slow = 8e-6, 16e-6
    by_control = PassSamples((1.0,) * 5 + (2.0,) * 5, (quiet,) * 5 + (slow,) * 5, limit=1e-5)
    result = reader.Result(Path("x"), "box", "sha", "3.11", "", "py3.11", {})
    parts = [reader._Untimed(result, {case: (part,)}) for part in (PassSamples((1.0,)), by_control, by_control, by_control)]
    assert reader._control_exponents(parts)[result.series_key, case] == pytest.approx(1.0, abs=0.3)


def test_a_count_is_not_a_time(results_dir):
    """asv's track benchmarks are bytes, allocations and instructions."""
    suites = json.loads((results_dir / "benchmarks.json").read_text())
    suites["copies.BySize.time_copy"]["type"] = "track"
    (results_dir / "benchmarks.json").write_text(json.dumps(suites))
    (result,) = reader.load_results(results_dir).results
    assert result.timings == {}
    assert sorted(result.counts.values()) == [1e-6, 2e-6]


def test_the_provenance_is_that_of_the_passes_that_timed(results_dir):
    """A later pass that only counted, on one core, is not what the times were measured on."""
    path = next((results_dir / "box").glob("*-py3.11-cuda.json"))
    document = json.loads(path.read_text())
    counted = {**document["ledger"], "cores": 1, "started": "2027-01-01T00:00:00+00:00"}
    record = {"id": "counted", "started": counted["started"], "selection": "^memory", "ledger": counted, "suites": {}}
    row = {"version": "1", "samples": [3, 0, 0], "control_ns": [[], [], []]}
    suites = {"copies.BySize.time_copy": row}
    timed = {**record, "id": "timed", "started": PROVENANCE["started"], "ledger": document["ledger"], "suites": suites}
    path.write_text(json.dumps({**document, "ledger": counted, "passes": [timed, record]}))
    (result,) = [each for each in reader.load_results(results_dir).results if each.path == path]
    assert result.provenance["cores"] == PROVENANCE["cores"]


def test_a_case_is_found_again_in_another_process():
    """Its hash is kept, and is another one there: strings are hashed with another seed."""
    case = Case("copies.BySize.time_copy", (("method", "clone_detach"), ("numel", "16")))
    assert hash(case) == hash(Case(case.suite, tuple(case.parameters)))
    code = "import pickle, sys; case = pickle.load(sys.stdin.buffer); print(case in {type(case)(case.suite, case.parameters)})"
    run = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(case), capture_output=True, check=True)
    assert run.stdout.decode().strip() == "True"
