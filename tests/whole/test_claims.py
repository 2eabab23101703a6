"""Nothing says slower or faster of a time that did not change: pages, feed, terminal."""

import re

import pytest

from tensorcopy.cli import main
from tests import launch_files
from tests.site import world
from tests.site.reading import read


@pytest.mark.parametrize(("counts", "word"), [(800, "fewer"), (1250, "more")])
def test_a_case_with_other_instructions_and_the_same_time_is_not_called_faster_or_slower(tmp_path, monkeypatch, capsys, counts, word):
    """On no page, not in the feed and in no line of the terminal."""
    releases, methods = ["2.13.0", "2.14.1", "2.15.0"], ("m0", "m1", "m2")
    results = tmp_path / "results"
    launch_files.write(results, {f"copies.BySize.time_copy {method} 16": dict.fromkeys(releases, 1.0) for method in methods}, noise=0.002)
    for release, count in zip(releases, (1000, 1000, counts)):
        counted = {f"instructions.BySize.track_instructions {method} 16 False": count for method in methods}
        launch_files.write_counts(results, release, counted, methods=dict.fromkeys(methods, launch_files.observed()))
    site = world.files_of(results)
    assert not [address for address, text in site.items() if re.search('class="(v )?(slower|faster)', text)]
    assert "<entry>" not in site["slowdowns.xml"]
    pair = read(site["compare/2.14.1..2.15.0.html"]).text
    assert "0 slower · 0 faster · 3 unchanged" in pair
    assert re.search(rf"\b3 of 3 cases execute {word}|3 of 3 execute {word}", pair)
    monkeypatch.chdir(tmp_path)
    compared = [["compare", *releases[1:], "--format", form] for form in ("text", "markdown", "json", "csv")]
    for arguments in (*compared, ["history"], ["history", "--open"], ["history", "^instructions.* m0 "]):
        assert main(arguments) == 0
        printed = " ".join(capsys.readouterr().out.split())
        told = re.sub(r"none of \d+ cases slower, none faster|None of \d+ cases on .* is slower", "", printed)
        assert not re.search("slower|faster|▲|▼", told), arguments
