"""Silences of readers: nothing received of a partition although something had been acknowledged, by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recorded import Sent, fault, figures_of, load, recorded

from chaoskit.judge.timing.silence import silences
from chaoskit.model.outcome import OK

UNIT = 10_000_000
"""Ten milliseconds, ns."""

SENDS: list[Sent] = [(0, at, at + 2, OK) for at in range(0, 10_000, 100)]


def _received(deaf: range, until_ms: int = 10_000, client: str = "consumer-0") -> list[tuple[str, int, int]]:
    """Return the receipts of a client that gets each message 5 ms after it was sent, but what was sent while it was
    deaf never."""
    return [
        (client, number, sent[1] + 5) for number, sent in enumerate(SENDS) if sent[1] not in deaf and sent[1] < until_ms
    ]


def _of(tmp_path: Path, received: list[tuple[str, int, int]], **given: Any) -> dict[str, Any]:
    figures: dict[str, Any] = figures_of(
        recorded(tmp_path, SENDS, received, **given), load(10_000), fault(3_000, 4_000, 5_000)
    )
    return figures


def test_a_reader_that_hears_nothing_is_told_beside_one_that_does(tmp_path: Path) -> None:
    figures = _of(tmp_path, [*_received(range(3_000, 8_000)), *_received(range(0), client="consumer-1")])

    availability = figures["availability"]
    assert availability["unheard_ms"] == 5_003  # from the acknowledgement at 3,002 ms to the receive at 8,005 ms
    assert availability["unheard_by"] == {"reader": "consumer-0", "partition": "t/0", "from_s": 3.002}
    assert (availability["heard_after_heal_ms"], availability["not_heard"]) == (3_005, 0)
    assert availability["by_fault"][0]["unheard_ms"] == 5_003
    assert figures["behaviour"][0]["unheard_ms"] == 5_003
    assert availability["longest_unavailable_ms"] < 10  # sends were acknowledged all the time


def test_a_reader_that_never_hears_again_is_silent_until_the_load_ends(tmp_path: Path) -> None:
    availability = _of(tmp_path, _received(range(0), until_ms=3_000))["availability"]

    assert (availability["unheard_ms"], availability["not_heard"]) == (6_998, 1)
    assert availability["heard_after_heal_ms"] == 5_000


@pytest.mark.parametrize("member", ["assigned", "subscribed", "committed"])
def test_members_of_a_group_are_one_reader(member: str, tmp_path: Path) -> None:
    first, second = _received(range(0), until_ms=5_000), _received(range(5_000), client="consumer-1")
    availability = _of(tmp_path, [*first, *second], group="payments", member=member)["availability"]

    assert availability["unheard_by"]["reader"] == "group payments"
    assert availability["unheard_ms"] < 100


def test_without_readers_nothing_is_told(tmp_path: Path) -> None:
    assert "unheard_ms" not in _of(tmp_path, [])["availability"]


@pytest.mark.parametrize(
    ("received", "since", "sends", "silence"),
    [
        ([10, 30], 0, [(5, 6), (25, 26)], [(6, 10), (26, 30)]),  # nothing was sent after 30
        ([10], 0, [(5, 6), (40, 90)], [(6, 10), (90, 100)]),  # not before it was acknowledged, until the end
        ([10, 200], 0, [(5, 6), (40, 41)], [(6, 10), (41, 100)]),  # what comes after the load ended does not count
        ([], 50, [(5, 6), (60, 61)], [(61, 100)]),  # not what was sent before it read
        ([10], 0, [(8, 20)], []),  # what was received before its acknowledgement arrived
        ([], 120, [(5, 6)], []),  # it came after the load
    ],
)
def test_a_silence_is_from_an_acknowledgement_to_a_receive(
    received: list[int], since: int, sends: list[tuple[int, int]], silence: list[tuple[int, int]]
) -> None:
    start, done = (np.array(column) * UNIT for column in zip(*sends, strict=True))
    spans = silences(np.array(received, np.int64) * UNIT, since * UNIT, start, done, 100 * UNIT)

    assert [tuple(pair) for pair in (np.stack([spans.begin_ns, spans.end_ns], 1) // UNIT).tolist()] == silence
