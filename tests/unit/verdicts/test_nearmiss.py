"""Near misses of runs whose findings are explained: none is kinder, none accuses; and a sloppy mechanism is caught."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runs import StoryRun, counts_of, kill_of_the_leader

from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.guarantees.mechanism import Choice, Copies
from chaoskit.contract.workloads.datamodel import PUBSUB
from chaoskit.judge.explaining import attribution
from chaoskit.judge.explaining.cases import Cases
from chaoskit.judge.explaining.derived import Derived, Story
from chaoskit.judge.explaining.record import Record
from chaoskit.model.audit import Drained
from chaoskit.testing.nearmiss import NearMiss, StoredRun, changes, check
from clusters.kafka.system import KafkaSystem as Kafka

LOAD = {"kind": "log", "rate": 10, "duration": "60s"}
FEED = "feed-0"


class FeedRun(StoryRun):
    """A run of one feed of Mosquitto, whose two subscribers are there from the beginning."""

    model = PUBSUB
    cluster: Mapping[str, Any] = {"system": "mosquitto", "version": "2.0.21", "hosts": 1}

    def __init__(self, folder: Path) -> None:
        qos = {"producer": {"qos": 0}, "consumer": {"qos": 0}}
        load = {"kind": "feed", "duration": "60s", "producers": 1, "consumers": 2, "rate": 10, **qos}
        super().__init__(folder, load, topics=[FEED])
        self.led("n1", topics=[FEED], holders=("n1",))
        for number in range(2):
            observations = [("subscribed", FEED, 0, "at-most-once", 1, None)]
            self.op(f"consumer-{number}", "subscribe", 0.01, observed=observations)


def power_of_all(folder: Path) -> Path:
    """All hosts lose their power, and with it what was not flushed: everything."""
    run = StoryRun(folder, {**LOAD, "producer": {"acks": "all"}})
    run.led("n1")
    run.fault("power-cut", ("n1", "n2", "n3"), 40, 50)
    for value in range(400):
        run.send("producer-0", value, value * 0.1, value)
    run.read_back(100, {})
    assert counts_of(run.judged(60, 10))["lost"] == (400, True)
    return run.folder


def crash_of_a_subscriber(folder: Path) -> Path:
    """With QoS 0 a subscriber that is away misses what is published meanwhile."""
    run = FeedRun(folder)
    run.fault("client-crash", ("consumer-0",), 20, 30)
    run.op("consumer-0#1", "subscribe", 30, observed=[("subscribed", FEED, 0, "at-most-once", 1, None)])
    for value in range(600):
        at = 0.05 + value * 0.1
        run.send("producer-0", value, at, topic=FEED)
        if not 20 <= at < 30:
            reader = "consumer-0" if at < 20 else "consumer-0#1"
            run.op(reader, "receive", at + 0.001, received=[(FEED, 0, value, None, 0.0, 0)])
        run.op("consumer-1", "receive", at + 0.001, received=[(FEED, 0, value, None, 0.0, 0)])
    for reader in ("consumer-0#1", "consumer-1"):
        run.op(reader, "unsubscribe", 80, observed=[("unsubscribed", FEED, 0, "at-most-once", 1, None)])
        run.op(reader, "close", 80.1)
    run.audit(100, {(FEED, 0): Drained(complete=True)})
    assert counts_of(run.judged(60, 10))["missed"] == (100, True)
    return run.folder


def kinds(misses: Sequence[NearMiss]) -> set[str]:
    return {miss.kind for miss in misses}


def bad(misses: Sequence[NearMiss]) -> list[NearMiss]:
    return [miss for miss in misses if miss.kinder or miss.accused]


@pytest.mark.parametrize(
    ("story", "made"),
    [
        (power_of_all, {"other-host", "before", "after", "idle", "removed", "split", "idle-beside", "second-pause"}),
        (
            kill_of_the_leader,
            {"other-host", "before", "after", "idle", "removed", "leader-unchanged", "strong", "exceeded"},
        ),
        (crash_of_a_subscriber, {"other-client", "before", "after", "idle", "removed", "idle-beside"}),
    ],
)
def test_no_near_miss_is_kinder_or_accuses(tmp_path: Path, story: Any, made: set[str]) -> None:
    misses = check(story(tmp_path))

    assert bad(misses) == []
    assert made <= kinds(misses)


def test_a_mechanism_that_asks_for_any_fault_is_kinder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = kill_of_the_leader(tmp_path)

    def by_any_fault(record: Record, mechanism: Copies, cases: Cases) -> Derived:
        derived = Derived.nothing(cases.size)
        if record.effects:
            derived.tell(np.arange(cases.size), Story("something happened", tuple(record.effects)))
        return derived

    monkeypatch.setitem(attribution._DERIVE, Copies, by_any_fault)
    caught = {miss.kind for miss in check(folder) if miss.kinder}

    assert {"other-host", "before", "idle", "leader-unchanged", "exceeded"} <= caught


def test_a_rule_that_ignores_the_setting_is_kinder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = kill_of_the_leader(tmp_path)

    def always(declared: Declared) -> Sequence[Choice]:
        return (Choice(why="messages may be lost"),)

    guarantees = Kafka.guarantees
    rules = [replace(rule, mechanisms=always) if rule.id == "kafka.acks-one" else rule for rule in guarantees.rules]
    monkeypatch.setattr(Kafka, "guarantees", replace(guarantees, rules=rules))

    assert {(miss.kind, miss.rules) for miss in check(folder) if miss.kinder} == {("strong", ("kafka.acks-one",))}


def test_what_is_in_doubt_is_not_explained_without_any_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody recorded who led."""
    run = StoryRun(tmp_path, {**LOAD, "producer": {"acks": 1}})
    run.fault("kill", ("n1",), 40, 50)
    for value in range(600):
        run.send("producer-0", value, value * 0.1, value)
    run.read_back(100, {value: value for value in range(600) if not 390 <= value < 400}, end=600)
    assert run.judged(60, 10).verdict == "unknown"
    assert {(miss.kind, miss.kinder) for miss in check(run.folder)} <= {("doubt", False)}

    def freely(record: Record, mechanism: Copies, cases: Cases) -> Derived:
        derived = Derived.nothing(cases.size)
        if record.effects:
            derived.doubt(np.arange(cases.size), "who led")
        else:
            derived.tell(np.arange(cases.size), Story("nobody knows"))
        return derived

    monkeypatch.setitem(attribution._DERIVE, Copies, freely)
    assert {(miss.kind, miss.kinder) for miss in check(run.folder)} == {("doubt", True)}


def test_a_run_of_which_nothing_is_explained_has_none(tmp_path: Path) -> None:
    run = StoryRun(tmp_path, LOAD)
    run.led("n1")
    run.fault("pause", ("n2",), 40, 50)
    for value in range(10):
        run.send("producer-0", value, value * 0.1, value)
    run.read_back(100, {value: value for value in range(9)})
    assert counts_of(run.judged(60, 10))["lost"] == (1, False)

    assert list(changes(StoredRun(run.folder))) == []
