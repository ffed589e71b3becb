"""Kafka's clients (librdkafka through confluent-kafka), their completions classified.

A delivery report with an error does not say that the message was not written: only errors that
librdkafka or the broker raise before anything is appended, and after which no earlier attempt of
the same message can be in flight, are `fail`. Everything else is `info`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from chaoskit.client import DUPLICATE, FAIL, INFO, OK, Commit, Completed, Delivery, Membership, PositionLost
from chaoskit.cluster import ClusterError

NEVER_SENT = {
    KafkaError.MSG_SIZE_TOO_LARGE: "larger than allowed: refused before it is appended, never retried",
    KafkaError.RECORD_LIST_TOO_LARGE: "batch larger than a segment: refused before it is appended, never retried",
    KafkaError.INVALID_REQUIRED_ACKS: "acks not supported: refused before it is appended, never retried",
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "not authorised: refused before it is appended, never retried",
}  # fmt: skip
"""Errors that prove that a message was not written, and why."""

_LOST_POSITIONS = {KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._LOG_TRUNCATION}

PRODUCER_DEFAULTS: dict[str, Any] = {
    "acks": "all",
    "enable.idempotence": True,
    "linger.ms": 5,
    "request.timeout.ms": 10_000,
    "delivery.timeout.ms": 30_000,
    "queue.buffering.max.messages": 200_000,
}
"""Ours where librdkafka's differ: idempotence as in Kafka's own (Java) producer since 3.0, and timeouts
short enough that a test run ends: a broker that lost power leaves its connections half open, and a
request that it had received is only known to be unanswered when it times out."""

GROUP = "chaoskit"
CONSUMER_DEFAULTS: dict[str, Any] = {
    "group.id": GROUP,
    "check.crcs": True,
    "enable.auto.commit": False,
    "enable.partition.eof": False,
    "fetch.wait.max.ms": 50,
    "session.timeout.ms": 10_000,
}
"""CRCs are checked, as Kafka's own (Java) consumer does. A lost position is an error here, so that the workload
sees it and records its seek. The workload commits, so that each commit is recorded; with `enable.auto.commit`
librdkafka does, and nobody knows when."""

_CONNECTION_DEFAULTS = {
    "log_level": 0,
    "reconnect.backoff.max.ms": 500,
    "socket.connection.setup.timeout.ms": 2000,
    "socket.timeout.ms": 10_000,
}
"""For every client: no log of its own, and back soon when a broker is."""


_ALIASES = {
    "request.required.acks": "acks",
    "message.timeout.ms": "delivery.timeout.ms",
    "message.send.max.retries": "retries",
    "max.in.flight": "max.in.flight.requests.per.connection",
}
"""librdkafka's second names of settings that we set or that guarantees depend on."""


def resolve_producer(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the producer settings in force: given ones over ours; null leaves librdkafka's default."""
    named = {_ALIASES.get(key, key): value for key, value in given.items()}
    base = dict(PRODUCER_DEFAULTS)
    if str(named.get("acks")) not in ("None", "all", "-1"):
        base["enable.idempotence"] = False
    return {key: value for key, value in {**base, **named}.items() if value is not None}


def classify(code: int) -> int:
    """Return the outcome code of an errored delivery report.

    >>> classify(KafkaError._MSG_TIMED_OUT) == INFO, classify(KafkaError.MSG_SIZE_TOO_LARGE) == FAIL
    (True, True)
    """
    return FAIL if code in NEVER_SENT else INFO


def generation(metadata: bytes) -> int:
    """Return the generation in librdkafka's serialised group metadata, or -1 in a form that is not known.

    >>> generation(b"CGMDv2:" + (5).to_bytes(4, "little") + b"group")
    5
    """
    magic = b"CGMDv2:"
    end = len(magic) + 4
    return int.from_bytes(metadata[len(magic) : end], sys.byteorder, signed=True) if metadata.startswith(magic) else -1


class KafkaProducer:
    """See `chaoskit.client.Producer`."""

    def __init__(self, settings: Mapping[str, Any], completed: Completed) -> None:
        self._settings = {**_CONNECTION_DEFAULTS, **settings}
        self._producer = Producer(self._settings)
        self._completed = completed
        # With acks=0 nobody tells an offset, and librdkafka counts up from -1001: past 0 in a large batch.
        self._told_offsets = str(settings.get("acks")) != "0"

    def send(self, topic: str, partition: int, key: bytes | None, payload: bytes, token: int) -> bool:
        try:
            self._producer.produce(topic, payload, key, partition, partial(self._delivered, token))
        except BufferError:
            return False
        except KafkaException as error:  # raised by the call itself: nothing was enqueued
            self._completed(token, FAIL, error.args[0].name(), None)
            if error.args[0].fatal():
                self._replace()
        return True

    def pending(self) -> int:
        return len(self._producer)

    def poll(self, timeout_s: float) -> None:
        self._serve(self._producer.poll, timeout_s)

    def close(self, timeout_s: float) -> None:
        if self._serve(self._producer.flush, timeout_s) > 0:
            self._purge()

    def _serve(self, call: Callable[[float], int], timeout_s: float) -> int:
        """Poll or flush. A fatal error is raised from there, also through a delivery report (SystemError)."""
        try:
            return call(timeout_s)
        except (KafkaException, SystemError):
            self._replace()
            return 0

    def _replace(self) -> None:
        """Go on with a new producer, as an application must when the idempotent one has failed for good: such as
        when a broker lost what it had acknowledged, and no longer knows the sequence."""
        self._purge()
        self._producer = Producer(self._settings)

    def _purge(self) -> None:
        """Give up all that is under way, and take its reports."""
        with suppress(KafkaException, SystemError):
            self._producer.purge(in_queue=True, in_flight=True, blocking=True)
        with suppress(KafkaException, SystemError):
            self._producer.flush(5)

    def _delivered(self, token: int, error: KafkaError | None, message: Message) -> None:
        if error is None:
            offset = message.offset() if self._told_offsets else None
            if offset is not None and offset < 0:  # a duplicate that the broker dropped
                self._completed(token, OK, DUPLICATE, None)
            else:
                self._completed(token, OK, None, offset)
        else:
            self._completed(token, classify(error.code()), error.name(), None)


class KafkaConsumer:
    """See `chaoskit.client.Auditor`."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._consumer = Consumer({**_CONNECTION_DEFAULTS, **settings, "auto.offset.reset": "error"})
        self._group = str(settings.get("group.id"))
        self._commits_itself = str(settings.get("enable.auto.commit")).lower() != "false"

    def assign(self, partitions: Sequence[tuple[str, int]]) -> None:
        self._consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for topic, partition in partitions])

    def subscribe(self, topics: Sequence[str], membership: Membership) -> None:
        def assigned(consumer: Consumer, partitions: list[TopicPartition]) -> None:
            starts = consumer.committed(partitions, timeout=10)
            for start in starts:
                start.offset = OFFSET_BEGINNING if start.offset < 0 else start.offset
            consumer.assign(starts)
            owned = [(each.topic, each.partition) for each in partitions]
            membership.assigned(self._group, generation(consumer.consumer_group_metadata()), owned)

        def revoked(consumer: Consumer, partitions: list[TopicPartition]) -> None:
            membership.revoked()

        self._consumer.subscribe(list(topics), on_assign=assigned, on_revoke=revoked, on_lost=revoked)

    def commit(self) -> Commit | None:
        if self._commits_itself:
            return None
        reached = [each for each in self._consumer.position(self._consumer.assignment()) if each.offset >= 0]
        if not reached:
            return None
        positions = [(each.topic, each.partition, each.offset) for each in reached]
        try:
            answers = self._consumer.commit(offsets=reached, asynchronous=False)
        except KafkaException as error:
            return Commit(positions, INFO, error.args[0].name())
        refused = [each.error for each in answers if each.error is not None]
        return Commit(positions, INFO, refused[0].name()) if refused else Commit(positions, OK, None)

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Delivery], list[PositionLost], str | None]:
        deliveries, lost, failure = [], [], None
        first = self._consumer.poll(timeout_s)
        if first is None:
            return deliveries, lost, failure
        # consume() waits for all that it was asked for; without a wait it takes what is there.
        for message in [first, *self._consumer.consume(messages_max - 1, 0)]:
            error = message.error()
            if error is None:
                deliveries.append(
                    Delivery(
                        message.topic(),
                        message.partition(),
                        message.key(),
                        message.value(),
                        message.offset(),
                        None,
                    )
                )
            elif error.code() in _LOST_POSITIONS and message.topic():
                lost.append(PositionLost(message.topic(), message.partition(), error.name()))
            else:
                failure = error.name()
        return deliveries, lost, failure

    def seek_to_beginning(self, topic: str, partition: int) -> None:
        # librdkafka refuses seek() on a partition that stopped at an error; assigning anew restarts it.
        assigned = self._consumer.position(self._consumer.assignment())
        for each in assigned:
            if (each.topic, each.partition) == (topic, partition) or each.offset < 0:
                each.offset = OFFSET_BEGINNING
        self._consumer.assign(assigned)

    def bounds(self, topic: str, partition: int, timeout_s: float) -> tuple[int, int]:
        try:
            low, high = self._consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=timeout_s)
        except KafkaException as error:
            raise ClusterError(f"no end position of {topic}/{partition}: {error.args[0].name()}") from error
        return low, high

    def position(self, topic: str, partition: int) -> int:
        return int(self._consumer.position([TopicPartition(topic, partition)])[0].offset)

    def close(self) -> None:
        self._consumer.close()


class KafkaClients:
    """The factory for worker processes; see `chaoskit.client.ClientFactory`."""

    def __init__(self, connection: Mapping[str, Any]) -> None:
        self._connection = connection

    def producer(self, settings: Mapping[str, Any], completed: Completed) -> KafkaProducer:
        return KafkaProducer({**self._connection, **resolve_producer(settings)}, completed)

    def consumer(self, settings: Mapping[str, Any]) -> KafkaConsumer:
        return KafkaConsumer({**self._connection, **CONSUMER_DEFAULTS, **settings})

    def auditor(self) -> KafkaConsumer:
        return KafkaConsumer(
            {
                **self._connection,
                **CONSUMER_DEFAULTS,
                "group.id": f"{GROUP}-auditor",
            }
        )
