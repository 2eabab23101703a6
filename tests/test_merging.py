"""Folders of results put together: nothing lost, nothing twice, in whatever order."""

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
from tensorcopy.releases import release_table
from tensorcopy.results import files, load, merge
from tests.conftest import NEW, PROVENANCE, ROOT, measured_in_passes


def merged(one, other):
    """Two documents merged, with asv's own statistics."""
    return merge.merged(one, other, summary)


TIMED, COUNTED = "copies.BySize.time_copy", "memory.Host.track_peak"
STATISTICS = ["stats_ci_99_a", "stats_ci_99_b", "stats_q_25", "stats_q_75", "stats_number", "stats_repeat"]
COLUMNS = ["result", "params", "version", "started_at", "duration", *STATISTICS, "samples", "profile"]
METHODS = ["'tensor'", "'detach_clone'", "'clone_detach'"]
NUMELS = ["1", "16"]


def samples_of(number: int, version: str, case: tuple[str, str]) -> list[float]:
    """What pass `number` took of a case: the same wherever it is told; of some cases nothing."""
    taken = (number * 7 + METHODS.index(case[0]) * 3 + NUMELS.index(case[1])) % 4
    return [1e-6 * (1 + number + part / 10 + int(version) / 100) for part in range(taken)]


def document(passes: set[int], version: str, methods: int, counts: dict[int, float | None]) -> dict[str, object]:
    """A result file with these passes of a suite, which then had so many methods, and counts by case."""
    params = [METHODS[:methods], NUMELS]
    cases = list(product(*params))
    records, samples = [], [[] for _ in cases]
    for number in sorted(passes):
        taken = [samples_of(number, version, case) for case in cases]
        for some, more in zip(samples, taken):
            some += more
        suites = {
            TIMED: {
                "version": version,
                "samples": [len(some) for some in taken],
                "control_ns": [[8600 + number] * len(some) for some in taken],
            }
        }
        started = f"2026-11-21T08:{number:02}:00+00:00"
        records.append({"id": f"pass-{number}", "started": started, "selection": "", "ledger": {**PROVENANCE, "started": started}})
        records[-1]["suites"] = suites if any(taken) else {}
    last = records[-1]["started"] if records else PROVENANCE["started"]
    timed = dict.fromkeys(COLUMNS)
    timed |= {"params": params, "version": version, "started_at": max(passes, default=0), "duration": 1.0}
    timed |= {"result": [median(some) if some else None for some in samples], "samples": [some or None for some in samples]}
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


@settings(deadline=None, max_examples=300)  # neighbours may take the processor
@given(documents_of_one_history, documents_of_one_history, documents_of_one_history)
def test_merging_is_associative_commutative_and_idempotent(one, two, three):
    """Whoever is merged with whom, and when: the file is the same."""
    left = merged(merged(one, two), three)
    assert merge.same(left, merged(one, merged(two, three)))
    assert merge.same(merged(one, two), merged(two, one))
    assert merge.same(merged(left, left), left)
    assert merge.same(merged(left, two), left)
    assert files.fault(left) == ""


@settings(deadline=None)
@given(st.sets(st.integers(0, 5)), st.sets(st.integers(0, 5)), st.integers(1, 3), st.integers(1, 3))
def test_all_passes_and_samples_of_both_are_there(one, other, methods, more):
    """Two runs of one release are what one run of all their passes would have left, also where a method was added in between."""
    most = max(methods, more)
    early, late = ({number for number in some if enough or number < 3} for some, enough in ((one, methods == most), (other, more == most)))
    together = merged(document(early, "1", methods, {}), document(late, "1", more, {}))
    row = dict(zip(together["result_columns"], together["results"][TIMED]))
    for index, case in enumerate(product(*row["params"])):
        had = [number for number in sorted(early | late) if (number in early and case[0] in METHODS[:methods]) or
               (number in late and case[0] in METHODS[:more])]  # fmt: skip
        expected = [sample for number in had for sample in samples_of(number, "1", case)]
        assert ((row.get("samples") or [None] * 6)[index] or []) == expected
    assert [record["id"] for record in together["passes"]] == [f"pass-{number}" for number in sorted(early | late)]


def test_a_number_is_not_lost_to_a_later_run_that_skipped_it():
    """Of two counts the smaller; a count rather than none."""
    one, other = document({0}, "1", 1, {0: 8192.0, 1: 4096.0}), document({1}, "1", 1, {0: 4096.0, 1: float("nan")})
    row = merged(one, other)["results"][COUNTED]
    assert row[0] == [4096.0, 4096.0, None]


def test_the_shipped_history_comes_back_from_its_parts(tmp_path):
    """The passes of a real release dealt out to three folders, merged in any order: asv's file as it was, statistics included."""
    newest = release_table.load()[-1]
    path = ROOT / "results" / "epyc-2core" / f"{newest.sha[:8]}-py3.11-cuda.json"
    whole = json.loads(path.read_text())
    parts = [without(whole, [index for index in range(len(whole["passes"])) if index % 3 != third]) for third in range(3)]
    for order in permutations(parts):
        again = merged(merged(order[0], order[1]), order[2])
        assert merge.same(again["results"], merged(whole, whole)["results"])
        assert merge.same(again["passes"], whole["passes"])


def without(whole: dict[str, object], dropped: list[int]) -> dict[str, object]:
    """A result file as it would be without some of its passes."""
    part = json.loads(json.dumps(whole))
    for suite, values in part["results"].items():
        row = dict(zip(part["result_columns"], values))
        for case, samples in enumerate(row.get("samples") or []):
            begin, kept = 0, []
            for index, record in enumerate(part["passes"]):
                counts = record["suites"].get(suite, {}).get("samples", [])
                count = counts[case] if case < len(counts) else 0
                kept += [] if index in dropped else (samples or [])[begin : begin + count]
                begin += count
            row["samples"][case] = kept or None
        part["results"][suite] = [row[column] for column in part["result_columns"] if column in row]
    part["passes"] = [record for index, record in enumerate(part["passes"]) if index not in dropped]
    return part


@pytest.fixture
def folders(tmp_path):
    """Two folders with the same release measured on one machine at different times, and a second release in one of them."""
    for name, first in (("one", 0), ("other", 3)):
        path = measured_in_passes(tmp_path / name, NEW, {"tensor": [1.0, 1.1, 1.2]}, cpu="Box 9000")
        text = path.read_text()
        for number in range(3):
            text = text.replace(f'"pass-{number}"', f'"pass {number + first}"')
        path.write_text(text)
    return tmp_path / "one", tmp_path / "other"


def test_two_folders_become_one(folders, tmp_path):
    """The result reads as one history: all passes, all samples, no problem."""
    done = merge.merge(folders, tmp_path / "all", summary)
    assert (done.new, done.grown, done.unchanged) == (1, 0, 0)
    read = load.load_results(tmp_path / "all")
    assert read.problems == ()
    (timing,) = read.results[0].timings.values()
    assert len(timing.by_pass) == 6
    assert len(timing.samples) == 18
    again = merge.merge(folders, tmp_path / "all", summary)
    assert (again.new, again.grown, again.unchanged) == (0, 0, 1)
    half = merge.merge(folders[1:], folders[0], summary)
    assert (half.new, half.grown, half.unchanged) == (0, 1, 0)


def test_another_machine_of_the_same_name_is_refused(folders, tmp_path):
    """Its times would not compare. Nothing is written."""
    for folder, cpu in zip(folders, ("EPYC", "Xeon")):
        (folder / "box" / "machine.json").write_text(json.dumps({"machine": "box", "cpu": cpu, "version": 1}))
    with pytest.raises(TensorcopyError, match=r"the machine box is two machines: got cpu 'EPYC' and 'Xeon'.*--machine"):
        merge.merge(folders, tmp_path / "all", summary)
    assert not (tmp_path / "all").exists()


def test_what_contradicts_itself_is_refused(folders, tmp_path):
    """One pass with other samples: somebody has edited a file."""
    path = next((folders[1] / "box").glob("b*.json"))
    path.write_text(path.read_text().replace('"pass 3"', '"pass 0"'))
    document = json.loads(path.read_text())
    document["results"][TIMED][5][0][0] = 2e-6
    path.write_text(json.dumps(document))
    with pytest.raises(TensorcopyError, match=r"results of box that contradict each other: samples of copies\.BySize.*pass 0"):
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


def test_a_folder_that_lost_its_list_of_suites_is_not_written_over(folders, tmp_path):
    """What lies there may be all that there is of it."""
    shutil.copytree(folders[0] / "box", tmp_path / "all" / "box")
    before = {path: path.read_text() for path in (tmp_path / "all").rglob("*.json")}
    with pytest.raises(TensorcopyError, match=r"benchmarks\.json cannot be read"):
        merge.merge(folders[1:], tmp_path / "all", summary)
    assert {path: path.read_text() for path in (tmp_path / "all").rglob("*.json")} == before
