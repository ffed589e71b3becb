"""What a Kafka cluster is to clients and operators, wherever it runs: topics, roles and placements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from confluent_kafka.admin import AdminClient

from chaoskit.base.waiting import wait_while
from chaoskit.contract.power import P, held
from chaoskit.contract.systems.service import Placed, ServiceError
from chaoskit.contract.workloads.datamodel import QUEUE
from chaoskit.contract.workloads.topic import Topic
from chaoskit.model.place import Place
from clusters.kafka.connection import group
from clusters.kafka.deploy.probe import PartitionState
from clusters.kafka.roles import coordinating_partition, holders
from clusters.kafka.settings import KafkaOptions, topic_settings
from clusters.kafka.shares.groups import configure
from clusters.kafka.shares.queues import group_settings
from clusters.kafka.topics import KafkaTopics

_IN_SYNC_S = 20


class KafkaService(ABC):
    """See `chaoskit.contract.systems.service.Service` and `Placing`.

    Args:
        admin: an admin client.
        options: as in the scenario.
        names: the name of the host of each broker, by node id.

    Attributes:
        shares: whether a share group reads the topics of the trial.
    """

    owner = "a Kafka cluster"

    def __init__(self, admin: AdminClient, options: KafkaOptions, names: Mapping[int, str]) -> None:
        self._admin = admin
        self._options = options
        self._names = names
        self._namespace = ""
        self._topics = KafkaTopics(admin)
        self._holders: list[object] = [self]
        self.shares = False

    def power(self, kind: type[P]) -> P:
        return held(kind, self._holders, self.owner)

    def wait_ready(self, timeout_s: float) -> None:
        if missing := wait_while(self._missing, timeout_s):
            raise ServiceError(f"Kafka was not ready within {timeout_s:g} s: {missing}")

    def find(self, role: str, place: Place | None) -> tuple[str, ...]:
        return tuple(self._names[node] for node in self._holding(role, place))

    def placements(self) -> list[Placed]:
        return [
            Placed(
                place,
                self._names.get(state.leader, ""),
                tuple(self._names[node] for node in state.replicas),
                tuple(self._names[node] for node in state.isr),
                state.epoch if state.epoch >= 0 else None,
            )
            for place, state in self._states(self._topics.names).items()
        ]

    def begin_trial(self, namespace: str, options: KafkaOptions) -> None:
        self._namespace = namespace
        self._options = options
        self.shares = False

    def create_topic(self, topic: Topic) -> None:
        if topic.model is QUEUE:
            self.shares = True
            configure(self._admin, group(self._namespace), group_settings(self._options, topic))
        self._topics.create(topic, topic_settings(self._options))
        self.wait_ready(_IN_SYNC_S)

    def end_trial(self) -> None:
        self._topics.delete()

    def close(self) -> None:
        self._admin.poll(0)

    @abstractmethod
    def _states(self, topics: Sequence[str]) -> Mapping[Place, PartitionState]:
        """Return the state of each partition of some topics."""

    def _missing(self) -> str:
        """Return why the cluster is not ready; empty if it is."""
        return self._topics.missing(len(self._names))

    def _holding(self, role: str, place: Place | None) -> Sequence[int]:
        """Return the ids of the nodes that hold a role."""
        if role == "coordinator":
            return self._coordinating("__consumer_offsets", group(self._namespace))
        if place is None:
            raise ServiceError(f"{role} is a role of a partition, but the workload has no partitions")
        return self._of_partition(place, role)

    def _coordinating(self, topic: str, name: str) -> Sequence[int]:
        """Return the node id of the leader of the partition of an internal topic that coordinates what has a name.

        Metadata tells it. Asking for the coordinator may end this process; see `clusters.kafka.clients.ownership`.
        """
        count = len(self._states([topic]))
        if not count:
            raise ServiceError(f"no broker tells of {topic}: nothing is coordinated yet, or it may not be described")
        return self._of_partition((topic, coordinating_partition(name, count)), "leader")

    def _of_partition(self, place: Place, role: str) -> Sequence[int]:
        """Return the node ids that hold a role of a partition."""
        state = self._states([place[0]]).get(place)
        if state is None:
            raise ServiceError(f"no broker knows the leader of {place[0]}/{place[1]}")
        return holders(place, role, state.leader, state.replicas, state.isr)
