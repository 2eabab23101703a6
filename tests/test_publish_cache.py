"""What `asv publish` keeps for the next publish: never another site than without it, and less work."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from pathlib import Path

import pytest

from tensorcopy.analysis import comparisons
from tensorcopy.asv_plugin import publisher as asv_publisher
from tensorcopy.releases import release_table
from tensorcopy.results import confirmations
from tensorcopy.results.confirmations import Confirmation
from tensorcopy.results.load import Case
from tensorcopy.results.profiles import profile_file
from tensorcopy.site import publisher, writer
from tensorcopy.site.cache import store
from tests.conftest import ON_3_11, ROOT, SHIPPED, measured_in_passes, pass_times

RELEASES = [release for release in release_table.load() if release.runs_on("3.11") and release.kind == "release"][-5:]
METHODS = ("clone_detach", "detach_clone", "tensor")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A checkout with four releases on one machine and one on another, as the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TENSORCOPY_PROCESSES", "1")
    shutil.copy(ROOT / "asv.conf.json", tmp_path)
    (tmp_path / "docs").mkdir()
    for name in ("index", "index.ja", "glossary", "glossary.ja"):
        (tmp_path / "docs" / f"{name}.md").write_text(f"# {name}\n")
    for release, factor in zip(RELEASES, (1, 1, 2, 2)):
        measure(release, factor=factor)
    measure(RELEASES[2], "laptop")
    return tmp_path


def measure(release, machine="box", python="3.11", factor=1.0):
    times = {method: pass_times(factor * (1 + number), number) for number, method in enumerate(METHODS)}
    return measured_in_passes(
        Path("results"), release, times, machine, python, identity=sha256(machine.encode()).hexdigest()[:12], cpu=f"CPU of {machine}"
    )


def publish() -> dict[str, bytes]:
    """Return the files of a site written anew."""
    shutil.rmtree("site", ignore_errors=True)
    Path("site").mkdir()
    asv_publisher.read.cache_clear()
    assert publisher.publish(Path("results").absolute(), Path("site")) == ()
    return {str(path): path.read_bytes() for path in Path("site").rglob("*") if path.is_file()}


def kept() -> set[str]:
    return {path.name for path in Path(".asv/publish").iterdir()}


def edit(path: Path) -> None:
    """Change every sample of a result."""
    document = json.loads(path.read_text())
    row = next(iter(document["results"].values()))
    row[5] = [[2 * sample for sample in samples] for samples in row[5]]
    row[0] = [2 * result for result in row[0]]
    path.write_text(json.dumps(document))


def reject() -> None:
    """Measure a step of the history again, and find less of it; the identity decides whose it is, not the folder."""
    before, after = (RELEASES[index] for index in (1, 2))
    identity = sha256(b"box").hexdigest()[:12]
    case = Case("copies.BySize.time_copy", (("method", METHODS[0]), ("numel", "16")))
    names = before.version, after.version, before.sha, after.sha
    numbers = 2.0, 1.0, (0.99, 1.01), 8, (), (), confirmations.Outcome.FELL
    fell = Confirmation("laptop", case, "3", *names, "3.11", "cuda", identity, *numbers, "2026-11-22T08:00:00+00:00")
    confirmations.append(Path("results"), [fell])


CHANGES = {
    "a step that fell": reject,
    "a newer release": lambda: measure(RELEASES[4]),
    "another Python": lambda: measure(RELEASES[1], python="3.12"),
    "other samples": lambda: edit(measure(RELEASES[0])),
    "the other machine measured again": lambda: measure(RELEASES[2], "laptop", factor=1.1),
    "the other machine measured another release": lambda: measure(RELEASES[1], "laptop"),
    "a third machine": lambda: measure(RELEASES[2], "server"),
    "a result that is gone": lambda: Path("results/laptop").joinpath(f"{RELEASES[2].sha[:8]}-py3.11-cuda.json").unlink(),
    "docs": lambda: Path("docs/index.md").write_text("# Other words\n"),
    "another list of docs": lambda: Path("docs/guide.md").write_text("# Guide\n"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_second_publish_writes_what_a_first_one_would(folder, change):
    """Whatever changed since, and something did."""
    first = publish()
    change()
    second = publish()
    shutil.rmtree(".asv")
    assert second == publish() != first


@pytest.mark.slow
def test_function_profiles_are_part_of_what_is_published(folder):
    """Of two shipped releases, one loses its profile."""
    shutil.rmtree("results")
    shipped = Path("results", SHIPPED.name)
    shipped.mkdir(parents=True)
    names = [f"{release.sha[:8]}-py3.11-cuda" for release in ON_3_11[-2:]]
    shutil.copy(SHIPPED.parent / "benchmarks.json", shipped.parent)
    for name in ("machine.json", *(f"{name}{ending}" for name in names for ending in (".json", profile_file.ENDING))):
        shutil.copy(SHIPPED / name, shipped)
    first = publish()
    (shipped / f"{names[0]}{profile_file.ENDING}").unlink()
    second = publish()
    shutil.rmtree(".asv")
    assert second == publish() != first


def test_nothing_is_judged_again_where_nothing_changed(folder, monkeypatch):
    """Nor where another machine alone has measured: only its own comparisons are judged, and those with it."""
    publish()
    judged, between = [], comparisons.between
    monkeypatch.setattr(
        comparisons, "between", lambda before, after, *rest: judged.append({before.machine, after.machine}) or between(before, after, *rest)
    )
    before = publish()
    assert judged == []
    measure(RELEASES[1], "laptop")
    assert publish() != before
    assert judged
    assert all("laptop" in machines for machines in judged)


def test_values_of_another_program_are_not_used(folder, monkeypatch):
    """A digest of the program is part of every name."""
    publish()
    names = kept()
    monkeypatch.setattr(store, "program", lambda: "another")
    publish()
    assert kept()
    assert not kept() & names


def test_a_damaged_value_is_computed_again(folder):
    first, names = publish(), kept()
    for number, path in enumerate(Path(".asv/publish").iterdir()):
        path.write_bytes([b"", b"\x80", path.read_bytes()[:-20], b"no pickle"][number % 4])
    assert publish() == first
    assert kept() == names


def test_values_that_are_not_used_are_removed(folder):
    """The folder does not grow; no draft of it stays."""
    publish()
    names = kept()
    measure(RELEASES[0], factor=3)
    publish()
    assert len(kept()) == len(names)
    assert kept() != names
    assert [path.name for path in Path(".asv").iterdir()] == ["publish"]


def test_nothing_is_kept_of_files_that_change_meanwhile(folder, monkeypatch):
    """Their content and what was read of them may differ."""
    path, write = measure(RELEASES[0]), writer.write

    def slowly(*arguments, **options):
        path.write_text(path.read_text() + " ")
        write(*arguments, **options)

    monkeypatch.setattr(writer, "write", slowly)
    publish()
    assert list(Path(".asv").iterdir()) == []


def test_nothing_is_kept_of_a_folder_with_two_machines(folder):
    """What is read of it then depends on other folders."""
    edited = json.loads(measure(RELEASES[1]).read_text())
    for provenance in (edited["ledger"], *(record["ledger"] for record in edited["passes"])):
        provenance["identity"] = "0123456789ab"
    Path(f"results/box/{RELEASES[1].sha[:8]}-py3.11-cuda.json").write_text(json.dumps(edited))
    publish()
    assert len(kept()) == 1  # the documentation


def test_a_folder_that_cannot_be_written_is_no_error(folder):
    first = publish()
    shutil.rmtree(".asv")
    Path(".asv").write_text("a file")
    assert publish() == first
