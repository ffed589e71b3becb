"""What is in the memory of a leader goes with it, also where a fault replaced it that is over."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from explaining import SECOND, Row, placed, rules
from guaranteed import effect

from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.workloads.datamodel import QUEUE
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.traits import Queueing
from clusters.kafka.settings import KafkaOptions

QUEUED = Declared(
    KafkaOptions(), 6, 6, (Topic("log-0", QUEUE, replication=3),), {}, {}, traits=(Queueing(True, True, 1),)
)
REPLACED = placed((0, 0, "n1", "n1 n2 n3"), (37, 0, "n2", "n1 n2 n3"), (0, 1, "n4", "n4 n5 n6"))
PARTED = effect("partition", "n1", start_s=30, healed_s=36)
"""The former leader is told only after it was healed."""


def _again(since_s: float | None, at_s: float, partition: int = 0) -> Row:
    here: dict[str, Any] = {"topic": "log-0", "partition": partition, "value": 7, "written_ns": 20 * SECOND}
    since_ns = None if since_s is None else int(since_s * SECOND)
    return {"anomaly": "redelivery-flag-missing", **here, "at_ns": int(at_s * SECOND), "since_ns": since_ns}


@pytest.mark.parametrize(
    ("row", "rule"),
    [
        (_again(36.5, 37.5), "kafka.acquired-forgotten"),
        (_again(36.5, 34.5), "kafka.acquired-forgotten"),
        (_again(37.1, 37.5), None),
        (_again(36.5, 37.5, partition=1), None),
        (_again(20, 25), None),
    ],
    ids=["before it was told", "seen late", "of the new leader", "elsewhere", "before the fault"],
)
def test_what_a_former_leader_had_given_is_given_again_without_its_count(row: Row, rule: str | None) -> None:
    assert rules([row], [PARTED], QUEUED, placements=REPLACED) == [rule]


def test_under_one_leader_nothing_is_forgotten() -> None:
    stayed = placed((0, 0, "n1", "n1 n2 n3"), (37, 0, "n1", "n1 n2 n3", "n1 n2"))

    assert rules([_again(36.5, 37.5)], [PARTED], QUEUED, placements=stayed) == [None]
    assert rules(
        [_again(36.5, 37.5)], [], replace(QUEUED, topics=(Topic("log-0", replication=3),)), placements=REPLACED
    ) == [None]
