"""A run that was killed: its scenario and its write-ahead logs, with a fault, and nothing that is made of them."""

from __future__ import annotations

from pathlib import Path

from chaoskit.base import store
from chaoskit.contract.workloads.datamodel import LOG
from chaoskit.history.compacting.faults import FaultLog
from chaoskit.history.compacting.placements import PlacementLog, Standing
from chaoskit.history.format.models import write_topics
from chaoskit.history.format.origin import write_origin
from chaoskit.history.recording.wal import WalWriter
from chaoskit.model.audit import Bounds
from chaoskit.model.outcome import OK
from chaoskit.scenario.model import parse_scenario
from chaoskit.scenario.plan import make_plan

MS = 1_000_000
_SENDS = 200
_LOST = 150
_SEGMENT_BYTES = 16_384


def killed_run(folder: Path) -> Path:
    """Write the folder of a run on Kafka that lost a message; return it."""
    wal = folder / "wal"
    wal.mkdir(parents=True)
    content = {
        "name": folder.parent.name,
        "seed": 1,
        "cluster": {"system": "kafka"},
        "workload": {"kind": "log", "partitions": 1, "producers": 1, "consumers": 1},
        "faults": [{"at": "1s", "inject": "kill", "on": "n1", "for": "1s"}],
    }
    plan = make_plan(parse_scenario(content, "test"), "test")
    store.write_yaml(folder / store.SCENARIO, plan.resolved())
    origin_ns = write_origin(wal)
    (topic,) = plan.declared.topics
    write_topics(wal, {topic.name: LOG.name})
    _record(wal, origin_ns, topic.name)
    _injure(wal, topic.name)
    load = {"end_ns": 2 * _SENDS * MS, "paced": {"per_second": 500, "clients": 1}}
    liveness = {"recovered": True, "bound_s": 60.0, "took_s": 1.0, "problems": [], "crashed": []}
    store.write_json(folder / store.RECOVERY, {**liveness, "load_start_ns": 0, "load": load})
    return folder


def _record(wal: Path, origin_ns: int, topic: str) -> None:
    with (
        WalWriter(wal, "producer-0", 0, _SEGMENT_BYTES) as producer,
        WalWriter(wal, "consumer-0", 1, _SEGMENT_BYTES) as consumer,
        WalWriter(wal, "auditor", 2, _SEGMENT_BYTES) as auditor,
    ):
        for value in range(_SENDS):
            at = origin_ns + 2 * value * MS
            sent = producer.send(producer.name(topic), 0, producer.name(f"k{value % 3}"), value, at, at)
            producer.complete(sent, at + MS, OK, 0, value)
            for reader in (consumer, auditor):
                if value == _LOST:
                    continue
                poll = reader.invoke(reader.name("poll"), at + MS)
                reader.received(poll, reader.name(topic), 0, 0, value, value, at, at, at + MS, 0)
                reader.complete(poll, at + 2 * MS, OK)
        auditor.audit(auditor.name(topic), 0, Bounds(0, _SENDS, complete=True, reached=_SENDS))


def _injure(wal: Path, topic: str) -> None:
    placements = PlacementLog(wal)
    placements.record((topic, 0), Standing(0, "n1", frozenset(["n1", "n2", "n3"])))
    placements.close()
    fault = {"fault": 0, "kind": "kill", "targets": ["n1"], "parameters": '{"on": ["n1"], "for_ns": 1000000000}'}
    times = {"start_ns": 100 * MS, "effective_ns": 110 * MS, "heal_ns": 200 * MS, "healed_ns": 210 * MS}
    with FaultLog(wal) as log:
        log.record({**fault, **times, "evidence": "gone"})
