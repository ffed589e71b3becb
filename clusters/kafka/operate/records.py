"""Deletion of the oldest records of the trial's topics (KIP-107)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.model.place import Place
from clusters.kafka.operate.answers import answers
from clusters.kafka.operate.operator import KafkaOperator

_TIMEOUT_S = 20


class KafkaRecords:
    """The power `RecordDeletion` of `chaoskit.contract.systems.operating`.

    Args:
        admin: an admin client of the cluster.
        operator: tells which partitions a host leads.
        topics: returns the names of the trial's topics.
    """

    def __init__(self, admin: AdminClient, operator: KafkaOperator, topics: Callable[[], Sequence[str]]) -> None:
        self._admin = admin
        self._operator = operator
        self._topics = topics

    def logs_led_by(self, host: ServiceHost) -> list[Place]:
        return [place for place in self._operator.partitions_led_by(host) if place[0] in self._topics()]

    def bounds(self, places: Sequence[Place]) -> dict[Place, tuple[int, int]]:
        first = self._offsets(places, OffsetSpec.earliest())  # type: ignore[no-untyped-call]
        end = self._offsets(places, OffsetSpec.latest())  # type: ignore[no-untyped-call]
        return {place: (first[place], end[place]) for place in places}

    def delete_before(self, positions: Mapping[Place, int]) -> None:
        wanted = [TopicPartition(topic, number, before) for (topic, number), before in positions.items()]
        asked = self._admin.delete_records(wanted, request_timeout=_TIMEOUT_S, operation_timeout=_TIMEOUT_S)
        answers(asked, "records could not be deleted")

    def _offsets(self, places: Sequence[Place], which: OffsetSpec) -> dict[Place, int]:
        wanted = {TopicPartition(*place): which for place in places}
        asked = self._admin.list_offsets(wanted, request_timeout=_TIMEOUT_S) if wanted else {}
        listed = answers(asked, "offsets could not be listed")
        return {(at.topic, at.partition): position.offset for at, position in listed.items()}
