"""The table of torch releases."""

import shutil
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from packaging.version import Version

from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table, uv, wheel_index
from tests.conftest import NEW, copied


def versions(releases):
    return [release.version for release in releases]


ROWS = release_table.load()
NEWEST = ROWS[-1]


def test_the_table_has_every_minor_release_in_order_of_version():
    """From 1.9 on, and the article's 1.9.0 in addition to 1.9.1."""
    listed = versions(release_table.load())
    minors = list(dict.fromkeys(map(release_table.minor, listed)))
    assert minors == [(1, n) for n in range(9, 14)] + [(2, n) for n in range(len(minors) - 5)]
    assert minors[-1] >= (2, 15)
    assert listed[:2] == ["1.9.0", "1.9.1"]
    assert listed == sorted(listed, key=Version)


def test_one_numpy_wherever_possible():
    """A later numpy is used only on Pythons for which 1.26.4 has no wheel."""
    assert {release.numpy for release in release_table.load()} == {"1.26.4"}
    assert release_table.numpy_for(NEWEST, "3.11") == "1.26.4"
    assert release_table.numpy_for(NEWEST, "3.13") == "2.1.3"


@pytest.mark.parametrize("name", ["2.5.1", "v2.5.1", "2.5", "v2.5", "a8d6afb", "a8d6afb511a69687bbb2b7e88a3cf67917e1697e"])
def test_a_release_is_found_by_version_tag_and_sha(name):
    """asv and users name releases in these ways."""
    assert release_table.load().find(name).version == "2.5.1"
    assert release_table.load().find("1.9").version == "1.9.1"  # the last of two patches


@pytest.mark.parametrize(
    ("text", "first", "last", "count"),
    [
        (NEWEST.version, NEWEST.version, NEWEST.version, 1),
        ("2.10..", "2.10.0", NEWEST.version, versions(ROWS[::-1]).index("2.10.0") + 1),
        ("..1.10", "1.9.0", "1.10.2", 3),
        ("2.5.1..2.7", "2.5.1", "2.7.1", 3),
    ],
)
def test_a_range_is_selected(text, first, last, count):
    """Both ends are included; a minor release stands for its last patch."""
    selected = versions(release_table.load().select(text))
    assert (selected[0], selected[-1], len(selected)) == (first, last, count)


@pytest.mark.parametrize("text", ["2.99.0", "v3", "2.99..", "2.7..2.5"])
def test_an_unknown_release_is_an_error_in_one_line(text):
    """With what, got, allowed and next."""
    with pytest.raises(TensorcopyError, match=r"^[^\n]+: got [^\n]+; allowed: [^\n]+; next: [^\n]+$"):
        release_table.load().select(text)


def copied_table(folder):
    return shutil.copy(release_table.TABLE, folder / "releases.toml")


def test_a_row_is_appended(tmp_path):
    """What a person has written stays as it is. Releases are in order of version, wherever their rows stand."""
    table = copied_table(tmp_path)
    table.write_text(text := table.read_text().replace('version = "1.9.1"\n', 'version = "1.9.1"  # a patch\n'))
    assert "# a patch" in text
    patch = replace(NEW, version="2.13.1", requires=("setuptools==1", "b"), cuda="13.0", kernels=("sm_90",))
    release_table.add(patch, table)
    assert table.read_text().startswith(text)
    after = release_table.load(table)
    assert versions(after).index(patch.version) == versions(after).index("2.13.0") + 1
    assert asdict(after.find(patch.version)) == asdict(patch)


@pytest.mark.weekly
def test_releases_missing_in_the_table_are_added(tmp_path_factory):
    """Removed rows come back; then nothing is missing."""
    checkout = copied(tmp_path_factory)
    table = checkout.root / "tensorcopy" / "releases.toml"
    table.write_text("[[release]]".join(table.read_text(encoding="utf-8").split("[[release]]")[:-2]), encoding="utf-8")
    completed = checkout.run("tensorcopy", "measure", "--add-release", "NEW")
    assert completed.returncode == 0, completed.stderr
    assert f"Added torch {NEWEST.version} of {NEWEST.date} ({NEWEST.sha}, " in completed.stdout
    assert set(release_table.load(table)) >= set(ROWS)
    assert "There is no new release; the table's newest is torch " in checkout.run("tensorcopy", "measure", "--add-release", "NEW").stdout


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('sha = "', 'sha = "x'), r"cannot be read: .*\$\.release\[0\]\.sha"),
        (("numpy = ", "nunpy = "), "missing required field `numpy`"),
        (('"3.9"]', '"three"]'), "cannot be read"),
        (('cuda = "', 'cuda = "x'), "cannot be read"),
        (('kernels = ["', 'kernels = ["x'), "cannot be read"),
        (('numpy = "', 'requires = ["--pre"]\nnumpy = "'), "cannot be read"),
        (('numpy = "', 'numpy = "1\\u0000'), "cannot be read"),
        (("[[release]]", "[[release"), "cannot be read"),
        ((release_table.TABLE.read_text(), "release = [5]"), r"cannot be read: .* allowed: \[\[release\]\] tables"),
        ((release_table.TABLE.read_text(), "[release]\nversion = '2.0.0'"), r"cannot be read: .* allowed: \[\[release\]\] tables"),
        (("sha = ", f"{'sha.' * 100_000}sha = "), "cannot be read: got a line with 100,000 dots"),
        (('version = "1.9.0"', f'version = "{"9" * 5000}.0.0"'), r"cannot be read: .*\$\.release\[0\]\.version"),
    ],
    ids=["sha", "key", "Python", "CUDA", "kernel", "option", "null character", "syntax", "no tables", "one table", "long key", "version"],
)
def test_a_damaged_table_is_an_error_in_one_line(tmp_path, change, message):
    """The table may be edited by hand."""
    table = tmp_path / "releases.toml"
    table.write_text(release_table.TABLE.read_text().replace(*change, 1))
    with pytest.raises(TensorcopyError, match=message):
        release_table.load(table)


@pytest.fixture
def index(monkeypatch):
    """The wheels of an index, and a wheel with the constants of torch 2.0.0; the requirements that are installed."""
    days = ("2023-03-16T08:00:00Z", "2023-03-15T20:59:00Z")
    wheels = [{"url": f"torch-2.0.0-cp3{minor}-cp3{minor}-manylinux1_x86_64.whl", "upload-time": days[minor % 2]} for minor in range(9, 20)]
    installed: list[str] = []

    def make_environment(path: Path, python: Path, requirements: list[str]) -> None:
        installed.extend(requirements)
        torch = path / "lib" / "python3.11" / "site-packages" / "torch"
        (torch / "lib").mkdir(parents=True)
        (torch / "version.py").write_text(f"__version__ = '2.0.0+cu117'\ncuda: Optional[str] = '11.7'\ngit_version = '{'c' * 40}'\n")
        (torch / "lib" / "libtorch_python.so").write_bytes(b"\0sm_37 \0sm_80 sm_90 compute_90\0")

    monkeypatch.setattr(uv, "make_environment", make_environment)
    monkeypatch.setattr(uv, "index_entry", lambda _: {"wheels": wheels})
    return wheels, installed


def test_a_row_is_read_from_the_wheel(index):
    """Its day is that of the first upload, and its Pythons are those with a wheel; torch alone is installed."""
    _, installed = index
    row = wheel_index.release("2.0.0")
    assert (row.version, row.sha, row.date.isoformat(), row.pythons) == ("2.0.0", "c" * 40, "2023-03-15", ("3.9", "3.19"))
    assert (row.cuda, row.kernels) == ("11.7", ("sm_80", "sm_90", "compute_90"))
    assert installed == ["--no-deps", "torch==2.0.0"]


def test_a_row_without_a_date_is_not_made(index):
    """An index may tell no day of an upload; nothing is installed."""
    wheels, installed = index
    del wheels[3]["upload-time"]
    with pytest.raises(TensorcopyError, match=r"torch 2\.0\.0 cannot be added: got a package index without upload times"):
        wheel_index.release("2.0.0")
    assert installed == []
