"""The topics of a trial: create, look whether they are whole, delete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from chaoskit.base.errors import BadInput
from chaoskit.base.waiting import wait_while
from chaoskit.contract.systems.service import ServiceError
from chaoskit.contract.workloads.topic import Topic
from clusters.common.properties import Scalar, text

_CREATE_TIMEOUT_S = 30
_INTERNAL = ("__consumer_offsets", "__transaction_state", "__share_group_state")
"""Topics of the coordinators: until all their replicas are in sync, groups and transactions are not whole."""

_REFUSED_FOR_GOOD = (
    KafkaError.INVALID_CONFIG,
    KafkaError.INVALID_REPLICATION_FACTOR,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
)


class KafkaTopics:
    """The topics of a trial.

    Args:
        admin: an admin client of the cluster.

    Attributes:
        names: their names.
    """

    def __init__(self, admin: AdminClient) -> None:
        self.names: list[str] = []
        self._admin = admin

    def create(self, topic: Topic, config: Mapping[str, Scalar]) -> None:
        """Create a topic with these settings.

        Raises:
            BadInput: Kafka will never create it.
            ServiceError: it was not created in time.
        """
        given = {key: text(value) for key, value in config.items() if value is not None}
        new = NewTopic(topic.name, topic.partitions or 1, topic.replication, config=given)
        if error := wait_while(lambda: self._create(new), _CREATE_TIMEOUT_S):
            raise ServiceError(f"topic {topic.name} could not be created: {error.str()}")
        self.names.append(topic.name)

    def delete(self) -> None:
        """Delete all of them. Raises like `delete_topics`."""
        names, self.names = self.names, []
        delete_topics(self._admin, names)

    def existing(self) -> list[str]:
        """Return the names of all topics of the cluster, whoever made them.

        Raises:
            ServiceError: no broker answers.
        """
        try:
            return list(self._admin.list_topics(timeout=_CREATE_TIMEOUT_S).topics)
        except KafkaException as error:
            raise ServiceError(f"no metadata from Kafka: {error.args[0].str()}") from error

    def missing(self, brokers: int) -> str:
        """Return what the first topic that is not whole lacks, also if brokers are missing; empty if all are whole."""
        try:
            metadata = self._admin.list_topics(timeout=2)
        except KafkaException as error:
            return f"no metadata ({error.args[0].name()})"
        if len(metadata.brokers) < brokers:
            return f"{len(metadata.brokers)} of {brokers} brokers registered"
        if unknown := [topic for topic in self.names if topic not in metadata.topics]:
            return f"topic {unknown[0]} is unknown"
        for topic in (*self.names, *(name for name in _INTERNAL if name in metadata.topics)):
            for partition, state in metadata.topics[topic].partitions.items():
                if state.leader < 0 or set(state.isrs) != set(state.replicas):
                    return f"{topic}/{partition} has in-sync replicas {sorted(state.isrs)} of {sorted(state.replicas)}"
        return ""

    def _create(self, topic: NewTopic) -> KafkaError | None:
        """Create a topic; return the error if it is not known to exist."""
        try:
            self._admin.create_topics([topic], operation_timeout=20, request_timeout=25)[topic.topic].result()
        except KafkaException as error:
            refusal: KafkaError = error.args[0]
            if refusal.code() in _REFUSED_FOR_GOOD:
                raise BadInput(f"cluster.topic: Kafka rejected topic {topic.topic}: {refusal.str()}") from error
            return None if refusal.code() == KafkaError.TOPIC_ALREADY_EXISTS else refusal
        return None


def delete_topics(admin: AdminClient, names: Sequence[str]) -> list[str]:
    """Delete topics; return those that existed.

    Raises:
        ServiceError: one could not be deleted.
    """
    deleted = []
    for name, done in admin.delete_topics(list(names), operation_timeout=_CREATE_TIMEOUT_S).items() if names else ():
        try:
            done.result()
            deleted.append(name)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise ServiceError(f"topic {name} could not be deleted: {error.args[0].str()}") from error
    return deleted
