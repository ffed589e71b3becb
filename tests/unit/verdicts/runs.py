"""Run folders made from stories, through the write-ahead log, and judged. Times are in s since the start of the run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from chaoskit.base import store
from chaoskit.contract.workloads.datamodel import LOG, PUBSUB, QUEUE
from chaoskit.history.compacting.faults import FaultLog
from chaoskit.history.compacting.finish import finish
from chaoskit.history.compacting.placements import PlacementLog, Standing
from chaoskit.history.digesting import live
from chaoskit.history.format.models import write_topics
from chaoskit.history.format.origin import write_origin
from chaoskit.history.recording.wal import WalWriter
from chaoskit.judge.verdict.check import check_run
from chaoskit.judge.verdict.verdict import Verdict
from chaoskit.model.audit import Audit, Bounds, Drained
from chaoskit.model.message import NO_POSITION
from chaoskit.model.observations.row import KINDS
from chaoskit.model.outcome import OUTCOMES

SECOND = 1_000_000_000
Observed = tuple[str, str, int, str | None, int | None, int | None]
"""Kind, topic, partition, name, value, position."""


def needed(kind: str) -> dict[str, Any]:
    """Return parameters without which a fault of a kind does not exist."""
    return {"by": "1s"} if kind == "clock-jump" else {}


class StoryRun:
    """A run of one log topic, `log-0`, whose clients did what a story says.

    Args:
        folder: an empty folder.
        workload: keys of the scenario's workload.
        record: `history` or `latency`.
        scenario: further keys of the scenario.
    """

    model = LOG
    cluster: Mapping[str, Any] = {"system": "kafka", "hosts": 3}

    def __init__(
        self,
        folder: Path,
        workload: Mapping[str, Any],
        record: str = "history",
        topics: Sequence[str] = ("log-0",),
        **scenario: Any,
    ) -> None:
        self.folder = folder / "story" / "20260101T000000-abc"
        (self.folder / "wal").mkdir(parents=True)
        self.partitions = workload.get("partitions", 1)
        content = {"name": "story", "seed": 7, "cluster": dict(self.cluster), "workload": dict(workload), **scenario}
        store.write_yaml(self.folder / store.SCENARIO, content | ({"record": "latency"} if record == "latency" else {}))
        write_topics(self.folder / "wal", dict.fromkeys(topics, self.model.name))
        self._origin_ns = write_origin(self.folder / "wal")
        self._clients: dict[str, WalWriter] = {}
        self._faults, self._placed, self._count = FaultLog(self.folder / "wal"), PlacementLog(self.folder / "wal"), 0
        if record == "latency":
            live.begin(self.folder, self.partitions, self._origin_ns)

    def ns(self, at: float) -> int:
        """Return a time as CLOCK_MONOTONIC."""
        return self._origin_ns + int(at * SECOND)

    def wal(self, client: str) -> WalWriter:
        """Return the log of a client."""
        if client not in self._clients:
            self._clients[client] = WalWriter(self.folder / "wal", client, len(self._clients))
        return self._clients[client]

    def send(
        self,
        client: str,
        value: int,
        at: float,
        position: int | None = None,
        outcome: str | None = "ok",
        *,
        took: float = 0.002,
        topic: str = "log-0",
    ) -> None:
        """Send a message to the partition of its sequence; an outcome of None: the send never completes."""
        log = self.wal(client)
        op = log.send(log.name(topic), value % self.partitions, 0, value, self.ns(at), self.ns(at))
        if outcome is not None:
            stored = NO_POSITION if position is None else position
            log.complete(op, self.ns(at + took), OUTCOMES.index(outcome), 0, stored)

    def op(
        self,
        client: str,
        f: str,
        at: float,
        *,
        took: float = 0.001,
        outcome: str = "ok",
        observed: Iterable[Observed] = (),
        received: Iterable[tuple[str, int, int, int | None, float, int]] = (),
    ) -> None:
        """Do something; `received`: topic, partition, value, position, when it was due, delivery count."""
        log = self.wal(client)
        op = log.invoke(log.name(f), self.ns(at))
        for kind, topic, partition, name, value, position in observed:
            numbers = NO_POSITION if value is None else value, NO_POSITION if position is None else position
            where = log.name(topic), partition, log.name(name) if name else 0
            if kind in KINDS:
                log.observed(op, KINDS.index(kind), *where, *numbers)
            else:
                log.observed(op, len(KINDS), *where, *numbers, log.name(kind))
        for topic, partition, value, position, due, delivery in received:
            sent, stored = (log.name(topic), partition, 0, value), NO_POSITION if position is None else position
            log.received(op, *sent, stored, self.ns(due), self.ns(due), self.ns(at + took), 0, delivery)
        log.complete(op, self.ns(at + took), OUTCOMES.index(outcome))

    def poll(self, client: str, at: float, messages: Iterable[tuple[int, int]], **more: Any) -> None:
        """Receive messages, each a value and its position, each from the partition of its sequence."""
        rows = [("log-0", value % self.partitions, value, position, 0.0, 0) for value, position in messages]
        self.op(client, "poll", at, received=rows, **more)

    def audit(self, at: float, audits: Mapping[tuple[str, int], Audit]) -> None:
        """The final read began then, and ended with these results."""
        self.op("auditor", "audit", at, took=20)
        log = self.wal("auditor")
        for (topic, partition), audit in audits.items():
            log.audit(log.name(topic), partition, audit)

    def read_back(self, at: float, kept: Mapping[int, int], low: int = 0, end: int | None = None) -> None:
        """The final read was complete, and found these values at these positions."""
        self.poll("auditor", at + 1, sorted(kept.items(), key=lambda pair: pair[1]))
        ends = {
            number: max(
                (position + 1 for value, position in kept.items() if value % self.partitions == number), default=0
            )
            for number in range(self.partitions)
        }
        ends_known = {number: last if end is None else end for number, last in ends.items()}
        self.audit(at, {("log-0", number): Bounds(low, last, True, last) for number, last in ends_known.items()})

    def bounded(self, at: float, end: int) -> None:
        """The final read reached the end of partition 0."""
        self.audit(at, {("log-0", 0): Bounds(0, end, True, end)})

    def fault(
        self,
        kind: str,
        targets: Sequence[str],
        start: float,
        healed: float,
        proved_after: float = 1e-6,
        **parameters: Any,
    ) -> None:
        """A fault was proved, so long after it began."""
        times = {"start_ns": start, "effective_ns": start + proved_after, "heal_ns": healed - 1e-6, "healed_ns": healed}
        row = {"fault": self._count, "kind": kind, "targets": list(targets), "parameters": json.dumps(parameters)}
        self._faults.record({**row, **{name: int(at * SECOND) for name, at in times.items()}, "evidence": "seen"})
        self._count += 1

    def led(  # noqa: PLR0917 - a standing
        self,
        by: str,
        at: float = 0.0,
        topics: Sequence[str] = ("log-0",),
        holders: Sequence[str] = ("n1", "n2", "n3"),
        partitions: Sequence[int] | None = None,
        in_sync: Sequence[str] | None = None,
    ) -> None:
        """A host led every partition, or these, from then on; all three, or these, stored it, and were in sync."""
        for topic in topics:
            for number in range(self.partitions) if partitions is None else partitions:
                synchronous = None if in_sync is None else frozenset(in_sync)
                standing = Standing(int(at * SECOND), by, frozenset(holders), synchronous)
                self._placed.record((topic, number), standing)

    def on_drivers(self, clients: Mapping[str, str], error_ms: float, until: int) -> None:
        """These clients ran on these drivers, whose clocks were known to so many ms."""
        lines: list[dict[str, Any]] = [{"client": client, "driver": driver} for client, driver in clients.items()]
        for driver in dict.fromkeys(clients.values()):
            known = {"driver": driver, "ahead_ns": 0, "error_ns": int(error_ms * 1e6), "wall_ahead_ns": 0}
            lines += [{**known, "at_ns": self.ns(at)} for at in range(until)] + [{"gathered": driver}]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (self.folder / "wal" / "drivers.jsonl").write_text(text, encoding="utf-8")

    def judged(self, load_end: float, per_second: float | None = None, clients: int = 1) -> Verdict:
        """Return the verdict on what happened."""
        self.ended(load_end, per_second, clients)
        finish(self.folder)
        return check_run(self.folder)

    def ended(self, load_end: float, per_second: float | None = None, clients: int = 1) -> None:
        """All logs were closed, and nothing is made of them yet."""
        self._faults.close()
        self._placed.close()
        for log in self._clients.values():
            log.close()
        load = {"end_ns": int(load_end * SECOND), "paced": {"clients": clients, "per_second": per_second}}
        liveness: dict[str, Any] = {"recovered": True, "bound_s": 60.0, "took_s": 1.0, "why": "", "dropped_faults": 0}
        more = {"crashed": [], "load_start_ns": 0, "problems": [], "load": {**load, "backlog": None}}
        store.write_json(self.folder / store.RECOVERY, liveness | more)


FEED = "feed-0"


class FeedRun(StoryRun):
    """A run of one feed, `feed-0`, each of whose subscriptions is promised the same.

    Args:
        promise: what is promised, whether it is lasting, and how many messages a publisher keeps.
        cluster: the scenario's cluster.
        given: further observations of a subscription: kind and value.
    """

    model = PUBSUB

    def __init__(  # noqa: PLR0917 - a story
        self,
        folder: Path,
        workload: Mapping[str, Any],
        promise: tuple[str, bool, int | None],
        cluster: Mapping[str, Any],
        topics: Sequence[str] = (FEED,),
        given: Sequence[tuple[str, int]] = (),
    ) -> None:
        self.cluster, self._promise, self._given = cluster, promise, given
        load = {"kind": "feed", "topics": len(topics), "producers": 1, "consumers": 1, "duration": "60s", **workload}
        super().__init__(folder, load, topics=topics)
        self.topics = topics
        if cluster["system"] == "mosquitto":
            self.led("n1", holders=("n1",), topics=topics)

    def join(self, client: str, at: float, topic: str = FEED) -> None:
        """A subscription began."""
        delivery, lasting, keeps = self._promise
        observed: list[Observed] = [("subscribed", topic, 0, delivery, int(lasting), keeps)]
        observed += [(kind, topic, 0, None, value, None) for kind, value in self._given]
        self.op(client, "subscribe", at, took=0.01, observed=observed)

    def get(self, client: str, values: Iterable[int], at: float, delivery: int = 0, topic: str = FEED) -> None:
        """A subscriber received messages."""
        self.op(client, "receive", at, received=[(topic, 0, value, None, 0.0, delivery) for value in values])

    def probed(self, at: float, clients: Sequence[str]) -> None:
        """The final read: a message that everybody received; then a moment."""
        self.audit(at, {(topic, 0): Drained(complete=True) for topic in self.topics})
        for number, topic in enumerate(self.topics):
            self.send("auditor", (1000 << 40) + number, at + 0.01, topic=topic)
            for client in clients:
                self.get(client, [(1000 << 40) + number], at + 0.05, topic=topic)
        for client in clients:
            self.op(client, "receive", at + 3.5, took=0.1)
            self.op(client, "close", at + 3.8)


TASKS = "queue-0"


class QueueRun(StoryRun):
    """A run of one queue, `queue-0`, declared with some settings."""

    model = QUEUE
    cluster: Mapping[str, Any] = {"system": "rabbitmq", "version": "4.0.5", "hosts": 3}

    def __init__(self, folder: Path, workload: Mapping[str, Any], declared: Mapping[str, int], **scenario: Any) -> None:
        self.topics = [TASKS, TASKS + ".dead"] if workload.get("dead_letters") else [TASKS]
        load = {"kind": "queue", "duration": "60s", "queues": 1, **workload}
        super().__init__(folder, load, topics=self.topics, **scenario)
        observed: list[Observed] = [("declared", TASKS, 0, name, None, number) for name, number in declared.items()]
        observed += [("declared", topic, 0, "dead-letters-of", None, 1) for topic in self.topics[1:]]
        self.op("producer-0", "declare", 0, observed=observed)
        self.led("n1", topics=self.topics)

    def publish(self, values: Iterable[int], every: float, first: float = 0.05) -> None:
        """Messages were confirmed, one every so many s."""
        for value in values:
            self.send("producer-0", value, first + value * every, topic=TASKS)

    def take(self, client: str, values: Iterable[int], at: float, *, delivery: int = 0, settle: str = "ack") -> None:
        """A consumer received messages, and settled them at once, or not at all."""
        values = list(values)
        self.op(client, "receive", at, received=[(TASKS, 0, value, None, 0.0, delivery) for value in values])
        if settle:
            kind = {"ack": "acked", "nack": "nacked", "reject": "rejected"}[settle]
            self.op(client, settle, at + 0.0015, observed=[(kind, TASKS, 0, None, value, None) for value in values])

    def drained(self, at: float, left: Iterable[int] = (), consumers: Sequence[str] = ()) -> None:
        """The consumers left, and the final read found these messages."""
        for consumer in consumers:
            self.op(consumer, "close", at)
        self.audit(at + 1, {(topic, 0): Drained(complete=True) for topic in self.topics})
        self.op("auditor", "subscribe", at + 1.001)
        self.take("auditor", left, at + 2)
        self.op("auditor", "receive", at + 20)
        self.op("auditor", "close", at + 21)


def counts_of(verdict: Verdict) -> dict[str, tuple[int, bool]]:
    """Return the number of findings by anomaly, and whether they are allowed; without measurements."""
    measured = ("unavailable", "slow-recovery", "latency-outlier")
    return {
        name: (anomaly.count, anomaly.allowed) for name, anomaly in verdict.anomalies.items() if name not in measured
    }


def kill_of_the_leader(folder: Path) -> Path:
    """With acks=1 the leader is killed, and the next one lacks what it acknowledged last."""
    run = StoryRun(folder, {"kind": "log", "rate": 10, "duration": "60s", "producer": {"acks": 1}})
    run.led("n1")
    run.led("n2", 41.5)
    run.fault("kill", ("n1",), 40, 50)
    for value in range(600):
        run.send("producer-0", value, value * 0.1, value)
    run.read_back(100, {value: value for value in range(600) if not 390 <= value < 400}, end=600)
    assert counts_of(run.judged(60, 10))["lost"] == (10, True)
    return run.folder
