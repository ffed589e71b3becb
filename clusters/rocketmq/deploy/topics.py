"""The topics of a trial: create, look whether brokers know them, delete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from chaoskit.base.waiting import wait_while
from chaoskit.contract.systems.service import ServiceError
from chaoskit.contract.workloads.datamodel import QUEUE
from chaoskit.contract.workloads.topic import Topic
from clusters.rocketmq.clients import queues
from clusters.rocketmq.deploy import admin
from clusters.rocketmq.deploy.admin import Server

_ASK_S = 5.0
_INSIST_S = 30.0


class RocketTopics:
    """The topics of a trial.

    Args:
        masters: returns the master of each group of brokers; raises ServiceError if one has none.
        name_servers: the name servers.

    Attributes:
        all: the topics.
    """

    def __init__(self, masters: Callable[[], Sequence[Server]], name_servers: Sequence[Server]) -> None:
        self.all: list[Topic] = []
        self._masters = masters
        self._name_servers = name_servers

    def create(self, topic: Topic) -> None:
        """Create a topic on all masters that have a part of it.

        Raises:
            ServiceError: it was not created in time.
        """
        _insist(f"topic {topic.name} could not be created", partial(self._create, topic))
        self.all.append(topic)

    def delete(self) -> None:
        """Delete all topics.

        Raises:
            ServiceError: one was not deleted in time.
        """
        topics, self.all = self.all, []
        for topic in topics:
            _insist(f"topic {topic.name} could not be deleted", partial(self._delete, topic))

    def _create(self, topic: Topic) -> None:
        masters = self._masters()
        if topic.model is QUEUE:
            queues.create(masters[0], topic, _ASK_S)
            return
        for number, master in enumerate(masters):
            if count := len(range(number, topic.partitions or 1, len(masters))):
                admin.create_topic(master, topic.name, count, "", _ASK_S)

    def _delete(self, topic: Topic) -> None:
        name = queues.real_topic(topic.name)
        for master in self._masters():
            admin.delete_topic(master, name, _ASK_S)
            if topic.model is QUEUE:
                admin.delete_group(master, queues.group_of(topic.name), _ASK_S)
        for server in self._name_servers:
            admin.forget_topic(server, name, _ASK_S)


def _insist(what: str, ask: Callable[[], None]) -> None:
    def failure() -> Exception | None:
        try:
            ask()
        except (OSError, ServiceError) as error:
            return error
        return None

    if error := wait_while(failure, _INSIST_S):
        raise ServiceError(f"{what}: {error}")
