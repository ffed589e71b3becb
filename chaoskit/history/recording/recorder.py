"""Records what one client does: the only place that pairs an operation's invocation with its completion.

A topic has two names: the workload's own in the history; in the system, that name prefixed with the namespace of the
trial, so that trials on one deployment do not see each other's messages. Clients use the names in the system.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from chaoskit.base import latency
from chaoskit.history.recording.hot import Lane
from chaoskit.history.recording.wal import NO_DELIVERY, WalWriter
from chaoskit.model.audit import Audit
from chaoskit.model.message import NO_POSITION, Delivery, DeliveryReports
from chaoskit.model.observations.row import KINDS, Observation
from chaoskit.model.outcome import FAIL, INFO, OK, OperationFailed, Outcome
from chaoskit.model.progress import Progress

_CODES = {kind: code for code, kind in enumerate(KINDS)}


class WalRecorder:
    """Records one client; see `chaoskit.contract.clients.recorder.Recorder`.

    Args:
        wal: the client's log.
        run_id: identifies this run in every payload.
        namespace: prefix of topic names in the system.
    """

    def __init__(self, wal: WalWriter, run_id: int, namespace: str = "") -> None:
        self.progress: Progress = Progress()
        self.run_id = run_id
        self._wal = wal
        self._namespace = namespace
        self._topics: dict[str, int] = {}
        self._due_ns: dict[int, int] = {}
        self._took_ns: list[int] = []
        self._lane = Lane(wal, run_id, self._delivered, self.topic_id, self.key_id)
        self._classify: Callable[[int, Any, Any], None] | None = None

    def in_system(self, name: str) -> str:
        """Return the name in the system of a topic, or of anything else that clients name."""
        return self._namespace + name

    def in_history(self, name: str) -> str:
        """Return the workload's own name for a name in the system."""
        return name.removeprefix(self._namespace)

    def topic_id(self, topic: str) -> int:
        """Return the id of a topic, given its name in the system."""
        known = self._topics.get(topic)
        if known is None:
            known = self._topics[topic] = self._wal.name(self.in_history(topic))
        return known

    def key_id(self, key: bytes | None) -> int:
        """Return the id of a message's key; 0 if it has none."""
        return 0 if key is None else self._wal.name(key.decode(errors="backslashreplace"))

    def send(  # noqa: PLR0917 - as `WalWriter.send`
        self, topic_id: int, partition: int, key_id: int, value: int, intended_ns: int, sent_ns: int, f_code: int = 0
    ) -> int:
        """Record the invocation of a send and return its operation; see `WalWriter.send`.

        Raises:
            HistoryFull: nothing was recorded, so the message must not be sent.
        """
        op = self._wal.send(topic_id, partition, key_id, value, intended_ns, sent_ns, f_code)
        self._due_ns[op] = intended_ns
        self.progress.sent += 1
        return op

    def burst_through(self, producer: DeliveryReports) -> Callable[..., None]:
        """Return `chaoskit.history.recording.lane.Lane.burst` for a producer; its first argument is given.

        What was sent in bursts counts in `report` only.
        """
        self._classify = producer.delivered
        return partial(self._lane.burst, producer.send_reported)

    def _delivered(self, op: int, due_ns: int, error: Any, message: Any) -> None:
        """Record a delivery that has an error or no position."""
        assert self._classify is not None
        self._due_ns[op] = due_ns
        self._classify(op, error, message)

    def completed(
        self, op: int, outcome: Outcome, error: str | None, position: int | None, at_ns: int | None = None
    ) -> None:
        """Record the completion of a send; see `chaoskit.contract.clients.client.Completed`."""
        now = time.monotonic_ns() if at_ns is None else at_ns
        error_id = 0 if error is None else self._wal.name(error)
        self._wal.complete(op, now, outcome, error_id, NO_POSITION if position is None else position)
        due_ns = self._due_ns.pop(op, None)
        progress = self.progress
        if outcome == OK:
            progress.acked += 1
            if due_ns is not None:
                self._took_ns.append(now - due_ns)
        elif outcome == FAIL:
            progress.failed += 1
        elif outcome == INFO:
            progress.indeterminate += 1

    def invoke(self, f: str, at_ns: int | None = None) -> int:
        """Record the invocation of any other operation, now or at a given time, and return its number.

        Raises:
            HistoryFull: nothing was recorded, so the operation must not be executed.
        """
        return self._wal.invoke(self._wal.name(f), time.monotonic_ns() if at_ns is None else at_ns)

    def complete(self, op: int, outcome: Outcome = OK, error: str | None = None, at_ns: int | None = None) -> None:
        """Record the completion of an operation, now or at a given time."""
        error_id = 0 if error is None else self._wal.name(error)
        self._wal.complete(op, time.monotonic_ns() if at_ns is None else at_ns, outcome, error_id)

    @contextmanager
    def operation(self, f: str) -> Iterator[int]:
        """Record the enclosed block as an operation; its outcome is that of a raised `OperationFailed`, or ok."""
        op = self.invoke(f)
        try:
            yield op
        except OperationFailed as failed:
            self.complete(op, failed.outcome, str(failed))
            raise
        self.complete(op)

    def received(self, op: int, deliveries: Sequence[Delivery]) -> tuple[int, list[int]]:
        """Record the messages that an operation received, in order; return the time and their values."""
        now = time.monotonic_ns()
        values = self._lane.deliveries(op, list(deliveries), now)
        self.progress.received += len(deliveries)
        return now, values

    def observe(self, op: int, topic: str, partition: int, observation: Observation) -> None:
        """Record what an operation learned or did; names in it are names in the system. A plug-in may have records of
        its own."""
        wal = self._wal
        for kind, name, value, position in observation.rows():
            code = _CODES.get(kind, len(KINDS))
            wal.observed(
                op, code, self.topic_id(topic), partition, 0 if name is None else wal.name(self.in_history(name)),
                NO_POSITION if value is None else value, NO_POSITION if position is None else position,
                wal.name(kind) if code == len(KINDS) else NO_DELIVERY,
            )  # fmt: skip

    def audited(self, topic: str, partition: int, audit: Audit) -> None:
        """Record the final read of a partition."""
        self._wal.audit(self.topic_id(topic), partition, audit)

    def report(self) -> Progress:
        """Return the progress so far, with the latency of the sends acknowledged since the last report."""
        sent, acked, latencies = self._lane.drain()
        self.progress.sent += sent
        self.progress.acked += acked
        took_ns = np.concatenate([np.array(self._took_ns, np.int64), np.frombuffer(latencies, np.int64)])
        self._took_ns = []
        self.progress.latency = latency.sparse(took_ns)
        return self.progress
