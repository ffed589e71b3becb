"""Findings, faults and placements on paper, and what explains what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from guaranteed import effect

from chaoskit.contract.checkers.checker import FINDINGS
from chaoskit.contract.guarantees.guarantee import Declared, Effect
from chaoskit.contract.installed import anomalies, system
from chaoskit.contract.workloads.topic import Topic
from chaoskit.history.compacting.placements import Placements
from chaoskit.judge.explaining.attribution import Attribution, Explained
from chaoskit.judge.explaining.record import Record
from chaoskit.model.tables import PLACEMENTS
from clusters.kafka.settings import KafkaOptions

SECOND = 1_000_000_000
Row = dict[str, Any]


def declared(producer: Mapping[str, Any] | None = None, **topic: Any) -> Declared:
    """Kafka on six brokers, with two in-sync replicas."""
    options = KafkaOptions.model_validate({"topic": {"min.insync.replicas": 2, **topic}})
    return Declared(options, 6, 6, (Topic("log-0", replication=3),), producer or {}, {})


def placed(*rows: tuple[float, int, str, str] | tuple[float, int, str, str, str]) -> Placements:
    """Placements: time in s, partition, leader and holders, as in `n1 n2 n3`; and who was in sync, if not all were."""
    placements = [
        {"at_ns": int(row[0] * SECOND), "topic": "log-0", "partition": row[1], "host": host, "role": role}
        for row in rows
        for role, hosts in (("leader", row[2]), ("replica", row[3]), ("in-sync", row[-1] if len(row) > 4 else row[3]))
        for host in hosts.split()
    ]
    return Placements(pa.Table.from_pylist(placements, PLACEMENTS))


def moved(at_s: float, to: str = "n2") -> Placements:
    """Partition 0 is led by n1 until another host is elected."""
    return placed((0, 0, "n1", "n1 n2 n3"), (at_s, 0, to, "n1 n2 n3"))


HERE = placed((0, 0, "n1", "n1 n2 n3"), (0, 1, "n4", "n4 n5 n6"))


def lost(acked_s: float, partition: int = 0, **more: Any) -> Row:
    """A lost message."""
    acked_ns = int(acked_s * SECOND)
    return {
        "anomaly": "lost", "topic": "log-0", "partition": partition, "at_ns": acked_ns,
        "written_ns": acked_ns - 1_000_000, "acked_ns": acked_ns, **more,
    }  # fmt: skip


def explained(
    rows: Sequence[Row],
    effects: Sequence[Effect],
    of: Declared | None = None,
    placements: Placements = HERE,
    kind: str = "kafka",
) -> Explained:
    numbered = [replace(fault, number=number) for number, fault in enumerate(effects)]
    record = Record(of or declared(), numbered, placements, hosts=["n1", "n2", "n3", "n4", "n5", "n6"])
    attribution = Attribution(system(kind, "system").guarantees, anomalies(), record)
    return attribution.explain(pa.Table.from_pylist(list(rows), FINDINGS))


def rules(rows: Sequence[Row], effects: Sequence[Effect], of: Declared | None = None, **more: Any) -> list[str | None]:
    names: list[str | None] = explained(rows, effects, of, **more).findings["rule"].to_pylist()
    return names


ALL_OF_0 = effect("power-cut", "n1", "n2", "n3", start_s=20, healed_s=25)
ALL_OF_1 = effect("power-cut", "n4", "n5", "n6", start_s=60, healed_s=65)
