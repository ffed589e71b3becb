"""A fault explains what it can have caused, as far as the record shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from runs import TASKS, QueueRun, StoryRun, counts_of, needed

LOAD = {"kind": "log", "producers": 1, "consumers": 1, "rate": 10, "duration": "900s", "consumption": "group"}


@pytest.mark.parametrize("kind", ["kill", "power-cut"])
def test_a_commit_that_goes_back_long_after_the_healing_is_not_explained(tmp_path: Path, kind: str) -> None:
    run = StoryRun(tmp_path, LOAD)
    run.led("n1")
    run.fault(kind, ("n1", "n2", "n3"), 10, 14)
    for value in range(900):
        run.send("producer-0", value, value, value)
    run.op("consumer-0", "subscribe", 0)
    run.op("consumer-0", "assign", 0.01, observed=[("assigned", "log-0", 0, "g", 1, None)])
    for value in range(900):
        run.poll("consumer-0", value + 0.1, [(value, value)])
        position = 700 if value == 800 else value + 1
        run.op("consumer-0", "commit", value + 0.2, observed=[("committed", "log-0", 0, "g", 1, position)])
    run.op("consumer-0", "close", 1010)
    run.read_back(1000, {value: value for value in range(900)})

    assert counts_of(run.judged(900, 1)) == {"commit-regression": (1, False)}


@pytest.mark.parametrize(
    ("kind", "host", "led_by", "allowed"),
    [
        ("kill", "n1", "n2", True),
        ("kill", "n1", "n1", False),
        ("kill", "n3", "n2", False),
        ("pause", "n3", "n1", False),
        ("clock-jump", "n1", "n2", False),
    ],
)
def test_acks_one_takes_a_new_leader(tmp_path: Path, kind: str, host: str, led_by: str, allowed: bool) -> None:
    run = StoryRun(tmp_path, {**LOAD, "consumption": "assigned", "duration": "60s", "producer": {"acks": 1}})
    run.led("n1")
    run.led(led_by, 11.5)
    run.fault(kind, (host,), 10, 14, **needed(kind))
    for value in range(600):
        run.send("producer-0", value, value * 0.1, value)
    run.read_back(100, {value: value for value in range(600) if not 100 <= value < 110}, end=600)

    assert counts_of(run.judged(60, 10))["lost"] == (10, allowed)


@pytest.mark.parametrize(
    ("first", "led_meanwhile", "allowed"), [(390, False, True), (0, False, False), (390, True, False)]
)
def test_nobody_catches_up_while_nobody_leads(tmp_path: Path, first: int, led_meanwhile: bool, allowed: bool) -> None:
    load = {**LOAD, "consumption": "assigned", "duration": "90s", "producer": {"acks": 1}}
    lagging = {"system": "kafka", "hosts": 3, "config": {"replica.lag.time.max.ms": 10_000}}
    run = StoryRun(tmp_path, load, cluster=lagging)
    everybody = ("n1", "n2", "n3")
    run.led("n1", in_sync=everybody)
    run.led("n1" if led_meanwhile else "", 41, in_sync=everybody)
    run.led("n1", 82, in_sync=everybody)
    run.led("n2", 83, in_sync=("n2",))
    run.fault("kill", everybody, 40, 50 if led_meanwhile else 84)
    for value in range(400):
        run.send("producer-0", value, value * 0.1, value)
    run.read_back(100, {value: value for value in range(400) if not first <= value < first + 10}, end=400)

    assert counts_of(run.judged(90, 10))["lost"] == (10, allowed)


@pytest.mark.parametrize(
    ("kind", "seen_s", "first", "allowed"),
    [
        ("partition", 11.5, 120, True),
        ("pause", 11.5, 120, True),
        ("pause", 11.5, 145, True),
        ("kill", 11.5, 120, False),
        ("pause", 11.5, 250, False),
        ("partition", 11.5, 250, False),
        ("partition", 14.2, 145, True),  # its successor was seen only when the network was whole again
        ("partition", 17.5, 180, False),
    ],
)
def test_a_leader_that_does_not_know_that_it_was_replaced_loses_what_it_acknowledges(
    tmp_path: Path, kind: str, seen_s: float, first: int, allowed: bool
) -> None:
    run = StoryRun(tmp_path, {**LOAD, "consumption": "assigned", "duration": "60s", "producer": {"acks": 1}})
    run.led("n1")
    run.led("n2", seen_s)
    run.fault(kind, ("n1",), 10, 14)
    kept = {}
    for value in range(600):
        # Its successor has other messages at the positions of those that it acknowledges.
        position = value if value < first + 10 else value - 10
        run.send("producer-0", value, value * 0.1, position)
        if not first <= value < first + 10:
            kept[value] = position
    run.read_back(100, kept, end=590)

    assert counts_of(run.judged(60, 10))["lost"] == (10, allowed)


@pytest.mark.parametrize(
    ("kind", "target", "rejected_s", "allowed"),
    [
        ("kill", "n1", 10.0, True),
        ("kill", "n1", 13.0, True),
        ("kill", "n1", 40.0, False),
        ("kill", "n1", 100.0, False),
        ("kill", "n1", 5.0, False),
        ("client-pause", "consumer-1", 10.0, False),
        ("clock-jump", "n3", 10.0, False),
    ],
)
def test_a_dead_letter_is_missing_because_of_a_fault_at_the_time(
    tmp_path: Path, kind: str, target: str, rejected_s: float, allowed: bool
) -> None:
    parameters: dict[str, Any] = {"by": "1s"} if kind == "clock-jump" else {}
    run = QueueRun(tmp_path, {"consumers": 2, "dead_letters": True, "dead_consumers": 1}, {"dead-letters": 1})
    run.fault(kind, (target,), 9.5, 14, **parameters)
    run.op("consumer-0", "subscribe", 0.01)
    run.publish(range(10), 0.1)
    run.take("consumer-0", range(10), rejected_s, settle="reject")
    run.drained(120, consumers=("consumer-0",))

    assert counts_of(run.judged(110, 10)) == {"dead-letter-missing": (10, allowed)}


@pytest.mark.parametrize("kind", ["kill", "power-cut"])
def test_a_mark_that_is_missing_long_after_the_healing_is_not_explained(tmp_path: Path, kind: str) -> None:
    run = QueueRun(tmp_path, {"consumers": 1}, {"prefetch": 100})
    run.fault(kind, ("n3",), 10, 14)
    run.op("consumer-0", "subscribe", 0)
    run.publish(range(10), 0.1)
    run.take("consumer-0", range(10), 801, settle="nack")
    run.take("consumer-0", range(10), 801.5)
    run.drained(1000, consumers=("consumer-0",))

    assert counts_of(run.judged(900, 10))["redelivery-flag-missing"] == (10, False)


@pytest.mark.parametrize(("error_ms", "gap_ms"), [(0, 0.3), (0.1, 0.3), (0.7, 0.3), (0.7, 5)])
def test_events_of_one_client_are_in_its_own_order(tmp_path: Path, error_ms: float, gap_ms: float) -> None:
    """A group that commits right after it received committed nothing that it had not received."""
    run = StoryRun(tmp_path, {**LOAD, "duration": "20s"})
    run.led("n1")
    run.op("consumer-0", "subscribe", 0)
    run.op("consumer-0", "assign", 0.01, observed=[("assigned", "log-0", 0, "g", 1, None)])
    for value in range(50):
        at = 0.05 + value * 0.1
        run.send("producer-0", value, at, value)
        run.poll("consumer-0", at + 0.004, [(value, value)])
        commit = ("committed", "log-0", 0, "g", 1, value + 1)
        run.op("consumer-0", "commit", at + 0.005 + gap_ms / 1000, observed=[commit])
    run.op("consumer-0", "close", 25)
    run.read_back(30, {value: value for value in range(50)})
    if error_ms:
        run.on_drivers({"producer-0": "d1", "consumer-0": "d1"}, error_ms, 26)

    assert counts_of(run.judged(20, 10)) == {}


@pytest.mark.parametrize(("later_ms", "certain"), [(0.4, False), (5.0, True)])
def test_events_of_two_machines_are_in_an_order_only_if_it_is_certain(
    tmp_path: Path, later_ms: float, certain: bool
) -> None:
    """A consumer had messages, unmarked, before or after another one had them."""
    run = QueueRun(tmp_path, {"consumers": 2}, {"prefetch": 1})
    for name in ("consumer-0", "consumer-1"):
        run.op(name, "subscribe", 0.01)
    run.publish(range(20), 0.1)
    for value in range(20):
        at = 0.06 + value * 0.1
        run.op("consumer-0", "receive", at, took=0.0001, received=[(TASKS, 0, value, None, 0.0, 1)])
        again = at + later_ms / 1000
        run.op("consumer-1", "receive", again, took=0.0001, received=[(TASKS, 0, value, None, 0.0, 0)])
        run.op("consumer-1", "ack", again + 0.0002, observed=[("acked", TASKS, 0, None, value, None)])
    run.drained(25, consumers=("consumer-0", "consumer-1"))
    run.on_drivers({"consumer-0": "d1", "consumer-1": "d2"}, 0.7, 26)

    assert ("redelivery-flag-missing" in counts_of(run.judged(20, 10))) == certain
