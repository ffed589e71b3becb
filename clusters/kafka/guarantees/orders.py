"""What operators order, and a fault carried out: records deleted, offsets of a group reset."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.contract.guarantees.guarantee import Declared, Rule
from chaoskit.contract.guarantees.mechanism import Limit, Measure, Mechanism
from chaoskit.contract.workloads.traits import Group


def _deleted(_: Declared) -> Sequence[Mechanism]:
    return (Limit(why="an operator deleted records up to a position", measure=Measure.DELETED),)


def _set_back(declared: Declared) -> Sequence[Mechanism]:
    return _set(declared, Measure.SET_BACK)


def _set_ahead(declared: Declared) -> Sequence[Mechanism]:
    return _set(declared, Measure.SET_AHEAD)


def _set(declared: Declared, measure: Measure) -> Sequence[Mechanism]:
    if declared.get(Group) is None:
        return ()
    return (Limit(why="an operator reset the offsets of the group", measure=measure),)


ORDER_RULES = (
    Rule(
        "kafka.offsets-set-back",
        ("commit-regression",),
        _set_back,
        "reset no offsets that are still needed",
        "Kafka documentation, managing consumer groups",
        "kafka/reset-offsets:earliest",
        "kafka/reset-offsets:restarted",
    ),
    Rule(
        "kafka.offsets-set-ahead",
        ("passed-over", "commit-beyond"),
        _set_ahead,
        "reset no offsets that are still needed",
        "Kafka documentation, managing consumer groups",
        "kafka/reset-offsets:latest",
        "kafka/reset-offsets:restarted",
    ),
    Rule(
        "kafka.deleted-records",
        ("expired",),
        _deleted,
        "delete no records that are still needed",
        "KIP-107, DeleteRecords",
        "kafka/delete-records:half",
        "kafka/delete-records:untouched",
    ),
)
