"""The values of options that several commands have."""

import argparse

import pytest

from tensorcopy.measure import settings

DURATIONS = {"5h": 18000, "90m": 5400, "30s": 30, "1h30m": 5400, "2h5s": 7205}
NO_DURATIONS = ("", "5", "0h", "-5h", "5d", "h", "1.5h", "5 h", "30m1h", "nan", "٥h", "9" * 5000 + "h")
NO_NAMES = ("", ".", "..", "../box", "a/b", "a\\b", "a:b", "-box", ".box", "box.", "a b", "a\nb", "a\x00b", "\x1b[31m", "x" * 65, "\udcff")


def test_a_duration_has_units_and_a_machine_a_name_that_may_be_a_folder():
    """Of other texts, the error says what is allowed."""
    assert {text: settings.duration(text) for text in DURATIONS} == DURATIONS
    for text in NO_DURATIONS:
        with pytest.raises(argparse.ArgumentTypeError, match="allowed: hours, minutes or seconds, such as 5h, 90m or 1h30m"):
            settings.duration(text)
    for name in ("xeon-2core", "h200", "a", "a.b_c+d", "機械", "x" * 64):
        assert settings.machine_name(name) == name
    for name in NO_NAMES:
        with pytest.raises(argparse.ArgumentTypeError, match="allowed: up to 64 letters, digits and"):
            settings.machine_name(name)
