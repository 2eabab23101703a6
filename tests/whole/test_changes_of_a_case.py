"""What the table and the data of a case say of its changes is what its history has; `test_one_answer` has the numbers."""

import json

from tensorcopy.copying.shipped import shipped
from tensorcopy.numbers import change_size
from tensorcopy.releases import release_table
from tensorcopy.report import history as reports
from tensorcopy.report import table
from tensorcopy.results import reader
from tensorcopy.site import facts
from tests import launch_files

RELEASES = release_table.load()[-8:]


def test_the_size_of_a_change_is_that_of_the_release_against_the_one_before(tmp_path):
    """With its interval, by which a reader of the history sees how sure it is; the level after it is another value."""
    times = [1.0, 1.0, 1.0, 1.0, 1.5, 1.52, 1.54, 1.56]
    cases = {"copies.BySize.time_copy clone_detach 16": {release.version: time for release, time in zip(RELEASES, times)}}
    launch_files.write(tmp_path, cases)
    (shown,) = facts.site(shipped(), reader.load_results(tmp_path).histories).histories
    ((case, history),) = shown.cases.items()
    (step,) = history.steps
    low, high = step.interval
    assert low < step.ratio < high
    assert low < 1.5 < high < 1.52
    size, ends = f"+{change_size(step.ratio)}", f"+{100 * (low - 1):.1f} to +{100 * (high - 1):.1f} %"
    (row,) = [row for row in shown.rows[case] if row["verdict"] == "slower"]
    assert (row["torch"], row["ratio"], row["low"], row["high"]) == (RELEASES[4].version, step.ratio, low, high)
    report = reports.of_case(history, None, "cpu")
    (printed,) = [row for row in report.rows if row.get("change")]
    assert (printed["release"], printed["change"], printed["interval"]) == (RELEASES[4].version, f"▲ {size}", ends)
    (document,) = [row["step"] for row in json.loads(table.as_json(report))["releases"] if row["step"]]
    assert document["interval"] == [float(f"{end:.6g}") for end in step.interval]
