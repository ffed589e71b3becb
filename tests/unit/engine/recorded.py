"""Histories of a few sends and receipts, and the figures of their load."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from chaoskit.contract.workloads.datamodel import LOG
from chaoskit.history.compacting.compact import compact
from chaoskit.history.format.models import write_topics
from chaoskit.history.format.origin import read_origin, write_origin
from chaoskit.history.reading.reader import History
from chaoskit.history.recording.wal import WalWriter
from chaoskit.judge.timing.metrics import figures, measure
from chaoskit.judge.timing.timing import FaultTimes, Load, Timing
from chaoskit.model.observations.row import KINDS
from chaoskit.model.outcome import INFO, OK

MS = 1_000_000

Sent = tuple[int, int, int | None, int]
"""Partition, when it was due and completed (ms), outcome."""


def recorded(
    folder: Path, sends: Sequence[Sent], received: Sequence[tuple[str, int, int]] = (), **given: Any
) -> History:
    """Record sends, each made when it was due; and receipts: client, number of the send, when (ms).

    `producers` may name the client of each send; they have processes of their own.
    """
    wal = folder / "wal"
    wal.mkdir()
    write_origin(wal)
    write_topics(wal, {"t": given.get("model", LOG).name})
    origin = read_origin(wal)
    producers = given.get("producers", ["producer-0"] * len(sends))
    for number, producer in enumerate(dict.fromkeys([*producers, "producer-0"])):
        with WalWriter(wal, producer, -number) as log:
            topic = log.name("t")
            for value, (partition, due_ms, end_ms, outcome) in enumerate(sends):
                if producers[value] != producer:
                    continue
                at = origin + due_ms * MS
                op = log.send(topic, partition, 0, given.get("values", range(len(sends)))[value], at, at)
                if end_ms is not None:
                    log.complete(op, origin + end_ms * MS, outcome)
    for process, client in enumerate(dict.fromkeys(client for client, *_ in received), start=1):
        with WalWriter(wal, client, process) as log:
            topic = log.name("t")
            for _, value, at_ms in [receipt for receipt in received if receipt[0] == client]:
                due, at = origin + sends[value][1] * MS, origin + at_ms * MS
                poll = log.invoke(log.name("poll"), at)
                if given.get("group"):
                    group = given["group"] if isinstance(given["group"], str) else given["group"][client]
                    log.observed(
                        poll,
                        KINDS.index(given.get("member", "assigned")),
                        topic,
                        sends[value][0],
                        log.name(group),
                        0,
                        0,
                    )
                log.received(poll, topic, sends[value][0], 0, value, value, due, due, at, 0)
                log.complete(poll, at, OK)
    compact(folder)
    return History.open(folder)


def figures_of(history: History, load: Load, *faults: FaultTimes) -> dict[str, Any]:
    timing = Timing(load, faults)
    return figures(*measure(history, timing), timing, history.folder / "latency")


def load(end_ms: int, last_ms: int | None = None, every_ms: float | None = None, start_ms: int = 0) -> Load:
    every_ns = None if every_ms is None else every_ms * MS
    return Load(start_ms * MS, end_ms * MS, (end_ms if last_ms is None else last_ms) * MS, every_ns)


def fault(start_ms: int, heal_ms: int | None, healed_ms: int | None) -> FaultTimes:
    heal_ns, healed_ns = (None if at is None else at * MS for at in (heal_ms, healed_ms))
    return FaultTimes(start_ms * MS, heal_ns, healed_ns)


STALLED: list[Sent] = [
    *((at % 2, at, at + 1, OK) for at in range(0, 4_000, 10)),
    *((at % 2, at, 60_000, INFO) for at in range(4_000, 8_000, 10)),
]
"""Every 10 ms a send. From 4 s on none is acknowledged, so that at 8 s `in_flight` is full and nothing more is sent."""
