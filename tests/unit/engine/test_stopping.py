"""`stop_when`: a run that ends by itself."""

from __future__ import annotations

import time
from contextlib import closing
from typing import Any

import pytest
from samples import content

from chaoskit.base.errors import BadInput
from chaoskit.model.progress import Progress
from chaoskit.run.stopping import Stopping
from chaoskit.scenario.model import parse_scenario
from chaoskit.scenario.stopping import StopWhen


def _reason(progress: list[Progress], pause_s: float, **when: Any) -> str:
    """Return what is said first, with a pause between two looks."""
    with closing(Stopping(StopWhen.model_validate(when))) as stopping:
        for step in progress:
            if said := stopping.reason(step):
                return said
            time.sleep(pause_s)
    return ""


def test_a_load_without_acknowledgements_is_stopped() -> None:
    still = [Progress(sent=2, acked=1), Progress(sent=9, acked=1), Progress(sent=19, acked=1)]
    moving = [Progress(acked=count) for count in range(3)]

    assert _reason(still, 0.02, unavailable="10ms").startswith("no send was acknowledged for 10ms")
    assert _reason(moving, 0.02, unavailable="1s") == ""


def test_a_lag_stops_a_load() -> None:
    assert _reason([Progress(acked=101, received=0)], 0, lag=100).startswith("101 acknowledged messages were not")
    assert _reason([Progress(acked=100, received=0)], 0, lag=100) == ""


@pytest.mark.parametrize(
    ("command", "stops"), [("true", True), ("false", False), ("sleep 100", False), ("nowhere", False)]
)
def test_a_command_stops_a_load_by_exiting_with_0(command: str, stops: bool) -> None:
    looks = 400 if stops else 8
    said = _reason([Progress()] * looks, 0.05, command=command, every="10ms")

    assert bool(said) == stops


def test_a_command_that_does_not_exist_stops_a_load_because_nobody_watches_it() -> None:
    said = _reason([Progress()] * 3, 0.02, command=["nowhere"], every="10ms")

    assert said == "the command cannot be run: No such file or directory (stop_when.command)"


def test_nothing_stops_a_load_without_conditions() -> None:
    assert Stopping(None).reason(Progress()) == ""


def test_conditions_are_checked_first() -> None:
    with pytest.raises(BadInput, match="stop_when: give at least one of unavailable, lag and command"):
        parse_scenario(content(stop_when={}), "bad.yaml")
    with pytest.raises(BadInput, match=r"stop_when\.unavailable"):
        parse_scenario(content(stop_when={"unavailable": "soon"}), "bad.yaml")
