"""The clients of a pipeline of queues, in memory: what instances do is recorded, and the final read drains."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from loads import RUN, Control, Powers

from chaoskit.contract.clients.application import ReadRecord
from chaoskit.contract.clients.queue import Arrival, Death
from chaoskit.contract.clients.traffic import Act, Passed
from chaoskit.contract.workloads.topic import DEAD
from chaoskit.contract.workloads.workload import CONSUMER, DRAINER, OBSERVER, PRODUCER, Job, Task
from chaoskit.history.compacting.compact import compact
from chaoskit.history.format.models import write_topics
from chaoskit.history.format.origin import write_origin
from chaoskit.history.reading.reader import History, read_observations
from chaoskit.history.recording.recorder import WalRecorder
from chaoskit.history.recording.wal import WalWriter
from chaoskit.model.audit import Drained
from chaoskit.model.message import NO_POSITION, Delivery
from chaoskit.model.observations.pipeline import ACTS, UNIDENTIFIED, InstanceActs
from chaoskit.model.observations.queue import DeadLetters
from chaoskit.model.operation import AUDITOR
from chaoskit.model.outcome import OK
from workloads.pipeline.options import PipelineOptions
from workloads.pipeline.workload import PipelineWorkload

_SECOND = 1_000_000_000
NOW_NS = time.monotonic_ns()
HOSTS = "10.0.0.4", "10.0.0.5"


class Memory(Powers):
    """Queues in memory, and an application whose connections show what a test says."""

    gap = ""

    def __init__(self) -> None:
        self.queues: dict[str, list[tuple[bytes, int]]] = {"t1-orders": [], "t1-payments": []}
        self.passed: list[Passed] = []
        self.ready: int | None = None
        self._queues: Sequence[str] = ()

    def publisher(self, settings: Any, index: int, completed: Any, publishing: Any) -> Any:
        self._completed = completed
        return self

    def send(self, topic: str, partition: int, key: bytes | None, payload: bytes, token: int) -> bool:
        self.queues[topic].append((payload, 0))
        self._completed(token, OK, None, None)
        return True

    def pending(self) -> int:
        return 0

    def queue_consumer(self, settings: Any, index: int, prefetch: int) -> Any:
        return self

    def consume(self, queues: Sequence[str]) -> None:
        self._queues = queues

    def poll(self, timeout_s: float, messages_max: int = 0) -> Any:
        time.sleep(0.001)
        if not messages_max:
            passed, self.passed = self.passed, []
            return passed
        arrivals: list[Arrival] = []
        for queue in self._queues:
            for payload, before in self.queues[queue]:
                death = Death("rejected", "t1-orders", 1) if queue.endswith(DEAD) else None
                delivery = Delivery(queue, 0, None, payload, NO_POSITION, before)
                arrivals.append(Arrival(delivery, len(arrivals), death))
            self.queues[queue] = []
        return arrivals, None

    def settle(self, tags: Sequence[int], how: str) -> Any:
        return OK, None

    def left(self, queue: str) -> tuple[int, int]:
        return len(self.queues[queue]) if self.ready is None else self.ready, 1

    def traffic(self, hosts: Sequence[str]) -> Any:
        return self

    def consumers(self, queue: str) -> set[str]:
        return {HOSTS[1]} if queue == "t1-orders" else set()

    def held(self, queue: str) -> int:
        return 3

    def end(self) -> list[Passed]:
        return [passed("ack", 4, at_ns=NOW_NS + 9, arrived=False)]

    def close(self, *_: Any, **__: Any) -> None:
        """Nothing is open."""


def passed(act: Act, value: int, *, queue: str = "t1-orders", at_ns: int, **more: Any) -> Passed:
    """Something passed a connection of the second instance."""
    record = ReadRecord(queue, 0, NO_POSITION, None, str(value).encode(), {})
    return Passed(act, HOSTS[1], record, 0 if act == "given" else None, at_ns, **more)


class Run:
    """A run whose clients work one after the other."""

    def __init__(self, folder: Path, **reads: Any) -> None:
        self.folder = folder
        self.memory = Memory()
        queues = {"reads": {"queue": "orders", **reads}, "writes": {"queue": "payments"}}
        self.options = PipelineOptions.model_validate({**queues, "application": {"run": ["app"]}, "rate": 1000})
        (folder / "wal").mkdir()
        write_origin(folder / "wal")
        topics = PipelineWorkload().topics(self.options, 3)
        write_topics(folder / "wal", {topic.name: topic.model.name for topic in topics})
        self._count = 0

    def work(self, task: Task, looks: int = 3) -> Any:
        """Have a client do its work; return what it reported."""
        self._count += 1
        control = Control(looks)
        with WalWriter(self.folder / "wal", task.client, self._count) as wal:
            recorder = WalRecorder(wal, RUN, "t1-")
            PipelineWorkload().run(Job(task, self.options, self.memory, recorder, control, _SECOND, HOSTS))
        return control.told

    def history(self) -> History:
        """Return what was recorded."""
        compact(self.folder)
        return History.open(self.folder)

    def received(self, topic: str) -> list[tuple[int, int | None]]:
        """Return value and earlier deliveries of what was received from a queue."""
        rows = self.history().messages(topic, 0).to_pylist()
        return [(row["value"], row["delivery"]) for row in rows if row["direction"] == "received"]


def test_outputs_are_attributed_and_taken(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.memory.queues["t1-payments"] = [(b"3", 0), (b"3", 1), (b"?", 0)]
    run.work(Task(CONSUMER, 0))

    assert run.received("payments") == [(3, 0), (3, 1), (UNIDENTIFIED, 0)]
    assert not run.memory.queues["t1-payments"]


def test_what_instances_do_is_recorded_when_it_passed(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.memory.passed = [
        passed("given", 3, at_ns=NOW_NS + 5),
        passed("published", 3, queue="t1-payments", at_ns=NOW_NS + 6),
        passed("published", 3, queue="", at_ns=NOW_NS + 6),
        passed("ack", 3, at_ns=NOW_NS + 7),
        passed("given", 3, queue="t1-others", at_ns=NOW_NS + 8),
    ]
    reported = run.work(Task(OBSERVER, 0))

    assert (reported["owned"], reported["held"]) == (1, 3)
    assert "doubt" not in reported
    history = run.history()
    operations = history.operations.to_pylist()
    origin_ns = min(row["start_ns"] for row in operations) - 5
    acts = {}
    for partition in history.partitions:
        acted = InstanceActs.read(read_observations(partition))
        rows = zip(acted.op.tolist(), acted.act.tolist(), acted.value.tolist(), acted.instance.tolist(), strict=True)
        acts[partition.topic] = [
            (ACTS[act], value, instance, operations[op]["start_ns"] - origin_ns, operations[op]["outcome"])
            for op, act, value, instance in rows
        ]
    assert acts["payments"] == [("published", 3, 1, 6, "ok")]
    assert acts["orders"] == [
        ("given", 3, 1, 5, "ok"),
        ("published", 3, 1, 6, "ok"),
        ("ack", 3, 1, 7, "ok"),
        ("ack", 4, 1, 9, "info"),
    ]


def test_what_was_not_seen_is_a_doubt(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.memory.gap = "packets are missing"

    assert "packets are missing" in run.work(Task(OBSERVER, 0))["doubt"]


def test_the_drainer_sends_a_last_input_and_waits(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.memory.ready = 0
    reported = run.work(Task(DRAINER, 0))

    assert reported == {"accepted": True, "drained": True}
    assert [int(payload) >> 40 for payload, _ in run.memory.queues["t1-orders"]] == [1]


def test_the_final_read_takes_what_is_left(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.work(Task(PRODUCER, 0), looks=2)
    fed = len(run.memory.queues["t1-orders"])
    run.memory.queues["t1-payments"] = [(b"0", 0)]
    reported = run.work(Task(AUDITOR, 0), looks=10**6)

    assert reported == {"audited": True, "why": ""}
    assert run.received("orders") == [(value, 0) for value in range(fed)]
    assert run.received("payments") == [(0, 0)]
    assert run.history().audit("orders", 0) == Drained(complete=True)


def test_the_final_read_takes_dead_letters(tmp_path: Path) -> None:
    run = Run(tmp_path, dead_letters=True)
    run.memory.queues["t1-orders.dead"] = [(b"7", 0)]
    reported = run.work(Task(AUDITOR, 0), looks=10**6)

    assert reported == {"audited": True, "why": ""}
    assert run.received("orders.dead") == [(7, 0)]
    (orders,) = [partition for partition in run.history().partitions if partition.topic == "orders"]
    assert DeadLetters.read(read_observations(orders)).value.tolist() == [7]
