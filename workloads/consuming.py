"""One consumer of the log workload, and the recording of what any reader receives."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from chaoskit.contract.client import FAIL, OK, Consumer, Delivery
from chaoskit.contract.workload import Job, Progress
from chaoskit.history.schema import DIRECTIONS
from chaoskit.history.wal import NO_POSITION
from workloads import payload
from workloads.reporting import Reports

if TYPE_CHECKING:
    from workloads.log import LogOptions

POLL_TIMEOUT_S = 0.1
MESSAGES_MAX = 1000

_COMMIT_NS = 1_000_000_000


def consume(job: Job) -> None:
    """Read until told to stop."""
    options: LogOptions = job.options
    reader = Reader(job, job.clients.consumer(options.consumer))
    if options.consumption == "group":
        topics = list(dict.fromkeys(topic for topic, _ in options.all_partitions()))
        reader.subscribe(topics)
    else:
        everything = options.all_partitions()
        index, members = job.task.index % len(everything), options.consumers
        reader.assign(everything[index::members] if members < len(everything) else [everything[index]])
    job.control.wait_start()
    reports = Reports(job.control)
    committed_ns = time.monotonic_ns()
    while not job.control.stopping:
        reader.poll()
        reports.tell(reader.progress)
        now = time.monotonic_ns()
        if options.consumption == "group" and now - committed_ns > _COMMIT_NS:
            reader.commit()
            committed_ns = now
    reader.close()
    job.control.report(reader.progress)


class Reader:
    """Polls a consumer and records every operation and every message."""

    def __init__(self, job: Job, consumer: Consumer, f: str = "poll") -> None:
        self.consumer = consumer
        self.progress = Progress()
        self._wal = job.wal
        self._run_id = job.control.run_id
        self._poll_id = job.wal.name(f)
        self._membership = ("", -1)

    def assign(self, partitions: Sequence[tuple[str, int]]) -> None:
        """Read these partitions from their beginning."""
        op = self._begin("assign")
        self.consumer.assign(partitions)
        self._wal.complete(op, time.monotonic_ns(), OK)

    def subscribe(self, topics: Sequence[str]) -> None:
        """Join the group; every new assignment is recorded."""
        op = self._begin("subscribe")
        self.consumer.subscribe(topics, self)
        self._wal.complete(op, time.monotonic_ns(), OK)

    def assigned(self, group: str, generation: int, partitions: Sequence[tuple[str, int]]) -> None:
        """Record a new assignment; see `chaoskit.contract.client.Membership`."""
        self._membership = group, generation
        op = self._begin("assign")
        for topic, partition in partitions:
            self._tell(op, "assigned", topic, partition, NO_POSITION)
        self._wal.complete(op, time.monotonic_ns(), OK)

    def revoked(self) -> None:
        """Commit a last time, and record that all partitions are given back."""
        self.commit()
        self._wal.complete(self._begin("revoke"), time.monotonic_ns(), OK)

    def commit(self) -> None:
        """Commit what was received, for the group."""
        invoked_ns = time.monotonic_ns()
        commit = self.consumer.commit()
        if commit is None:
            return
        op = self._wal.invoke(self._wal.name("commit"), invoked_ns)
        for topic, partition, position in commit.positions:
            self._tell(op, "committed", topic, partition, position)
        error_id = 0 if commit.error is None else self._wal.name(commit.error)
        self._wal.complete(op, time.monotonic_ns(), commit.outcome, error_id)

    def close(self) -> None:
        """Leave the group and disconnect."""
        op = self._begin("close")
        self.consumer.close()
        self._wal.complete(op, time.monotonic_ns(), OK)

    def poll(self) -> list[tuple[int, Delivery]]:
        """Receive what is there, and return it with the values. A lost position is sought from the beginning."""
        op = self._wal.invoke(self._poll_id, time.monotonic_ns())
        deliveries, lost, error = self.consumer.poll(POLL_TIMEOUT_S, MESSAGES_MAX)
        received_ns = time.monotonic_ns()
        received = [(self._record(op, delivery, received_ns), delivery) for delivery in deliveries]
        outcome = OK if error is None else FAIL
        self._wal.complete(op, received_ns, outcome, 0 if error is None else self._wal.name(error))
        self.progress.received += len(deliveries)
        for topic, partition, cause in lost:
            seek = self._begin("seek")
            self.consumer.seek_to_beginning(topic, partition)
            self._wal.complete(seek, time.monotonic_ns(), OK, self._wal.name(f"{cause} {topic}/{partition}"))
        return received

    def _record(self, op: int, delivery: Delivery, received_ns: int) -> int:
        """Record one message; return its value."""
        topic, partition, key, content, position, count = delivery
        code, value, intended_ns, sent_ns = payload.read(content, self._run_id)
        wal = self._wal
        key_id = 0 if key is None else wal.name(key.decode(errors="backslashreplace"))
        wal.received(
            op, wal.name(topic), partition, key_id, value, position, intended_ns, sent_ns, received_ns, code,
            *(() if count is None else (count,)),
        )  # fmt: skip
        return value

    def _tell(self, op: int, direction: str, topic: str, partition: int, position: int) -> None:
        group, generation = self._membership
        wal, code = self._wal, DIRECTIONS.index(direction)
        wal.group(op, code, wal.name(topic), partition, wal.name(group), generation, position)

    def _begin(self, f: str) -> int:
        return self._wal.invoke(self._wal.name(f), time.monotonic_ns())
