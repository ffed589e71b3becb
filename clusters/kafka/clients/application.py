"""Watches an application on Kafka: what it wrote, what its groups committed, and who owns which partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from chaoskit.contract.clients.application import PartitionOwner, Progressed, ReadRecord
from chaoskit.contract.systems.service import ServiceError
from chaoskit.model.place import Place
from clusters.kafka.clients.offsets import committed_in
from clusters.kafka.clients.ownership import OwnerQuestions
from clusters.kafka.clients.settings import ISOLATION, READ_COMMITTED
from clusters.kafka.connection import CONNECTION_DEFAULTS

_OFFSETS = "__consumer_offsets"
_MESSAGES_MAX = 500
_ASKED_S = 2.0


class KafkaRecordReader:
    """See `chaoskit.contract.clients.application.RecordReader`; sees what is committed only."""

    def __init__(self, connection: Mapping[str, Any], places: Sequence[Place], group: str) -> None:
        own = {"group.id": group, "enable.auto.commit": False, "auto.offset.reset": "earliest"}
        self._consumer = Consumer(
            {**CONNECTION_DEFAULTS, **connection, **own, ISOLATION: READ_COMMITTED, "enable.partition.eof": True}
        )
        self._reached: dict[Place, int] = dict.fromkeys(places, 0)
        self._consumer.assign([TopicPartition(*place, OFFSET_BEGINNING) for place in places])

    def poll(self, timeout_s: float) -> tuple[list[ReadRecord], str | None]:
        records: list[ReadRecord] = []
        failure: str | None = None
        first = self._consumer.poll(timeout_s)
        messages: list[Any] = [] if first is None else [first, *self._consumer.consume(_MESSAGES_MAX, 0)]
        for message in messages:
            place = message.topic(), message.partition()
            if (error := message.error()) is None:
                headers = {name: value or b"" for name, value in message.headers() or ()}
                records.append(ReadRecord(*place, message.offset(), message.key(), message.value() or b"", headers))
                self._reached[place] = message.offset() + 1
            elif error.code() == KafkaError._PARTITION_EOF:
                # Behind the last message may be marks of transactions, which are not delivered.
                self._reached[place] = max(self._reached[place], message.offset())
            else:
                failure = error.name()
        return records, failure

    def bounds(self, place: Place, timeout_s: float) -> tuple[int, int]:
        try:
            low, high = self._consumer.get_watermark_offsets(TopicPartition(*place), timeout=timeout_s)
        except KafkaException as error:
            raise ServiceError(f"no end position of {place[0]}/{place[1]}: {error.args[0].name()}") from error
        return low, high

    def reached(self, place: Place) -> int:
        return self._reached[place]

    def close(self) -> None:
        self._consumer.close()


class KafkaGroupObserver:
    """See `chaoskit.contract.clients.application.GroupObserver`: reads the topic of all commits.

    Args:
        connection: settings of a client.
        topics: the topics that the groups read.
        own: how the names of chaoskit's own groups begin.
    """

    def __init__(self, connection: Mapping[str, Any], topics: Sequence[str], own: str) -> None:
        self._topics = frozenset(topics)
        self._own = own
        settings = {**CONNECTION_DEFAULTS, **connection}
        self._owners = OwnerQuestions(settings, topics, own)
        self._consumer = Consumer(
            {**settings, "group.id": f"{own}-observer", "enable.auto.commit": False, ISOLATION: READ_COMMITTED}
        )
        self._assigned = False

    def committed(self, timeout_s: float) -> list[Progressed]:
        if not (self._assigned or self._assign()):
            self._consumer.poll(timeout_s)
            return []
        first = self._consumer.poll(timeout_s)
        messages = [] if first is None else [first, *self._consumer.consume(_MESSAGES_MAX, 0)]
        commits = (committed_in(message.key(), message.value()) for message in messages if message.error() is None)
        return [
            commit
            for commit in commits
            if commit is not None and commit.place[0] in self._topics and not commit.group.startswith(self._own)
        ]

    def owners(self) -> list[PartitionOwner] | None:
        return self._owners.ask()

    def close(self) -> None:
        self._owners.close()
        self._consumer.close()

    def _assign(self) -> bool:
        """Read all commits from the first one on, once there is a topic of them; return whether there is."""
        try:
            known = self._consumer.list_topics(_OFFSETS, timeout=_ASKED_S).topics.get(_OFFSETS)
        except KafkaException:
            return False
        if known is None or known.error is not None or not known.partitions:
            return False
        self._consumer.assign([TopicPartition(_OFFSETS, number, OFFSET_BEGINNING) for number in known.partitions])
        self._assigned = True
        return True
