"""What near misses have shown to be kind: each is judged strictly now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from runs import StoryRun, counts_of

from chaoskit.contract.guarantees.act import Messages

LOAD = {"kind": "log", "rate": 10, "duration": "60s"}


@pytest.mark.parametrize(
    ("pattern", "client", "meant"),
    [
        ("*", "producer-1", True),
        ("producer-1", "producer-1", True),
        ("producer-*", "producer-1", True),
        ("chaoskit-producer-1-log", "producer-1", True),
        ("producer-10", "producer-1", False),
        ("producer-17*", "producer-1", False),
        ("producer-10", "", True),
    ],
)
def test_messages_of_a_client_are_not_those_of_one_whose_number_begins_alike(
    pattern: str, client: str, meant: bool
) -> None:
    assert Messages("Produce", answers=False, client=pattern).of(client) == meant


@pytest.mark.parametrize(("start", "allowed"), [(40, True), (200, False)])
def test_a_fault_after_the_last_event_explains_nothing(tmp_path: Path, start: float, allowed: bool) -> None:
    run = StoryRun(tmp_path, LOAD)
    run.led("n1")
    run.fault("power-cut", ("n1", "n2", "n3"), start, start + 10)
    for value in range(400):
        run.send("producer-0", value, value * 0.1, value)
    run.read_back(100, {})

    assert counts_of(run.judged(60, 10))["lost"] == (400, allowed)


@pytest.mark.parametrize(
    ("kind", "host", "parameters", "allowed"),
    [
        ("packet-delay", "n1", {"delay": "1ms"}, False),
        ("packet-delay", "n1", {"delay": "10s"}, True),
        ("partition", "n1", {}, True),
        ("partition", "n2", {}, True),
        ("partition", "n3", {}, False),
        ("partition", "n3", {"peers": ["n1"]}, True),
        ("partition", "n9", {"peers": ["n1"]}, False),
    ],
)
def test_an_election_has_a_cause_that_touched_one_of_its_leaders(
    tmp_path: Path, kind: str, host: str, parameters: dict[str, Any], allowed: bool
) -> None:
    run = StoryRun(tmp_path, {**LOAD, "producer": {"acks": 1}})
    run.led("n1")
    run.led("n2", 41.5)
    run.fault(kind, (host,), 40, 50, **parameters)
    for value in range(600):
        run.send("producer-0", value, value * 0.1, value)
    run.read_back(100, {value: value for value in range(600) if not 390 <= value < 400}, end=600)

    assert counts_of(run.judged(60, 10))["lost"] == (10, allowed)


@pytest.mark.parametrize(("first_s", "allowed"), [(16, True), (200, False)])
def test_the_first_messages_are_lost_on_a_way_only_until_it_is_tried_again(
    tmp_path: Path, first_s: float, allowed: bool
) -> None:
    run = StoryRun(tmp_path, {**LOAD, "producer": {"acks": 0}})
    run.led("n1")
    run.fault("kill", ("n1",), 10, 14)
    for value in range(100):
        run.send("producer-0", value, first_s + value * 0.1, value)
    run.read_back(300, {value: value for value in range(4, 100)}, end=100)

    assert counts_of(run.judged(250, 10))["lost"] == (4, allowed)


@pytest.mark.parametrize(("first_s", "allowed"), [(1, True), (24, True), (40, False)])
def test_a_clock_that_was_ahead_expires_what_was_written_before_it_was_right_again(
    tmp_path: Path, first_s: float, allowed: bool
) -> None:
    run = StoryRun(tmp_path, LOAD)
    run.led("n1")
    run.fault("clock-jump", ("n1",), 20, 30, by="200h")
    for value in range(100):
        run.send("producer-0", value, first_s + value * 0.05, value)
    run.read_back(100, {value: value for value in range(50, 100)}, low=50, end=100)

    counts = counts_of(run.judged(60, 20))
    assert {name: counts[name] for name in ("expired", "lost") if name in counts} == {"expired": (50, allowed)}


@pytest.mark.parametrize(("client", "allowed"), [("producer-0", True), ("producer-2", False)])
def test_a_producer_is_known_after_its_restart(tmp_path: Path, client: str, allowed: bool) -> None:
    run = StoryRun(tmp_path, {**LOAD, "producer": {"acks": 0}})
    run.led("n1")
    run.fault("client-crash", ("producer-0",), 10, 11)
    run.fault("client-crash", (client,), 40, 42)
    again = 2 << 40
    for number in range(100):
        run.send("producer-0", number, number * 0.1, number)
    for number in range(200):
        run.send("producer-0#1", again + number, 20.05 + number * 0.1, 100 + number)
    kept = {again + number: 100 + number for number in range(196)}
    run.read_back(100, {number: number for number in range(100)} | kept)

    assert counts_of(run.judged(60, 10))["lost"] == (4, allowed)
