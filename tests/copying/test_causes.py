"""`tensorcopy.why` takes the results that `tensorcopy why` takes, and fails with the same words."""

import pytest

from tensorcopy import cli
from tensorcopy.copying.causes import why
from tensorcopy.errors import TensorcopyError
from tensorcopy.results import select
from tests.conftest import SHIPPED, SHIPPED_GPU


@pytest.fixture(autouse=True)
def _loaded_once(monkeypatch, shipped_results):
    monkeypatch.setattr(select, "load_results", lambda folder, releases: shipped_results)


@pytest.mark.parametrize(
    ("device", "machine", "text"),
    [
        ("cuda", "", SHIPPED_GPU.name),
        ("cuda", SHIPPED.name, f"no result on cuda: got --device cuda --machine {SHIPPED.name}"),
        ("xpu", "", "no result on xpu"),
    ],
    ids=["not counted", "another machine", "not measured"],
)
def test_a_device_selects_the_machine_as_in_the_command(capsys, device, machine, text):
    """No functions were counted on the GPU's machine, which both errors name."""
    sides = "detach", "2.14.1", "2.15.0"
    with pytest.raises(TensorcopyError) as error:
        why(*sides, device=device, machine=machine)
    assert cli.main(["why", *sides, "--device", device, *(["--machine", machine] if machine else [])]) == 2
    assert text in str(error.value)
    assert str(error.value) in capsys.readouterr().err
