"""A folder of results is read once, each file is validated, and what cannot be read is named while the rest is shown."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from tensorcopy.errors import TensorcopyError
from tensorcopy.results import files, reader
from tensorcopy.results.passes import Case, PassSamples
from tests.conftest import PROVENANCE

FILE = "box/d0f2af8b-py3.11-cuda.json"


def change(results_dir, edit):
    """Let `edit` change the only result file, and return its path."""
    path = results_dir / FILE
    document = json.loads(path.read_text())
    edit(document)
    path.write_text(json.dumps(document))
    return path


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
    """The torch in the provenance is the one in the label; results share the hardware of their passes in memory."""
    assert shipped_results.problems == ()
    assert len({result.sha for result in shipped_results.results}) >= 10
    for result in shipped_results.results:
        assert result.provenance["torch_sha"] == result.sha
        assert result.provenance["asv"]
        assert result.article["cpu"]["fail"] == []
        assert all(row["observed"]["cpu"]["as_promised"] for row in result.methods.values() if row["observed"])
    hardware = [record["ledger"]["hardware"] for result in shipped_results.results for record in result.passes]
    assert len({id(each) for each in hardware}) == len({json.dumps(each) for each in hardware}) < 10 < len(hardware)


@pytest.mark.parametrize("name", ["benchmarks.json", "box/machine.json", FILE])
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
    if damage == "deleted" and name == FILE:
        assert loaded.problems == ()  # as if it was not measured; in a checkout git lists it, see below
    else:
        (problem,) = loaded.problems
        assert str(problem).startswith(f"the result file results/{name} cannot be read: got ")
        assert "; next: " in str(problem)
    if name != "benchmarks.json":
        assert [result.machine for result in loaded.results] == ["other"]


@pytest.mark.parametrize("directory", [".", "../results", "box/.."])
def test_a_damaged_file_is_named_from_the_folder_of_results_on(results_dir, monkeypatch, directory):
    """However short the path is."""
    monkeypatch.chdir(results_dir)
    Path(FILE).write_text("{")
    (problem,) = reader.load_results(Path(directory)).problems
    assert problem.what == f"the result file results/{FILE} cannot be read"


def age(folder):
    """Set the files' times back, as if they had been written a minute ago."""
    for path in folder.rglob("*.json"):
        os.utime(path, (path.stat().st_atime - 60, path.stat().st_mtime - 60))


def test_an_unchanged_folder_is_read_once(results_dir, monkeypatch):
    """Until a file changes, comes or goes; one that was just written may change again without a new time stamp or size."""
    age(results_dir)
    loaded = reader.load_results(results_dir)
    monkeypatch.setattr(files, "fault", lambda _: pytest.fail("a file was read again"))
    assert reader.load_results(results_dir) is loaded
    monkeypatch.undo()
    path = results_dir / FILE
    path.with_name("copy.json").write_text(path.read_text())
    assert [problem.got for problem in reader.load_results(results_dir).problems] == ["the file name copy.json"]
    path.with_name("copy.json").unlink()
    path.touch()
    stat = path.stat()
    (result,) = reader.load_results(results_dir).results
    assert result.provenance["cpu"] == PROVENANCE["cpu"]
    path.write_text(path.read_text().replace(PROVENANCE["cpu"], PROVENANCE["cpu"][::-1]))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    (result,) = reader.load_results(results_dir).results
    assert result.provenance["cpu"] == PROVENANCE["cpu"][::-1]


def test_reading_results_imports_no_numerical_package():
    """`tensorcopy --help` imports the modules of this folder, and must be fast."""
    modules = [f"tensorcopy.results.{name}" for name in ("reader", "merge", "select", "noise", "confirmations")]
    code = f"import sys, {', '.join(modules)}; print(*sys.modules)"
    imported = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "scipy", "fastjsonschema", "filelock"} & set(imported)


def test_a_deleted_result_of_a_checkout_is_named(results_dir):
    """git lists it."""
    for arguments in (["init"], ["add", "."], ["-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-m", "results"]):
        subprocess.run(["git", *arguments], cwd=results_dir, check=True, capture_output=True)
    (results_dir / FILE).unlink()
    (problem,) = reader.load_results(results_dir).problems
    assert str(problem).startswith(f"the result file results/{FILE} is gone: got a deleted file")


@pytest.mark.parametrize("ledger", [None, {**PROVENANCE, "torch_sha": "f" * 40}], ids=["none", "another"])
def test_a_result_whose_provenance_does_not_match_its_label_is_refused(results_dir, ledger):
    """As after a run that was killed; the file is named, and reading it alone raises."""
    path = change(results_dir, lambda document: document.pop("ledger") and ledger and document.update(ledger=ledger))
    loaded = reader.load_results(results_dir)
    assert loaded.results == ()
    (problem,) = loaded.problems
    assert problem.what == f"the result file results/{FILE} is refused, its provenance does not match its label"
    with pytest.raises(TensorcopyError, match="is refused"):
        files.result(path)


@pytest.mark.parametrize(
    ("edit", "times", "counts"),
    [({"version": "2"}, [], []), ({"type": "track"}, [], [1e-6, 2e-6])],
    ids=["another version", "a count"],
)
def test_benchmarks_json_says_what_a_number_is(results_dir, edit, times, counts):
    """Those of a suite's other version are not comparable; asv's track benchmarks are counts."""
    suites = json.loads((results_dir / "benchmarks.json").read_text())
    suites["copies.BySize.time_copy"].update(edit)
    (results_dir / "benchmarks.json").write_text(json.dumps(suites))
    (result,) = reader.load_results(results_dir).results
    assert (list(result.timings), sorted(result.counts.values())) == (times, counts)


def test_a_pass_without_a_control_does_not_hide_how_a_case_follows_it():
    """Its limit is infinite; the control of the other passes still tells quiet samples from disturbed ones."""
    case = Case("copies.BySize.time_copy", (("method", "clone"), ("numel", "1")))
    quiet, slow = 8e-6, 16e-6
    by_control = PassSamples((1.0,) * 5 + (2.0,) * 5, (quiet,) * 5 + (slow,) * 5, limit=1e-5)
    result = reader.Result(Path("x"), "box", "sha", "3.11", "", "py3.11", {})
    parts = [(result, {case: (part,)}) for part in (PassSamples((1.0,)), by_control, by_control, by_control)]
    assert reader._control_exponents(parts)[result.series_key, case] == pytest.approx(1.0, abs=0.3)


def test_the_provenance_is_that_of_the_passes_that_timed(results_dir):
    """A later pass that only counted, on one core, is not what the times were measured on."""

    def edit(document):
        counted = {**document["ledger"], "cores": 1, "started": "2027-01-01T00:00:00+00:00"}
        record = {"id": "counted", "started": counted["started"], "selection": "^memory", "ledger": counted, "suites": {}}
        suites = {"copies.BySize.time_copy": {"version": "1", "samples": [3, 0, 0], "control_ns": [[], [], []]}}
        timed = {**record, "id": "timed", "started": PROVENANCE["started"], "ledger": document["ledger"], "suites": suites}
        document |= {"ledger": counted, "passes": [timed, record]}

    change(results_dir, edit)
    (result,) = reader.load_results(results_dir).results
    assert result.provenance["cores"] == PROVENANCE["cores"]


def test_a_case_is_found_again_in_another_process():
    """Its hash is kept, and is another one there: strings are hashed with another seed."""
    case = Case("copies.BySize.time_copy", (("method", "clone_detach"), ("numel", "16")))
    code = "import pickle, sys; case = pickle.load(sys.stdin.buffer); print(case in {type(case)(case.suite, case.parameters)})"
    run = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(case), capture_output=True, check=True)
    assert run.stdout.decode().strip() == "True"
