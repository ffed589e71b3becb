"""What clients may do, withdrawn and given back by access control lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from confluent_kafka import TopicCollection
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from clusters.kafka.operate.answers import answers
from clusters.kafka.security import PRINCIPAL

_TIMEOUT_S = 10
_PURPOSE = "access control lists"
_OPERATIONS = {"send": AclOperation.WRITE, "receive": AclOperation.READ}
_WHERE = (ResourcePatternType.LITERAL, PRINCIPAL, "*")


class KafkaAccess:
    """The power `AccessControl` of `chaoskit.contract.systems.operating`.

    Args:
        admin: an admin client of a super user.
        client: the connection settings of clients.
        topics: returns the names of the trial's topics.
    """

    def __init__(self, admin: AdminClient, client: Mapping[str, Any], topics: Callable[[], Sequence[str]]) -> None:
        self._admin = admin
        self._client = client
        self._topics = topics

    def withdraw(self, action: str) -> None:
        # A topic with a list allows what the list allows, and nothing else; what is denied counts more.
        entries = [(AclOperation.ALL, AclPermissionType.ALLOW), (_OPERATIONS[action], AclPermissionType.DENY)]
        lists = [AclBinding(ResourceType.TOPIC, name, *_WHERE, *entry) for name in self._topics() for entry in entries]
        answers(self._admin.create_acls(lists, request_timeout=_TIMEOUT_S), _PURPOSE)

    def give_back(self, action: str) -> None:
        # What is allowed stays: another action may be denied still.
        entry = _OPERATIONS[action], AclPermissionType.DENY
        lists = [AclBindingFilter(ResourceType.TOPIC, name, *_WHERE, *entry) for name in self._topics()]
        answers(self._admin.delete_acls(lists, request_timeout=_TIMEOUT_S), _PURPOSE)

    def allowed(self, action: str) -> dict[str, bool]:
        asking = AdminClient({**self._client, "log_level": 0}, logger=None)
        asked = asking.describe_topics(
            TopicCollection(list(self._topics())), include_authorized_operations=True, request_timeout=_TIMEOUT_S
        )
        operation, topics = _OPERATIONS[action], answers(asked, _PURPOSE)
        return {name: operation in (topic.authorized_operations or ()) for name, topic in topics.items()}
