"""What recording costs: measured by recording."""

from __future__ import annotations

import pytest

from chaoskit.cli.output.benched import recording
from chaoskit.interop.omb.recording import RecordingCost, recording_cost
from chaoskit.model.payload import SIZE_MIN


@pytest.mark.parametrize("size", [SIZE_MIN, 100, 10_000])
def test_recording_takes_time_in_each_way(size: int) -> None:
    cost = recording_cost(size)

    assert cost.size == size
    assert min(cost.burst_us, cost.single_us, cost.received_us) > 0


def test_the_cost_is_told_in_words() -> None:
    words = recording(RecordingCost(1000, 0.91, 5.2, 0.84))

    assert words.startswith("Recording a message of 1,000 bytes takes 0.9 us of CPU time when it is sent (5.2 us if")
    assert "and 0.8 us when it is received" in words
