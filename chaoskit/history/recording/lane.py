"""The messages of one client: built, recorded, sent and received one by one.

This is the reference for `hot.c`, which does the same several times as fast; see `chaoskit.history.recording.hot`.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from chaoskit.history.format.record import NO_DELIVERY
from chaoskit.history.recording.wal import WalWriter
from chaoskit.model import payload
from chaoskit.model.message import WITHOUT_CONTENT
from chaoskit.model.outcome import OK

Route = tuple[str, int, int, int, bytes | None]
"""Name of a topic in the system, its id in the log, partition, id of the key, key."""


D = TypeVar("D")


def delivered(kind: Callable[..., D], messages: list[Any]) -> tuple[list[D], list[Any]]:
    """Return the messages that a client library received without an error as deliveries, and the others as they are.

    Args:
        kind: a named tuple with the fields of `chaoskit.model.message.Delivery`.
        messages: each has `error()`, `topic()`, `partition()`, `key()`, `value()` and `offset()`, and if it has no
            value, `headers()`, of which `WITHOUT_CONTENT` is the payload.
    """
    good = [message for message in messages if message.error() is None]
    parts = (
        (message.topic(), message.partition(), message.key(), _payload(message), message.offset(), None)
        for message in good
    )
    return [kind(*part) for part in parts], [message for message in messages if message.error() is not None]


def _payload(message: Any) -> bytes | None:
    value: bytes | None = message.value()
    return dict(message.headers() or ()).get(WITHOUT_CONTENT) if value is None else value


class Report:
    """What a client library calls once a message was delivered, with an error or None, and the message.

    Attributes:
        op: the operation that sent it.
    """

    __slots__ = ("_due_ns", "_lane", "op")

    def __init__(self, lane: Lane, op: int, due_ns: int) -> None:
        self.op: int = op
        self._lane = lane
        self._due_ns = due_ns

    def __call__(self, error: Any, message: Any) -> None:
        position = None if error is not None else message.offset()
        if position is None or position < 0:
            self._lane.slow(self.op, self._due_ns, error, message)
        else:
            self._lane.acknowledged(self.op, self._due_ns, position)


class Lane:
    """Records what one client sends and receives.

    Args:
        log: the client's log.
        run_id: identifies the run in every payload.
        slow: called with operation, due time, error and message of a delivery that has an error or no position.
        topic_id: returns the id of a topic, given its name in the system.
        key_id: returns the id of a key.
    """

    def __init__(
        self,
        log: WalWriter,
        run_id: int,
        slow: Callable[[int, int, Any, Any], None],
        topic_id: Callable[[str], int],
        key_id: Callable[[bytes], int],
    ) -> None:
        self.slow = slow
        self._log = log
        self._run_id = run_id
        self._topic_id = topic_id
        self._key_id = key_id
        self._sent = self._acked = 0
        self._took_ns = array("q")

    def burst(  # noqa: PLR0917 - as `send`
        self,
        send: Callable[[str, int, bytes | None, bytes, Any], bool],
        full: Callable[[], object],
        routes: tuple[Route, ...],
        filler: bytes,
        first_value: int,
        sequence: int,
        count: int,
        start_ns: int,
        start_sequence: int,
        interval_ns: float,
    ) -> None:
        """Send messages one by one; each is recorded before it is passed to the client.

        Args:
            send: passes topic, partition, key, payload and a `Report` to the client; false if its queue is full.
            full: called then, until there is room.
            routes: where messages go, in turn by their sequence.
            filler: what payloads end with.
            first_value: value of the message with sequence 0.
            sequence: sequence of the first message to send.
            count: how many to send.
            start_ns: when the message with the sequence `start_sequence` is due, CLOCK_MONOTONIC.
            start_sequence: see `start_ns`.
            interval_ns: time from one message's due time to the next one's; 0: each is due when it is sent.

        Raises:
            HistoryFull: there is no space; the message was not sent.
        """
        for number in range(sequence, sequence + count):
            topic, topic_id, partition, key_id, key = routes[number % len(routes)]
            sent_ns, value = time.monotonic_ns(), first_value | number
            due_ns = start_ns + int((number - start_sequence) * interval_ns) if interval_ns else sent_ns
            content = payload.build(self._run_id, value, due_ns, sent_ns, filler)
            op = self._log.send(topic_id, partition, key_id, value, due_ns, sent_ns)
            self._sent += 1
            report = Report(self, op, due_ns)
            while not send(topic, partition, key, content, report):
                full()

    def acknowledged(self, op: int, due_ns: int, position: int) -> None:
        """Record that a message was acknowledged."""
        now = time.monotonic_ns()
        self._log.complete(op, now, OK, 0, position)
        self._acked += 1
        self._took_ns.append(now - due_ns)

    def deliveries(self, op: int, deliveries: list[Sequence[Any]], at_ns: int) -> list[int]:
        """Record the messages that an operation received, in order; return their values.

        Args:
            op: the operation.
            deliveries: each as `chaoskit.model.message.Delivery`.
            at_ns: when they were received.
        """
        values = []
        for topic, partition, key, content, position, count in deliveries:
            code, value, due_ns, sent_ns = payload.read(content, self._run_id)
            self._log.received(
                op, self._topic_id(topic), partition, 0 if key is None else self._key_id(key), value, position,
                due_ns, sent_ns, at_ns, code, NO_DELIVERY if count is None else count,
            )  # fmt: skip
            values.append(value)
        return values

    def drain(self) -> tuple[int, int, bytes]:
        """Return how many messages were sent and acknowledged since the last call, and the latencies of these (int64
        ns)."""
        totals = self._sent, self._acked, self._took_ns.tobytes()
        self._sent = self._acked = 0
        self._took_ns = array("q")
        return totals
