"""Partitions that an operator adds to the trial's topics (KIP-195)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]

from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.service import ServiceError
from clusters.kafka.connection import BOOTSTRAP
from clusters.kafka.operate.answers import answers
from clusters.kafka.settings import BROKER_PORT

_TIMEOUT_S = 20
_ASK_S = 3


class KafkaPartitions:
    """The power `PartitionAdding` of `chaoskit.contract.systems.operating`.

    Args:
        admin: an admin client of the cluster.
        topics: returns the names of the trial's topics.
    """

    def __init__(self, admin: AdminClient, topics: Callable[[], Sequence[str]]) -> None:
        self._admin = admin
        self._topics = topics

    def partitions_known_to(self, host: ServiceHost) -> dict[str, int]:
        # A new client each time: only its first question is sure to go to this broker.
        asked = AdminClient({BOOTSTRAP: f"{host.address}:{BROKER_PORT}", "log_level": 0}, logger=None)
        try:
            known = asked.list_topics(timeout=_ASK_S).topics
        except KafkaException as error:
            raise ServiceError(f"{host.name} tells no partitions: {error.args[0].str()}") from error
        states = {topic: known[topic].partitions.values() if topic in known else () for topic in self._topics()}
        return {topic: sum(state.leader >= 0 for state in partitions) for topic, partitions in states.items()}

    def add_partitions(self, count: int) -> None:
        wanted = [NewPartitions(topic, count) for topic in self._topics()]
        asked = self._admin.create_partitions(wanted, request_timeout=_TIMEOUT_S, operation_timeout=_TIMEOUT_S)
        answers(asked, "partitions could not be added")
