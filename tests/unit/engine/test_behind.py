"""A deleted key that is back with a replica that never learned of the deletion (`Measure.BEHIND`)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from explaining import Row, declared, explained, placed, rules
from guaranteed import effect

from chaoskit.base.quantities import SECOND
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.history.compacting.placements import Placements
from chaoskit.model.tables import PLACEMENTS


def _compacted(retention_ms: int) -> Declared:
    return declared({}, **{"cleanup.policy": "compact", "delete.retention.ms": retention_ms})


def _resurrected(acked_s: float) -> Row:
    acked_ns = int(acked_s * SECOND)
    return {
        "anomaly": "resurrected", "topic": "log-0", "partition": 0, "value": 1, "at_ns": acked_ns,
        "written_ns": acked_ns - 1_000_000, "acked_ns": acked_ns,
    }  # fmt: skip


AWAY = effect("kill", "n3", start_s=10, healed_s=20)
ALL = "n1 n2 n3"
LED_LATER = placed((0, 0, "n1", ALL), (10, 0, "n1", ALL, "n1 n2"), (20, 0, "n1", ALL), (30, 0, "n3", ALL))
NEVER_LED = placed((0, 0, "n1", ALL), (10, 0, "n1", ALL, "n1 n2"), (20, 0, "n1", ALL), (30, 0, "n2", ALL))
IN_SYNC = placed((0, 0, "n1", ALL), (30, 0, "n3", ALL))


@pytest.mark.parametrize(
    ("acked_s", "retention_ms", "where", "rule"),
    [
        pytest.param(11, 5000, LED_LATER, "kafka.deletions-expire", id="gone before it was in sync again"),
        pytest.param(17, 5000, LED_LATER, None, id="still there when it was"),
        pytest.param(11, 20_000, LED_LATER, None, id="kept for longer than it was away"),
        pytest.param(4, 5000, LED_LATER, None, id="it had that before it went"),
        pytest.param(22, 5000, LED_LATER, None, id="it had that after it came back"),
        pytest.param(11, 5000, NEVER_LED, None, id="another one led"),
        pytest.param(11, 5000, IN_SYNC, None, id="it was in sync all the time"),
    ],
)
def test_a_deleted_key_comes_back_with_a_replica_that_never_learned_of_it(
    acked_s: float, retention_ms: int, where: Any, rule: str | None
) -> None:
    assert rules([_resurrected(acked_s)], [AWAY], _compacted(retention_ms), placements=where) == [rule]


def test_an_uncompacted_topic_has_no_such_excuse() -> None:
    assert rules([_resurrected(11)], [AWAY], declared(), placements=LED_LATER) == [None]


def test_where_nobody_recorded_who_was_in_sync_it_is_a_doubt() -> None:
    rows = [(0, "n1", "leader"), *((0, host, "replica") for host in ALL.split())]
    table = [{"at_ns": at, "topic": "log-0", "partition": 0, "host": host, "role": role} for at, host, role in rows]
    nobody = Placements(pa.Table.from_pylist(table, PLACEMENTS))
    explanation = explained([_resurrected(11)], [AWAY], _compacted(5000), nobody)
    assert explanation.open["resurrected"] == (1, "nobody recorded which replicas were in sync")
