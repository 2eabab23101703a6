"""What every test asks of the errors that it meets: that what they tell to do next can be typed."""

import pytest

from tests import nexts


@pytest.mark.parametrize(
    "text",
    [
        "tensorcopy why without --machine shows it",
        "copy a name from tensorcopy compare",
        "tensorcopy measure --device tpu",
        "repeat with --margine 3",
        "asv continuous --faktor 2",
        "git -C results/box checkout --nope x",
        "uv python instal 3.12",
        "pip install --nope torch",
    ],
)
def test_what_cannot_be_typed_is_refused(text):
    assert nexts.faults(text)


@pytest.mark.parametrize(
    "text",
    [
        "tensorcopy compare 2.14.1 2.15.0 --all lists the cases",
        "name one of these, or tensorcopy measure 2.0.1",
        "git -C results/box checkout launch.json where git has it, or remove it",
        "uv pip install --python .venv/bin/python torch, or asv continuous HEAD~1 HEAD",
    ],
)
def test_what_can_be_typed_is_not(text):
    assert nexts.commands(text)
    assert nexts.faults(text) == []
