"""Launch files and profiles are untrusted: whatever is damaged in them raises nothing, runs no script and takes no memory."""

from __future__ import annotations

import csv
import re
import shutil
from contextlib import suppress
from datetime import date
from io import StringIO
from pathlib import Path
from random import Random

import pytest
from markdown_it import MarkdownIt

from tensorcopy import configuration
from tensorcopy.ci import runners
from tensorcopy.cli import main
from tensorcopy.cli.arguments import results_folder
from tensorcopy.copying import advise, recommend
from tensorcopy.copying.recommend import CopyRequest
from tensorcopy.copying.shipped import of_folder, shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tensorcopy.results import function_profiles, reader, suite_specs
from tensorcopy.site import build, facts
from tests import launch_files
from tests.conftest import ROOT, lab_campaign
from tests.mutations import FILE_MUTATIONS, RELEASES, kinds, mutate

RESULTS = Path("results")
COMMANDS = (["compare", *RELEASES], ["history"], ["why", "detach_clone", *RELEASES])
TRIES = [4, pytest.param(40, marks=pytest.mark.weekly)]


@pytest.fixture
def in_copy(small, tmp_path, monkeypatch):
    """A function that makes a fresh copy of the small checkout the current folder."""

    def copied() -> None:
        monkeypatch.chdir(tmp_path)
        shutil.rmtree("checkout", ignore_errors=True)
        shutil.copytree(small, "checkout")
        monkeypatch.chdir(tmp_path / "checkout")

    return copied


@pytest.mark.parametrize("tries", TRIES)
@pytest.mark.parametrize("kind", ["times", "counts", "profile"])
def test_no_mutation_of_any_kind_of_file_raises(in_copy, run_command, kind, tries):
    """Every command ends in its own words; the same mutations in each run, others in each weekly one."""
    in_copy()
    assert [run_command(*arguments)[0] for arguments in COMMANDS] == [0] * len(COMMANDS)
    random = Random(kind if tries == TRIES[0] else f"{kind} {date.today()}")
    for _ in range(tries):
        in_copy()
        done = mutate(random.choice(kinds(RESULTS)[kind]), random.choice)
        for problem in reader.load_results(RESULTS, shipped()).problems:
            assert "\n" not in str(problem), done
            assert len(str(problem)) < 2000, done
        for arguments in COMMANDS:
            code, _, errors = run_command(*arguments)
            assert code in (0, 2, 3), done
            assert "Traceback" not in errors, done
            assert "a fault of tensorcopy" not in errors, done
            assert errors.startswith("tensorcopy: ") or not code, done


FORMULAS = ("=1+1", "+1", "-1", "@sum", "tabbed")
UNIT, COMMIT = "=|<b>@name", "0123456789" * 4


def test_no_text_of_a_launch_is_a_formula_a_link_or_a_tag(tmp_path, monkeypatch, capsys):
    """In any table for a spreadsheet, and in any text for GitHub: names of suites, their units, and what they raise."""
    monkeypatch.chdir(tmp_path)
    values = {f"{name}.track_rate": (1.0, 2.0) for name in FORMULAS}
    paths = launch_files.write(RESULTS, {f"{name}.time_call": dict.fromkeys(RELEASES, 1.0) for name in FORMULAS})
    paths += launch_files.write(RESULTS, {"own.time_call": {RELEASES[0]: 1.0, RELEASES[1]: f"RuntimeError: {COMMIT}"}}, machine="box")
    for place, release in enumerate(RELEASES):
        of_side = {name: [of_both[place]] * 2 for name, of_both in values.items()}
        paths += launch_files.write_counts(RESULTS, release, of_side, units=dict.fromkeys(of_side, UNIT))
    for path in paths:
        path.write_text(path.read_text().replace('"tabbed.', '"\\ttabbed.'))
    texts = {}
    for form in ("csv", "markdown"):
        assert main(["compare", *RELEASES, "--format", form]) == 2  # a case has failed
        texts[form] = capsys.readouterr().out
    content = facts.site(lab_campaign(tmp_path), reader.load_results(RESULTS, shipped()).histories)
    tables = [texts["csv"], *(text for address, text in build.files(content) if address.endswith(".csv"))]
    assert len(tables) == 2
    for table in tables:
        cells = [cell for row in csv.reader(StringIO(table)) for cell in row]
        assert {f"'{name}.track_rate" for name in FORMULAS[:-1]} | {"'\ttabbed.track_rate"} <= {*cells}
        assert [cell for cell in cells if re.match(r"\s*[=+@-]|\t", cell) and not re.fullmatch(r"-?[0-9.]+(e-?[0-9]+)?", cell)] == []
    tokens = [inner for token in MarkdownIt("gfm-like", {"linkify": False}).parse(texts["markdown"]) for inner in (token.children or ())]
    assert [token.content for token in tokens if token.type == "html_inline"] == []
    plain = " ".join(token.content for token in tokens if token.type == "text")
    assert COMMIT in plain.replace("\u200b", "")
    assert UNIT in plain.replace("\u200b", "")
    assert not re.search(rf"@\w|{COMMIT}", plain)


REQUEST = CopyRequest("tensor", own=True, keeps_graph=None, requires_grad=False, device="cpu")
DECLARED = """[project]
name = "p"
title = "t"
requires = ["einops==0.8"]
[[accepted]]
case = "copies"
until = "2.15.0"
why = "the price of a check"
"""


READERS = {  # what reads each file that people write or that another program has written
    "asv.conf.json": lambda path: (configuration.paths(), configuration.of_folder()),
    "tensorcopy.toml": lambda path: of_folder(path.parent),
    "releases.toml": lambda path: release_table.load(path),
    ".github/runners.toml": lambda path: runners.matrix(),
    "suites.toml": suite_specs.read,
    "shipped.json": lambda path: recommend.answer(advise.shipped_evidence.__wrapped__("cpu", path), REQUEST),
}


@pytest.mark.parametrize("tries", TRIES)
@pytest.mark.parametrize("name", READERS)
def test_no_mutation_of_a_configuration_or_report_raises_but_one_line(name, tries, tmp_path, monkeypatch):
    """Whatever is in it: its reader accepts it, or says in one line which file is wrong."""
    monkeypatch.chdir(tmp_path)
    sources = {"shipped.json": advise.SHIPPED, "releases.toml": release_table.TABLE, "suites.toml": ROOT / "benchmarks" / name}
    content = DECLARED.encode() if name == "tensorcopy.toml" else sources.get(name, ROOT / name).read_bytes()
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    for number in range(tries):
        random = Random(f"{name} {number}")
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
        path.write_bytes(content)
        if number:
            mutate(path, random.choice)
            with suppress(TensorcopyError):  # which is one line
                READERS[name](path)
        else:
            READERS[name](path)


OTHER_THINGS = ("a FIFO", "a folder", "a device", "a link to itself", "a link to nothing")  # in the place of a file


@pytest.mark.parametrize("kind", OTHER_THINGS)
@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("tensorcopy.toml", lambda path: of_folder(path.parent)),
        ("asv.conf.json", lambda path: results_folder()),
        ("releases.toml", lambda path: of_folder(path.parent)),
        (".github/runners.toml", lambda path: runners.matrix()),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_read_is_not_taken_for_absent(name, read, kind, tmp_path, monkeypatch):
    """Without what is accepted, exit codes would change without a word."""
    monkeypatch.chdir(tmp_path)
    if name == "releases.toml":
        (tmp_path / "tensorcopy.toml").write_text('[project]\nname = "p"\n')
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.touch()
    FILE_MUTATIONS[kind](path)
    with pytest.raises(TensorcopyError, match=path.name):
        read(path)


@pytest.mark.parametrize(
    "kind", [*OTHER_THINGS, "a link that leaves the folder", "a large file", "a small file that unpacks to a huge one"]
)
def test_nothing_but_a_file_is_read_as_functions(in_copy, kind):
    """Reading a pipe or a device would not end, and a huge file would take all memory."""
    in_copy()
    path = kinds(RESULTS)["profile"][0]
    FILE_MUTATIONS[kind](path)
    with pytest.raises(TensorcopyError, match=re.escape(path.name)):
        function_profiles.read(path)
