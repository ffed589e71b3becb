"""The reader of the final read of tiered topics: a log may begin in the object store, which may have lost it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, KafkaException, TopicPartition

from chaoskit.contract.clients.client import Gap
from chaoskit.contract.systems.service import ServiceError
from clusters.kafka.clients.consumer import KafkaAuditor
from clusters.kafka.tiered.local import LeaderReads


class TieredAuditor(KafkaAuditor):
    """See `chaoskit.contract.clients.client.TieredReader` and `GapReader`. Needs the setting `group.id`.

    Args:
        connection: the settings of the consumer.
        isolation: what it reads.
        leaders: asks the brokers themselves.
    """

    def __init__(self, connection: Mapping[str, Any], isolation: str, leaders: LeaderReads) -> None:
        super().__init__(connection, isolation)
        self._leaders = leaders

    def local_start(self, topic: str, partition: int, timeout_s: float) -> int | None:
        return self._leaders.local_start((topic, partition), timeout_s)

    def gap(self, topic: str, partition: int, end: int, timeout_s: float) -> Gap | None:
        try:
            at = max(self.position(topic, partition), self.bounds(topic, partition, timeout_s)[0])
        except ServiceError:
            return None
        return self._leaders.gap((topic, partition), at, end, timeout_s)

    def pass_gap(self, topic: str, partition: int, until: int) -> None:
        # Assigning again also restarts a partition that stopped at an error, which seek() may refuse.
        others = [
            self._going_on(position)
            for position in self._consumer.position(self._consumer.assignment())
            if (position.topic, position.partition) != (topic, partition)
        ]
        try:
            self._consumer.assign([TopicPartition(topic, partition, until), *others])
        except KafkaException as error:
            raise ServiceError(f"{topic}/{partition} cannot be read from {until} on: {error.args[0].str()}") from error
        self._ends[topic, partition] = until

    def _going_on(self, position: TopicPartition) -> TopicPartition:
        """Return where to go on with a partition, also if nothing was read of it since it was assigned."""
        known = self._ends.get((position.topic, position.partition), OFFSET_BEGINNING)
        return position if position.offset >= 0 else TopicPartition(position.topic, position.partition, known)
