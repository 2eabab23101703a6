"""What every test asks of the errors that it meets: that what they tell to do next can be typed."""

import pytest

from tests import nexts

TEXTS = {  # and whether all of it can be typed
    "tensorcopy why without --machine shows it": False,
    "copy a name from tensorcopy compare": False,
    "tensorcopy measure --device tpu": False,
    "repeat with --margine 3": False,
    "asv continuous --faktor 2": False,
    "git -C results/box checkout --nope x": False,
    "uv python instal 3.12": False,
    "pip install --nope torch": False,
    "tensorcopy compare 2.14.1 2.15.0 --all lists the cases": True,
    "git -C results/box checkout launch.json where git has it, or remove it": True,
    "uv pip install --python .venv/bin/python torch, or asv continuous HEAD~1 HEAD": True,
}


@pytest.mark.parametrize("text", TEXTS)
def test_what_cannot_be_typed_is_refused(text):
    assert (nexts.faults(text) == []) is TEXTS[text]
