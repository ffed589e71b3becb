"""Kafka's producer (librdkafka through confluent-kafka), and the classification of its completions.

A delivery report with an error does not imply that the message was not written. Only errors that
librdkafka or the broker raise before anything is appended, and after which no earlier attempt of the
same message can be in flight, are `fail`. Everything else is `info`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from chaoskit.contract.clients.client import Completed
from chaoskit.model.message import WITHOUT_CONTENT
from chaoskit.model.outcome import DUPLICATE, FAIL, INFO, OK, Outcome
from clusters.kafka.clients.partitions import partition_count
from clusters.kafka.connection import CONNECTION_DEFAULTS

NEVER_SENT = {
    KafkaError.MSG_SIZE_TOO_LARGE: "larger than allowed: rejected before it is appended, never retried",
    KafkaError.RECORD_LIST_TOO_LARGE: "batch larger than a segment: rejected before it is appended, never retried",
    KafkaError.INVALID_REQUIRED_ACKS: "acks not supported: rejected before it is appended, never retried",
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "not authorised: rejected before it is appended, never retried",
}  # fmt: skip
"""Errors that prove that a message was not written, and why."""

_POLL_MIN_S = 0.001
"""librdkafka waits whole milliseconds."""

_REFRESH, _REFRESH_MS = "topic.metadata.refresh.interval.ms", 300_000
"""How often librdkafka asks what partitions there are, and its default."""


def classify(code: int) -> Outcome:
    """Return the outcome code of a delivery report with an error.

    >>> classify(KafkaError._MSG_TIMED_OUT) == INFO, classify(KafkaError.MSG_SIZE_TOO_LARGE) == FAIL
    (True, True)
    """
    return FAIL if code in NEVER_SENT else INFO


class KafkaProducer:
    """See `chaoskit.contract.clients.client.Producer`."""

    def __init__(self, settings: Mapping[str, Any], completed: Completed) -> None:
        self._settings = {**CONNECTION_DEFAULTS, **settings}
        self._producer = Producer(self._settings)
        self._completed = completed
        # With acks=0 there are no offsets, and librdkafka counts up from -1001: past 0 in a large batch.
        self._knows_offsets = str(settings.get("acks")) != "0"

    def send(self, topic: str, partition: int, key: bytes | None, payload: bytes, token: int) -> bool:
        return self._enqueue(token, topic, payload, key, partition, partial(self.delivered, token))

    def delete(self, topic: str, partition: int, key: bytes, payload: bytes, token: int) -> bool:
        """See `chaoskit.contract.clients.client.DeletingProducer`."""
        carried = [(WITHOUT_CONTENT, payload)]
        return self._enqueue(token, topic, None, key, partition, partial(self.delivered, token), headers=carried)

    @property
    def tells_positions(self) -> bool:
        """See `chaoskit.contract.clients.client.Bursting`."""
        return self._knows_offsets

    def send_reported(self, topic: str, partition: int, key: bytes | None, payload: bytes, report: Any) -> bool:
        """See `chaoskit.contract.clients.client.Bursting`."""
        try:
            self._producer.produce(topic, payload, key, partition, report)
        except BufferError:
            return False
        except KafkaException as error:
            self._refused(report.op, error)
        return True

    @property
    def asks_every_s(self) -> float:
        """See `chaoskit.contract.clients.client.Rerouting`."""
        every_ms = int(self._settings.get(_REFRESH, _REFRESH_MS))
        return every_ms / 1000 if every_ms > 0 else math.inf

    def partition_count(self, topics: Sequence[str], timeout_s: float) -> int | None:
        """See `chaoskit.contract.clients.client.PartitionCounting`."""
        return partition_count(self._producer, topics, timeout_s)

    def pending(self) -> int:
        return len(self._producer)

    def poll(self, timeout_s: float) -> None:
        if 0 < timeout_s < _POLL_MIN_S:
            time.sleep(timeout_s)
            timeout_s = 0
        self._serve(self._producer.poll, timeout_s)

    def close(self, timeout_s: float) -> None:
        if self._serve(self._producer.flush, timeout_s) > 0:
            self._purge()

    def _enqueue(self, token: int, *message: Any, **more: Any) -> bool:
        """Enqueue a message, as `Producer.produce` takes it; return False if the client's queue is full."""
        try:
            self._producer.produce(*message, **more)
        except BufferError:
            return False
        except KafkaException as error:
            self._refused(token, error)
        return True

    def _refused(self, token: int, error: KafkaException) -> None:
        """Report a send that the call itself refused: nothing was enqueued."""
        self._completed(token, FAIL, error.args[0].name(), None)
        if error.args[0].fatal():
            self._replace()

    def _serve(self, call: Callable[[float], int], timeout_s: float) -> int:
        """Poll or flush. Both may raise a fatal error, also through a delivery report (SystemError)."""
        try:
            return call(timeout_s)
        except (KafkaException, SystemError):
            self._replace()
            return 0

    def _replace(self) -> None:
        """Continue with a new producer, as an application must after a fatal error of an idempotent producer. This
        happens, for example, if a broker lost acknowledged messages and no longer knows the sequence."""
        self._purge()
        self._producer = Producer(self._settings)

    def _purge(self) -> None:
        """Abandon all sends in flight and process their delivery reports."""
        with suppress(KafkaException, SystemError):
            self._producer.purge(in_queue=True, in_flight=True, blocking=True)
        with suppress(KafkaException, SystemError):
            self._producer.flush(5)

    def delivered(self, token: int, error: KafkaError | None, message: Message) -> None:
        """See `chaoskit.contract.clients.client.Bursting`."""
        if error is None:
            offset = message.offset() if self._knows_offsets else None
            if offset is not None and offset < 0:  # a duplicate that the broker dropped
                self._completed(token, OK, DUPLICATE, None)
            else:
                self._completed(token, OK, None, offset)
        else:
            self._completed(token, classify(error.code()), error.name(), None)
