"""Merging folders of results loses nothing and duplicates nothing, in any order."""

from __future__ import annotations

import json
import shutil
from itertools import permutations, product
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorcopy.asv_plugin.statistics import summary
from tensorcopy.errors import TensorcopyError
from tensorcopy.results import files, load, merge, merge_results
from tensorcopy.results.merge import Merged
from tests.conftest import NEW, NEWEST_SHIPPED, PROVENANCE, SHIPPED, measured_in_passes


def merged(first, second):
    """Return two documents merged, with asv's own statistics."""
    return merge_results.merged(first, second, summary)


TIMED, COUNTED = "copies.BySize.time_copy", "memory.Host.track_peak"
STATISTICS = ["stats_ci_99_a", "stats_ci_99_b", "stats_q_25", "stats_q_75", "stats_number", "stats_repeat"]
COLUMNS = ["result", "params", "version", "started_at", "duration", *STATISTICS, "samples", "profile"]
METHODS = ["'tensor'", "'detach_clone'", "'clone_detach'"]
NUMELS = ["1", "16"]


def samples_of(number: int, version: str, case: tuple[str, str]) -> list[float]:
    """Return the samples of a case in a pass; some cases have none."""
    taken = (number * 7 + METHODS.index(case[0]) * 3 + NUMELS.index(case[1])) % 4
    return [1e-6 * (1 + number + part / 10 + int(version) / 100) for part in range(taken)]


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
            }
        }
        started = f"2026-11-21T08:{number:02}:00+00:00"
        records.append({"id": f"pass-{number}", "started": started, "selection": "", "ledger": {**PROVENANCE, "started": started}})
        records[-1]["suites"] = suites if any(taken) else {}
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


@settings(deadline=None, max_examples=300)  # other programs may use the processor
@given(documents_of_one_history, documents_of_one_history, documents_of_one_history)
def test_merging_is_associative_commutative_and_idempotent(first, second, third):
    """The order of merging does not change the file."""
    all_three = merged(merged(first, second), third)
    assert merge.same(all_three, merged(first, merged(second, third)))
    assert merge.same(merged(first, second), merged(second, first))
    assert merge.same(merged(all_three, all_three), all_three)
    assert merge.same(merged(all_three, second), all_three)
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


def test_a_later_run_that_skips_a_case_does_not_remove_its_number():
    """Of two counts the smaller wins, and a count wins over none."""
    first, second = document({0}, "1", 1, {0: 8192.0, 1: 4096.0}), document({1}, "1", 1, {0: 4096.0, 1: float("nan")})
    row = merged(first, second)["results"][COUNTED]
    assert row[0] == [4096.0, 4096.0, None]


def test_a_shipped_result_is_restored_from_its_parts():
    """Its passes, divided over three files and merged in any order, with statistics."""
    path = SHIPPED / f"{NEWEST_SHIPPED.sha[:8]}-py3.11-cuda.json"
    full = json.loads(path.read_text())
    parts = [without(full, [index for index in range(len(full["passes"])) if index % 3 != third]) for third in range(3)]
    for order in permutations(parts):
        restored = merged(merged(order[0], order[1]), order[2])
        assert merge.same(restored["results"], merged(full, full)["results"])
        assert merge.same(restored["passes"], full["passes"])


def without(full: dict[str, object], dropped: list[int]) -> dict[str, object]:
    """Return a result file without the passes whose indices are `dropped`."""
    part = json.loads(json.dumps(full))
    for suite, values in part["results"].items():
        row = dict(zip(part["result_columns"], values))
        for case, samples in enumerate(row.get("samples") or []):
            begin, remaining = 0, []
            for index, record in enumerate(part["passes"]):
                counts = record["suites"].get(suite, {}).get("samples", [])
                count = counts[case] if case < len(counts) else 0
                remaining += [] if index in dropped else (samples or [])[begin : begin + count]
                begin += count
            row["samples"][case] = remaining or None
        part["results"][suite] = [row[column] for column in part["result_columns"] if column in row]
    part["passes"] = [record for index, record in enumerate(part["passes"]) if index not in dropped]
    return part


@pytest.fixture
def folders(tmp_path):
    """Two folders with one release, measured on one machine at different times."""
    for name, first in (("first", 0), ("second", 3)):
        path = measured_in_passes(tmp_path / name, NEW, {"tensor": [1.0, 1.1, 1.2]}, cpu="Box 9000")
        text = path.read_text()
        for number in range(3):
            text = text.replace(f'"pass-{number}"', f'"pass {number + first}"')
        path.write_text(text)
    return tmp_path / "first", tmp_path / "second"


def test_two_folders_become_one(folders, tmp_path):
    """With all passes and samples; merging again changes nothing."""
    assert merge.merge(folders, tmp_path / "all", summary) == Merged(new=1, grown=0, unchanged=0)
    loaded = load.load_results(tmp_path / "all")
    assert loaded.problems == ()
    (timing,) = loaded.results[0].timings.values()
    assert len(timing.by_pass) == 6
    assert len(timing.samples) == 18
    assert merge.merge(folders, tmp_path / "all", summary) == Merged(new=0, grown=0, unchanged=1)
    assert merge.merge(folders[1:], folders[0], summary) == Merged(new=0, grown=1, unchanged=0)


def test_another_machine_of_the_same_name_is_refused(folders, tmp_path):
    """Its times are not comparable. Nothing is written."""
    for folder, cpu in zip(folders, ("EPYC", "Xeon")):
        (folder / "box" / "machine.json").write_text(json.dumps({"machine": "box", "cpu": cpu, "version": 1}))
    with pytest.raises(TensorcopyError, match=r"two machines are called box: got cpu 'EPYC' and 'Xeon'.*--machine"):
        merge.merge(folders, tmp_path / "all", summary)
    assert not (tmp_path / "all").exists()


def test_contradicting_files_are_refused(folders, tmp_path):
    """One pass has different samples in two files: one of them was edited."""
    path = next((folders[1] / "box").glob("b*.json"))
    path.write_text(path.read_text().replace('"pass 3"', '"pass 0"'))
    document = json.loads(path.read_text())
    document["results"][TIMED][5][0][0] = 2e-6
    path.write_text(json.dumps(document))
    with pytest.raises(TensorcopyError, match=r"results of box contradict each other: samples of copies\.BySize.*pass 0"):
        merge.merge(folders, tmp_path / "all", summary)


def test_a_damaged_file_is_named_and_nothing_is_written(folders, tmp_path):
    path = next((folders[1] / "box").glob("b*.json"))
    path.write_text(path.read_text()[:-100])
    with pytest.raises(TensorcopyError, match=rf"box/{path.name} cannot be read"):
        merge.merge(folders, tmp_path / "all", summary)
    shutil.rmtree(folders[1] / "box")
    (folders[1] / "benchmarks.json").unlink()
    with pytest.raises(TensorcopyError, match=r"without benchmarks\.json"):
        merge.merge(folders, tmp_path / "all", summary)
    assert not (tmp_path / "all").exists()


def test_a_folder_without_benchmarks_json_is_not_overwritten(folders, tmp_path):
    """Its results may exist nowhere else."""
    shutil.copytree(folders[0] / "box", tmp_path / "all" / "box")
    before = {path: path.read_text() for path in (tmp_path / "all").rglob("*.json")}
    with pytest.raises(TensorcopyError, match=r"benchmarks\.json cannot be read"):
        merge.merge(folders[1:], tmp_path / "all", summary)
    assert {path: path.read_text() for path in (tmp_path / "all").rglob("*.json")} == before
