"""Tables as CSV and as Markdown."""

import pytest

from tensorcopy.report.formats import csv_text, markdown_table


def test_csv_has_a_header_and_empty_fields_for_none():
    """Text with a comma is quoted; lines end with a newline alone."""
    assert csv_text(("case", "time"), [("a, b", 1.5), ("c", None)]) == 'case,time\n"a, b",1.5\nc,\n'


@pytest.mark.parametrize(
    ("rows", "text"),
    [([], ""), ([("a", "1"), ("b", "")], "\n| a | 1 |\n| b | |")],
    ids=["no rows", "an empty cell"],
)
def test_a_markdown_table_has_a_column_for_each_letter(rows, text):
    """Numbers are aligned to the right."""
    assert markdown_table(("", "cases"), rows, "lr") == "| | cases |\n|---|--:|" + text
