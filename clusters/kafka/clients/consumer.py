"""Kafka's consumers (librdkafka through confluent-kafka), and the reader of the final read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from chaoskit.contract.clients.client import Membership, PositionLost, Reached
from chaoskit.contract.systems.service import ServiceError
from chaoskit.history.recording.hot import delivered
from chaoskit.model.message import Delivery
from chaoskit.model.outcome import INFO, OK, Outcome
from chaoskit.model.place import Place
from clusters.kafka.clients.membership import resolve_consumer, takes_a_few
from clusters.kafka.clients.partitions import partition_count
from clusters.kafka.clients.settings import CONSUMER_DEFAULTS, ISOLATION
from clusters.kafka.connection import CONNECTION_DEFAULTS

_Rebalanced = Callable[[Consumer, list[TopicPartition]], None]
_COMMITTED_S = 10
_LOST_POSITIONS = {KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._LOG_TRUNCATION}


def generation(metadata: bytes) -> int | None:
    """Return the generation from librdkafka's serialised group metadata; None if the format is unknown.

    >>> generation(b"CGMDv2:" + (5).to_bytes(4, "little") + b"group")
    5
    """
    magic = b"CGMDv2:"
    end = len(magic) + 4
    if not metadata.startswith(magic):
        return None
    return int.from_bytes(metadata[len(magic) : end], sys.byteorder, signed=True)


class KafkaConsumer:
    """See `chaoskit.contract.clients.client.Consumer`. Needs the setting `group.id`."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        chosen = resolve_consumer(settings, {**CONNECTION_DEFAULTS, **CONSUMER_DEFAULTS})
        self._consumer = Consumer({**chosen, "auto.offset.reset": "error"})
        self._takes_a_few = takes_a_few(settings)
        self._group = str(settings["group.id"])
        self._commits_itself = str(settings.get("enable.auto.commit", False)).lower() != "false"
        self._reached: dict[tuple[str, int], int] = {}
        self._rebalances = 0
        self._paused = False
        self._subscribed = False
        self._closing = False
        self._dead: str | None = None

    def assign(self, partitions: Sequence[tuple[str, int]]) -> None:
        self._consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for topic, partition in partitions])

    def subscribe(self, topics: Sequence[str], membership: Membership) -> None:
        @_raised_as_exceptions
        def assigned(consumer: Consumer, partitions: list[TopicPartition]) -> None:
            if self._takes_a_few:
                consumer.incremental_assign(_starts(consumer, partitions))
            else:
                consumer.assign(_starts(consumer, partitions))
            if self._paused:
                consumer.pause(partitions)
            self._tell(membership)

        @_raised_as_exceptions
        def revoked(consumer: Consumer, partitions: list[TopicPartition]) -> None:
            membership.revoked()
            self._rebalances += 1
            if not self._takes_a_few:
                self._reached.clear()
                return
            for partition in partitions:
                self._reached.pop((partition.topic, partition.partition), None)
            consumer.incremental_unassign(partitions)
            # While it closes it owns nothing any more, and may refuse to say so.
            if not self._closing and consumer.assignment():
                self._tell(membership)

        self._subscribed = True
        self._consumer.subscribe(list(topics), on_assign=assigned, on_revoke=revoked, on_lost=revoked)

    def _tell(self, membership: Membership) -> None:
        owned = [(partition.topic, partition.partition) for partition in self._consumer.assignment()]
        membership.assigned(self._group, generation(self._consumer.consumer_group_metadata()), owned)

    def reached(self) -> Reached:
        # Not the consumer's own position: inside consume() it is already past messages that are not recorded yet.
        return [] if self._commits_itself else [(*where, position) for where, position in self._reached.items()]

    def commit(self, reached: Reached) -> tuple[Outcome, str | None]:
        try:
            answers = self._consumer.commit(
                offsets=[TopicPartition(*position) for position in reached], asynchronous=False
            )
        except KafkaException as error:
            return INFO, error.args[0].name()
        refused = [answer.error for answer in answers if answer.error is not None]
        return (INFO, refused[0].name()) if refused else (OK, None)

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Delivery], list[PositionLost], str | None]:
        lost: list[PositionLost] = []
        failure: str | None = None
        rebalances = self._rebalances
        first = self._consumer.poll(timeout_s)
        if first is None:
            return [], lost, self._dead
        # consume() waits until it has as many messages as requested; with a timeout of 0 it returns what is available.
        deliveries, others = delivered(Delivery, [first, *self._consumer.consume(messages_max - 1, 0)])
        for message in others:
            error = message.error()
            if error.code() == KafkaError._PARTITION_EOF:
                self._reached_end(message)
            elif error.code() in _LOST_POSITIONS and message.topic():
                lost.append(PositionLost(message.topic(), message.partition(), error.name()))
            else:
                failure = error.name()
                # librdkafka says so once, and then returns nothing for ever.
                self._dead = failure if error.code() == KafkaError._FATAL else self._dead
        if self._rebalances == rebalances:  # otherwise they may be of a partition that is not owned any more
            # A partition's messages are in order, so that the last one counts.
            places = dict(zip(((delivery[0], delivery[1]) for delivery in deliveries), deliveries, strict=True))
            self._reached |= {place: last.position + 1 for place, last in places.items()}
        return deliveries, lost, failure

    def seek_to_beginning(self, topic: str, partition: int) -> None:
        self._reached.pop((topic, partition), None)
        # librdkafka rejects seek() on a partition that stopped at an error; assigning it again restarts it.
        again = TopicPartition(topic, partition, OFFSET_BEGINNING)
        if self._subscribed and self._takes_a_few:
            self._consumer.incremental_unassign([TopicPartition(topic, partition)])
            self._consumer.incremental_assign([again])
            return
        others = [
            position
            for position in self._consumer.position(self._consumer.assignment())
            if (position.topic, position.partition) != (topic, partition)
        ]
        # Of which nothing was consumed yet, they have no position: they start where the group had committed.
        unread = [TopicPartition(other.topic, other.partition) for other in others if other.offset < 0]
        started = _starts(self._consumer, unread) if unread else []
        self._consumer.assign([again, *started, *(other for other in others if other.offset >= 0)])

    def seek_to_time(self, place: Place, at_ms: int) -> str | None:
        """See `chaoskit.contract.clients.client.SeekingConsumer`."""
        try:
            (position,) = self._consumer.offsets_for_times([TopicPartition(*place, at_ms)], timeout=_COMMITTED_S)
        except KafkaException as error:
            return str(error.args[0].name())
        if position.error is not None:
            return str(position.error.name())
        return None if position.offset < 0 else self.seek_to(place, position.offset)

    def seek_to(self, place: Place, position: int) -> str | None:
        """See `chaoskit.contract.clients.client.SeekingConsumer`."""
        try:
            self._consumer.seek(TopicPartition(*place, position))
        except KafkaException as error:
            return str(error.args[0].name())
        self._reached.pop(place, None)
        return None

    def hold(self, *, paused: bool) -> None:
        self._paused = paused
        (self._consumer.pause if paused else self._consumer.resume)(self._consumer.assignment())

    def close(self) -> None:
        self._closing = True
        self._consumer.close()

    def _reached_end(self, message: Any) -> None:
        """Ignore the end of a partition; only the final read uses it."""


def _raised_as_exceptions(callback: _Rebalanced) -> _Rebalanced:
    """Give what a callback raises its class before it reaches the client.

    Before Python 3.12 an exception that C code raised has a class only once an `except` has seen it, and
    confluent-kafka 2.16 forgets the class (its `CallState_fetch_exception`): what `poll` or `close` then raise is a
    KafkaError (or a text), which is no exception. No `except` stops it, and the process ends.
    """

    def call(consumer: Consumer, partitions: list[TopicPartition]) -> None:
        try:
            callback(consumer, partitions)
        except Exception:
            raise

    return call


def _starts(consumer: Consumer, partitions: list[TopicPartition]) -> list[TopicPartition]:
    """Return where to read assigned partitions from: where the group committed, or else the beginning."""
    try:
        starts: list[TopicPartition] = consumer.committed(partitions, timeout=_COMMITTED_S)
    except KafkaException:
        return partitions  # librdkafka asks for the committed positions itself, until the coordinator answers
    for start in starts:
        start.offset = OFFSET_BEGINNING if start.offset < 0 else start.offset
    return starts


class KafkaAuditor(KafkaConsumer):
    """See `chaoskit.contract.clients.client.Auditor`. Needs the setting `group.id`."""

    def __init__(self, connection: Mapping[str, Any], isolation: str) -> None:
        super().__init__({**connection, ISOLATION: isolation, "enable.partition.eof": True})
        # The last stable offset is not the end: what an open transaction holds back must still be read.
        self._uncommitted = Consumer({**CONNECTION_DEFAULTS, **connection, ISOLATION: "read_uncommitted"})
        self._ends: dict[tuple[str, int], int] = {}

    def bounds(self, topic: str, partition: int, timeout_s: float) -> tuple[int, int]:
        try:
            low, high = self._uncommitted.get_watermark_offsets(TopicPartition(topic, partition), timeout=timeout_s)
        except KafkaException as error:
            raise ServiceError(f"no end position of {topic}/{partition}: {error.args[0].name()}") from error
        return low, high

    def partition_count(self, topics: Sequence[str], timeout_s: float) -> int | None:
        """See `chaoskit.contract.clients.client.PartitionCounting`."""
        return partition_count(self._uncommitted, topics, timeout_s)

    def position(self, topic: str, partition: int) -> int:
        at = int(self._consumer.position([TopicPartition(topic, partition)])[0].offset)
        return max(at, self._ends.get((topic, partition), at))

    def close(self) -> None:
        super().close()
        self._uncommitted.close()

    def _reached_end(self, message: Any) -> None:
        """Record the end: the position stays before trailing transaction markers, which are not delivered."""
        self._ends[message.topic(), message.partition()] = message.offset()
