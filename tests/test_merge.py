"""Merging folders of results loses nothing and duplicates nothing, in any order."""

from __future__ import annotations

import json
from itertools import product
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorcopy.asv_plugin.stamp import summary
from tensorcopy.errors import TensorcopyError
from tensorcopy.results import files, functions, merge, merge_results, reader
from tensorcopy.results.merge import Merged
from tests.conftest import NEWEST_SHIPPED, PROVENANCE, measured_in_passes


def merged(first, second):
    """Return two documents merged, with asv's own statistics."""
    return merge_results.merged(first, second, summary)


TIMED, COUNTED = "copies.BySize.time_copy", "memory.Host.track_peak"
STATISTICS = ["stats_ci_99_a", "stats_ci_99_b", "stats_q_25", "stats_q_75", "stats_number", "stats_repeat"]
COLUMNS = ["result", "params", "version", "started_at", "duration", *STATISTICS, "samples", "profile"]
METHODS = ["'tensor'", "'detach_clone'", "'clone_detach'"]
NUMELS = ["1", "16"]
HARDWARE = {"family": "6", "model": "167", "stepping": "1", "flags": ["avx2"], "caches": ["L1 Data 48K"], "processors": 2}
HARDWARE |= {"hypervisor": "", "memory_gib": None, "microcode": ""}
EARLIER, LATER = "2026-11-21T08:00:00+00:00", "2026-11-22T08:00:00+00:00"
FIRST_HOST, SECOND_HOST = "0123456789ab", "ba9876543210"


def samples_of(number: int, version: str, case: tuple[str, str]) -> list[float]:
    """Return the samples of a case in a pass; some cases have none."""
    taken = (number * 7 + METHODS.index(case[0]) * 3 + NUMELS.index(case[1])) % 4
    return [1e-6 * (1 + number + part / 10 + int(version) / 100) for part in range(taken)]


def interruptions_of(number: int, case: tuple[str, str]) -> list[list[int]]:
    """Return the page faults per call, major faults and context switches of each sample."""
    return [[number, METHODS.index(case[0]), NUMELS.index(case[1])] for _ in samples_of(number, "1", case)]


def counts_of(number: int, method: str) -> float | None:
    """Return what a pass counted of a method; it skipped the second one."""
    return None if method == METHODS[1] else 4096.0 + number + METHODS.index(method)


def document(passes: set[int], version: str, methods: int, counts: dict[int, float | None]) -> dict[str, object]:
    """Return a result file with these passes of a suite, and counts by case."""
    params = [METHODS[:methods], NUMELS]
    cases = list(product(*params))
    records, samples = [], [[] for _ in cases]
    for number in sorted(passes):
        taken = [samples_of(number, version, case) for case in cases]
        for earlier, new in zip(samples, taken):
            earlier += new
        suites = {
            TIMED: {
                "version": version,
                "samples": [len(new) for new in taken],
                "control_ns": [[8600 + number] * len(new) for new in taken],
                "interruptions": {str(index): interruptions_of(number, case) for index, case in enumerate(cases) if taken[index]},
            }
        }
        started = f"2026-11-21T08:{number:02}:00+00:00"
        records.append({"id": f"pass-{number}", "started": started, "selection": "", "ledger": {**PROVENANCE, "started": started}})
        records[-1]["suites"] = suites if any(taken) else {}
        if number % 2:
            records[-1]["counts"] = {COUNTED: {"version": "1", "values": [counts_of(number, method) for method in METHODS]}}
    last = records[-1]["started"] if records else PROVENANCE["started"]
    timed = dict.fromkeys(COLUMNS)
    timed |= {"params": params, "version": version, "started_at": max(passes, default=0), "duration": 1.0}
    timed |= {"result": [median(values) if values else None for values in samples], "samples": [values or None for values in samples]}
    counted = dict.fromkeys(COLUMNS)
    counted |= {"params": [METHODS], "version": "1", "started_at": 0, "result": [counts.get(index) for index in range(len(METHODS))]}
    return {
        "commit_hash": PROVENANCE["torch_sha"],
        "env_name": "py3.11-cuda",
        "date": 0,
        "params": {"machine": "box", "python": "3.11", "build": "cuda"},
        "python": "3.11",
        "requirements": {"build": "cuda"},
        "env_vars": {},
        "result_columns": COLUMNS,
        "results": {TIMED: list(timed.values()), COUNTED: list(counted.values())},
        "durations": {"<setup>": float(len(passes))},
        "ledger": {**PROVENANCE, "started": last},
        "passes": records,
        "version": 2,
    }


documents_of_one_history = st.builds(
    document,
    st.sets(st.integers(0, 5)),
    st.sampled_from(["1", "2"]),
    st.integers(1, len(METHODS)),
    st.dictionaries(st.integers(0, 2), st.sampled_from([None, float("nan"), 4096.0, 8192.0])),
)


@settings(deadline=None, max_examples=80)  # other programs may use the processor
@given(documents_of_one_history, documents_of_one_history, documents_of_one_history)
def test_merging_is_associative_commutative_and_idempotent(first, second, third):
    """The order of merging does not change the file."""
    all_three = merged(merged(first, second), third)
    assert files.same(all_three, merged(first, merged(second, third)))
    assert files.same(merged(first, second), merged(second, first))
    assert files.same(merged(all_three, all_three), all_three)
    assert files.same(merged(all_three, second), all_three)
    assert files.fault(all_three) == ""


@settings(deadline=None)
@given(st.sets(st.integers(0, 5)), st.sets(st.integers(0, 5)), st.integers(1, 3), st.integers(1, 3))
def test_a_merged_file_has_all_passes_and_samples(first, second, methods, more):
    """As if one run had taken them, also where a method was added in between."""
    most = max(methods, more)
    first = {number for number in first if methods == most or number < 3}  # the run with fewer methods was the earlier one
    second = {number for number in second if more == most or number < 3}
    document_of_both = merged(document(first, "1", methods, {}), document(second, "1", more, {}))
    row = dict(zip(document_of_both["result_columns"], document_of_both["results"][TIMED]))
    for index, case in enumerate(product(*row["params"])):
        in_first = first if case[0] in METHODS[:methods] else set()
        in_second = second if case[0] in METHODS[:more] else set()
        expected = [sample for number in sorted(in_first | in_second) for sample in samples_of(number, "1", case)]
        assert ((row.get("samples") or [None] * 6)[index] or []) == expected
    assert [record["id"] for record in document_of_both["passes"]] == [f"pass-{number}" for number in sorted(first | second)]
    cases = list(product(*row["params"]))
    for record in document_of_both["passes"]:
        number, of_suite = int(record["id"][-1]), record["suites"].get(TIMED, {"samples": []})
        expected = {str(index): interruptions_of(number, cases[index]) for index, count in enumerate(of_suite["samples"]) if count}
        assert of_suite.get("interruptions", {}) == expected


@pytest.fixture
def folders(tmp_path):
    """Two folders with one release, measured on one machine at different times."""
    for name, first in (("first", 0), ("second", 3)):
        path = measured_in_passes(tmp_path / name, NEWEST_SHIPPED, {"tensor": [1.0, 1.1, 1.2]}, cpu="Box 9000")
        text = path.read_text()
        for number in range(3):
            text = text.replace(f'"pass-{number}"', f'"pass {number + first}"')
        path.write_text(text)
    return tmp_path / "first", tmp_path / "second"


def test_two_folders_become_one(folders, tmp_path):
    """With all passes and samples; merging again changes nothing."""
    assert merge.merge(folders, tmp_path / "all", summary) == Merged(new=1, grown=0, unchanged=0)
    loaded = reader.load_results(tmp_path / "all")
    assert loaded.problems == ()
    (timing,) = loaded.results[0].timings.values()
    assert len(timing.by_pass) == 6
    assert len(timing.samples) == 18
    assert merge.merge(folders, tmp_path / "all", summary) == Merged(new=0, grown=0, unchanged=1)
    assert merge.merge(folders[1:], folders[0], summary) == Merged(new=0, grown=1, unchanged=0)


def identified(path, identity, started):
    """Give every pass of a result file an identity, its ids a prefix, and a start."""
    document = json.loads(path.read_text())
    for provenance in (document["ledger"], *(record["ledger"] for record in document["passes"])):
        provenance |= {"identity": identity, "hardware": HARDWARE, "started": started} if identity else {"started": started}
    for record in document["passes"]:
        record |= {"started": started, "id": f"{identity}{started}{record['id']}"}
    path.write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("identities_of_folders", "second_name"),
    [((FIRST_HOST, SECOND_HOST), "box-ba98"), ((FIRST_HOST, ""), "box-unknown"), (("", SECOND_HOST), "box-ba98")],
    ids=["two known hosts", "a known and an unknown one", "an unknown and a known one"],
)
def test_another_machine_of_the_same_name_gets_a_name_of_its_own(folders, tmp_path, identities_of_folders, second_name):
    """The one with the earlier passes keeps the name; a warning names both."""
    for folder, identity, started in zip(folders, identities_of_folders, (EARLIER, LATER)):
        identified(next((folder / "box").glob("*-*.json")), identity, started)
    for order in (folders, folders[::-1]):
        into = tmp_path / f"from {order[0].name}"
        done = merge.merge(order, into, summary)
        assert (done.new, done.grown, done.unchanged) == (2, 0, 0)
        (warning,) = done.warnings
        assert warning.what == "two machines are called box"
        assert warning.got.endswith(f"which is called {second_name} here")
        loaded = reader.load_results(into)
        assert (loaded.problems, loaded.warnings) == ((), ())
        by_machine = dict(zip(("box", second_name), identities_of_folders))
        assert {result.machine: result.series_key.identity for result in loaded.results} == by_machine
        assert merge.merge(order, into, summary).unchanged == 2
    assert contents(tmp_path / "from first") == contents(tmp_path / "from second")


def test_a_file_with_passes_of_two_hosts_is_divided(folders):
    """In the folder itself. The new file and machine.json describe the other host."""
    path = next((folders[0] / "box").glob("*-*.json"))
    identified(path, FIRST_HOST, EARLIER)
    document = json.loads(path.read_text())
    document["passes"][1]["ledger"] |= {"identity": SECOND_HOST, "cpu": "Xeon"}
    path.write_text(json.dumps(document))
    merge.merge(folders[:1], folders[0], summary)
    by_machine = {result.machine: result for result in reader.load_results(folders[0]).results}
    (timing,), (other,) = (by_machine[machine].timings.values() for machine in ("box", "box-ba98"))
    assert [pass_samples.samples[1] for pass_samples in timing.by_pass] == [1.0e-6, 1.2e-6]
    assert [pass_samples.samples[1] for pass_samples in other.by_pass] == [1.1e-6]
    machine = json.loads((folders[0] / "box-ba98" / "machine.json").read_text())
    assert machine == {"arch": "x86_64", "cpu": "Xeon", "machine": "box-ba98", "num_cpu": "2", "os": "Linux", "version": 1}
    assert json.loads((folders[0] / "box-ba98" / path.name).read_text())["params"]["machine"] == "box-ba98"


def profiled(folder, identity, cases, started):
    """Put a profile with so many cases beside the result of a folder, and return its bytes."""
    (result,) = (folder / "box").glob("*-py3.11-*.json")
    of_release = {"torch": "2.15.0", "torch_sha": json.loads(result.read_text())["commit_hash"], "python": "3.11.7", "identity": identity}
    tools = {"libc": "glibc 2.36", "tensorcopy": "0.1.0", "valgrind": "3.19.0"}
    rows = {f"detach {2**number} float32 contiguous": {"instructions": 9, "functions": [0, 9, 1]} for number in range(cases)}
    document = {"version": functions.VERSION, **of_release, **tools, "started": started, "functions": [["libc", "malloc"]], "cases": rows}
    path = functions.path_of(result)
    functions.write(path, document)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("first", "second", "stays"),
    [((2, EARLIER), (1, LATER), 0), ((1, EARLIER), (2, LATER), 1), ((1, EARLIER), (1, LATER), 1), ((1, LATER), (1, EARLIER), 0)],
    ids=["more cases first", "more cases second", "later second", "later first"],
)
def test_the_function_profile_of_a_result_is_merged_too(folders, tmp_path, first, second, stays):
    """In any order the one with the most cases stays, and of these the last one taken; merging again changes nothing."""
    profiles = [profiled(folder, FIRST_HOST, *of_folder) for folder, of_folder in zip(folders, (first, second))]
    for order in (folders, folders[::-1]):
        into = tmp_path / f"from {order[0].name}"
        for _ in range(2):
            merge.merge(order, into, summary)
            (path,) = into.glob(f"*/*{functions.ENDING}")
            assert path.read_bytes() == profiles[stays]
            assert functions.profiles_of(reader.load_results(into).results[0]) is not None


def contents(folder):
    """Return every file's JSON, as text that is equal for equal values."""
    return {str(path.relative_to(folder)): files.canonical(json.loads(path.read_text())) for path in folder.rglob("*.json")}


def test_contradicting_files_are_refused(folders, tmp_path):
    """One pass has different samples in two files: one of them was edited."""
    path = next((folders[1] / "box").glob("*-*.json"))
    path.write_text(path.read_text().replace('"pass 3"', '"pass 0"'))
    document = json.loads(path.read_text())
    document["results"][TIMED][5][0][0] = 2e-6
    path.write_text(json.dumps(document))
    with pytest.raises(TensorcopyError, match=r"results of box contradict each other: samples of copies\.BySize.*pass 0"):
        merge.merge(folders, tmp_path / "all", summary)
