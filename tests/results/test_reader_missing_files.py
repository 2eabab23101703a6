"""No verdict from half a history without a word: what could not be read is named, or the command refuses."""

import shutil
from pathlib import Path

import pytest

from tensorcopy.copying.shipped import shipped
from tensorcopy.results import function_profiles
from tensorcopy.site import build
from tests.mutations import FILE_MUTATIONS, kinds

CASE = "copies.BySize clone_detach numel=16"


@pytest.fixture
def run(small_checkout, run_command):
    """The function `run_command`, in a copy of the small checkout."""
    return run_command


def damage(number: int = 1) -> str:
    """Cut off one of the launches of 2.4.1, 2.12.1 and 2.15.0, and return the start of its error."""
    path = kinds(Path("results"))["times"][number]
    path.write_text(path.read_text()[:1000])
    return f"the file {path} cannot be read"


def test_releases_without_a_readable_launch_are_not_replaced_by_others(run):
    """The error names a file; another Python is taken only where it is named."""
    names = [damage(number) for number in range(4)]
    for path in kinds(Path("results"))["counts"]:
        path.unlink()
    code, output, errors = run("compare", "2.4.1", "2.15.0")
    assert (code, output) == (2, "")
    assert errors.startswith(f"tensorcopy: {names[0]}: got ")
    assert "other launches are not affected" in errors


def test_a_damaged_launch_of_another_history_changes_nothing(run):
    """It could not have taken part in a comparison of a named one."""
    shutil.copytree("results/box", "results/other")
    for path in (*Path("results/other").glob("*.json"), Path("results/other/history.toml")):
        path.write_text(path.read_text().replace("Box 9000", "Box 9001").replace('"seconds":1', '"seconds":2'))
    clean = run("compare", "2.4.1", "2.15.0", "--history", "box")
    assert clean[::2] == (0, "")
    next(Path("results/other").glob("*.json")).write_text("{")
    assert run("compare", "2.4.1", "2.15.0", "--history", "box") == clean
    assert run("compare", "2.4.1", "2.15.0", "--history", "other")[2].startswith("tensorcopy: the file results/other/")


def test_a_folder_that_is_a_link_to_another_is_read_once(run):
    """Else each of its launches would be a copy; so is results/ itself where it is a link."""
    clean = run("compare", "2.4.1", "2.15.0")
    Path("results/0").symlink_to("box")
    assert run("compare", "2.4.1", "2.15.0") == clean
    Path("results").rename("elsewhere")
    Path("results").symlink_to("elsewhere")
    assert run("compare", "2.4.1", "2.15.0") == clean


def test_a_launch_with_two_lists_of_suites_is_refused(run):
    """A reader of JSON takes the last of two keys without a word."""
    path = next(Path("results/box").glob("*.json"))
    path.write_text(path.read_text().replace('"suites"', '"suites" : {}, "suites"', 1))
    assert f"{path.name} cannot be read: got two lists of suites" in run("compare", "2.4.1", "2.15.0")[2]


@pytest.mark.parametrize("kind", ["empty", "a link to itself", "a link to nothing", "a FIFO"])
def test_a_folder_that_cannot_be_listed_is_named(run, kind):
    """It might have answered, unless another one is named. Files beside the folders and what an editor leaves there are none."""
    Path("results/README.md").write_text("About these results.")
    Path("results/.#README.md").symlink_to("user@host.1")
    clean = run("compare", "2.4.1", "2.15.0", "--history", "box")
    assert clean[::2] == (0, "")
    Path("results/other").touch()
    FILE_MUTATIONS[kind](Path("results/other"))
    for command in (["compare", "2.4.1", "2.15.0"], ["history"], ["why", "detach_clone", "2.4.1", "2.15.0"]):
        code, _, errors = run(*command)
        assert (code, errors.split(": got ")[0]) == (2, "tensorcopy: the launches in results/other cannot be listed"), command
    assert run("compare", "2.4.1", "2.15.0", "--history", "box") == clean


@pytest.mark.parametrize(
    "command",
    [
        ["compare", "2.4.1", "2.15.0"],
        ["compare", "2.4.1", "2.15.0", "--metric", "instructions"],
        ["compare", "2.4.1", "2.15.0", "--format", "markdown"],
        ["compare", "2.4.1", "2.15.0", "--explain", CASE],
        ["history"],
        ["history", CASE],
    ],
    ids=" ".join,
)
def test_output_and_errors_name_a_file_that_could_have_taken_part(run, command):
    """Its other launches are enough for an answer; the exit code says that one is missing."""
    assert run(*command)[0] == 0
    name = damage()
    code, output, errors = run(*command)
    assert name in output.replace("\\_", "_")
    assert errors.startswith(f"tensorcopy: {name}: got ")
    assert code == 2


def test_a_site_without_a_result_is_written_with_a_warning(run):
    """As where results_dir names another folder: the site that was there had times."""
    target = Path("site")
    target.mkdir()
    problems, warnings = build.publish(shipped(), Path("resutls"), target)
    assert (problems, (target / "index.html").is_file()) == ((), True)
    assert [warning.got for warning in warnings] == ["no launch in resutls"]


def test_every_page_names_what_could_not_be_read(run):
    """A launch, and a profile, without which a change would only lack its reason; in both languages. So does what publishes the site."""
    names = [damage(), next(Path("results").glob(f"*/*{function_profiles.ENDING}")).name]
    next(Path("results").glob(f"*/{names[1]}")).write_bytes(b"no xz")
    target = Path("site")
    target.mkdir()
    problems, _ = build.publish(shipped(), Path("results"), target)
    assert [any(name in problem.what for problem in problems) for name in names] == [True] * 2
    for address in ("index.html", "ja/index.html", "compare/index.html", "data.html"):
        text = (target / address).read_text(encoding="utf-8")
        assert [name in text for name in names] == [True] * 2, address
