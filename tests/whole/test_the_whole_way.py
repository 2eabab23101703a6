"""From two torch releases to a page, without a substitute: the oldest on Python 3.9 and the newest, installed, measured, published."""

import re

import pytest

from tensorcopy.copying.shipped import shipped
from tensorcopy.measure.sides import REFERENCE
from tensorcopy.releases import environments, release_table
from tensorcopy.results import reader
from tests.conftest import NEWEST, OLDEST, copied, installed

pytestmark = pytest.mark.slow

MEASURED = [(OLDEST, "3.9", "ci"), (NEWEST, "3.11", "gpu-box")]


def result_of(checkout, release, python, machine):
    (result,) = [
        result
        for result in reader.load_results(checkout.root / "results", shipped()).results
        if (result.history, result.sha, result.python) == (machine, release.sha, python)
    ]
    return result


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of this checkout, in which the reference and the newest release are installed."""
    made = copied(tmp_path_factory)
    (made.root / ".asv" / "env").mkdir(parents=True)
    for path in installed(tmp_path_factory, REFERENCE, NEWEST.version):
        (made.root / ".asv" / "env" / path.name).symlink_to(path)
    return made


@pytest.fixture(scope="module")
def measured(checkout, gpu):
    """The oldest release, measured beside the reference, and the newest, by the main command, which publishes both, on a GPU's machine.

    In all tests of this module, cases have one size.
    """
    checkout.edit("benchmarks/cases.py", r"^(NUMELS|ON_DEVICE) = [^#\n]*", r"\1 = [2**4]  ")
    options = (f"{OLDEST.version}@3.9", "--launches", "1", "--bench", "BySize|^memory", "--history", "ci")
    runs = [checkout.run("tensorcopy", "measure", *options)]
    options = ("--quick", "--no-serve", "--history", "gpu-box")
    runs.append(checkout.run("tensorcopy", "dashboard", *options, **gpu.variables(OPERATION_US=20)))
    for done in runs:
        assert done.returncode == 0, done.stdout + done.stderr
    return runs


def test_the_dashboard_prints_each_stage_and_the_page(measured):
    """The stages are installing, measuring, counting and publishing. Alone, a release is unpaired, and that is said."""
    assert "installing torch 1.9.0 on Python 3.9\n" in measured[0].stdout
    assert re.search(
        r"1 launch of 1 side, and counts of 1 release: about \d+ min[^\n]*\n"
        r"(?:[^\n]*\n)*?"
        rf"torch {NEWEST.version} on Python 3.11, launch 1 of 1\n"
        r"publishing the site",
        measured[1].stdout,
    )
    assert re.search(r"The page: .*site/index.html\n", measured[1].stdout)
    assert "dashboard again to compare it with the release before" in measured[1].stdout


@pytest.mark.parametrize(("release", "python", "machine"), MEASURED, ids=["oldest", "newest"])
def test_a_result_has_its_provenance_and_every_promise_holds(checkout, measured, release, python, machine):
    """The recorded torch is the one in the table; on it every method does what it promises and the article holds."""
    result = result_of(checkout, release, python, machine)
    assert result.provenance["torch_sha"] == release.sha
    assert result.provenance["numpy"] == "1.26.4"
    assert result.provenance["asv_runner"] == environments.RUNNER
    as_promised = {name: row["observed"]["cpu"]["as_promised"] for name, row in result.methods.items() if "cpu" in row["observed"]}
    assert len(as_promised) >= 17
    assert all(as_promised.values()), as_promised
    assert result.article["cpu"]["fail"] == []


def test_the_first_page_has_the_newest_release_and_asv_finds_its_numbers(checkout, measured):
    """The page of data begins with the machine that measured last."""
    pages = [(checkout.root / "site" / name).read_text(encoding="utf-8") for name in ("index.html", "data.html")]
    assert f"Times with torch {NEWEST.version} and numpy 1.26.4, " in pages[0]
    assert -1 < pages[1].find("gpu-box.csv") < pages[1].find("ci.csv")
    shown = checkout.run("asv", "show", NEWEST.tag, "--machine", "gpu-box")
    assert re.search(r"copies\.BySize\.time_copy\('tensor', 16\) +\S+ µs", shown.stdout), shown.stdout + shown.stderr


@pytest.mark.parametrize(("release", "python", "machine"), MEASURED, ids=["oldest", "newest"])
def test_memory_is_exact_to_the_byte(checkout, measured, release, python, machine):
    """A copy allocates 4 MiB, a view nothing."""
    result = result_of(checkout, release, python, machine)
    counts = {(case.suite, case["method"], case["device"]): count for case, count in result.counts.items() if "memory.Host" in case.suite}
    for method, nbytes in {"detach_clone": 2**22, "tensor": 2**22, "detach_numpy_copy": 2**22, "detach": 0, "numpy": 0}.items():
        for what in ("allocated", "peak"):
            assert counts[f"memory.Host.track_{what}", method, "cpu"] == nbytes, (method, what)
        assert counts["memory.Host.track_allocations", method, "cpu"] == (1 if nbytes else 0)


def test_without_a_network_the_error_is_one_line_and_results_stay(checkout, measured, tmp_path):
    """With a release that is not installed yet, an empty cache and no index."""
    results, release = checkout.root / "results" / "ci", release_table.load()[-2].version
    before, options = {*results.glob("*.json")}, (release, "--launches", "1", "--history", "ci", "--device", "cpu")
    done = checkout.run("tensorcopy", "measure", *options, "--bench", "BySize", UV_OFFLINE="1", UV_CACHE_DIR=str(tmp_path))
    assert done.returncode == 2
    assert re.search(rf"uv pip failed: got [^\n]+; allowed: [^\n]+ torch=={release} [^\n]+; next: [^\n]+", done.stderr)
    assert {*results.glob("*.json")} == before


def test_a_device_that_is_found_is_measured_and_shown(checkout, measured):
    """The dashboard has no option for it. The page of data names the device, and a method has a page for it."""
    result = result_of(checkout, NEWEST, "3.11", "gpu-box")
    (name,) = result.provenance["accelerators"].values()
    suites = {case.suite for case in result.timings}
    assert suites >= {"copies.BySize.time_copy", "copies.Throughput.time_copy", "copies.Latency.time_copy"}
    assert suites >= {"conversions.BySize.time_conversion", "conversions.Latency.time_conversion"}
    assert name in (checkout.root / "site" / "data.html").read_text(encoding="utf-8")
    assert (checkout.root / "site" / "methods" / "cuda" / "tensor.html").exists()
