"""A share group as an operator sees it: its settings, and what it has not settled yet."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from chaoskit.base.errors import BadInput
from chaoskit.base.waiting import wait_while
from chaoskit.contract.clients.client import Unreachable
from chaoskit.contract.clients.queue import NoQueue
from chaoskit.contract.systems.service import ServiceError
from clusters.common.properties import Scalar, text
from clusters.kafka.deploy import probe
from clusters.kafka.deploy.requests import Refused

_ASK_S, _CONFIGURE_S = 5.0, 30.0

_REFUSED_FOR_GOOD = (
    KafkaError.INVALID_CONFIG,
    KafkaError.INVALID_REQUEST,
    KafkaError.UNSUPPORTED_VERSION,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
)

Answer = TypeVar("Answer")


def configure(admin: AdminClient, group: str, settings: Mapping[str, Scalar]) -> None:
    """Set settings of a share group, which need not exist yet.

    Raises:
        BadInput: brokers refuse one.
        ServiceError: they did not answer in time.
    """
    if error := wait_while(lambda: _set(admin, group, settings), _CONFIGURE_S):
        raise ServiceError(f"share group {group} could not be configured: {error.str()}")


def _set(admin: AdminClient, group: str, settings: Mapping[str, Scalar]) -> KafkaError | None:
    """Set settings; return the error if it is not known that they are set."""
    resource = ConfigResource(ResourceType.GROUP, group)
    for name, value in settings.items():
        resource.add_incremental_config(ConfigEntry(name, text(value), incremental_operation=AlterConfigOpType.SET))
    for done in admin.incremental_alter_configs([resource], request_timeout=_ASK_S).values():
        try:
            done.result()
        except KafkaException as error:
            refusal: KafkaError = error.args[0]
            if refusal.code() in _REFUSED_FOR_GOOD:
                raise BadInput(f"cluster.share_group: Kafka rejected it: {refusal.str()}") from error
            return refusal
    return None


def topic_id(addresses: Sequence[str], group: str, queue: str) -> str:
    """Return the id of a queue's topic, in Kafka's notation.

    Raises:
        ServiceError: no broker tells.
    """
    try:
        return _asked(addresses, queue, lambda host, port: probe.share_offsets(host, port, group, queue, _ASK_S)).topic
    except Unreachable as error:
        raise ServiceError(str(error)) from error


def unsettled(addresses: Sequence[str], group: str, queue: str) -> tuple[int, int]:
    """Return how many messages of a queue its share group has neither acknowledged nor given up, those that a consumer
    has included, and the number of its members.

    Raises:
        NoQueue: there is no such topic.
        Unreachable: no broker tells.
    """

    def ask(host: str, port: int) -> tuple[int, int]:
        offsets = probe.share_offsets(host, port, group, queue, _ASK_S)
        if offsets.lag < 0:
            raise ConnectionError("it does not know yet")
        return offsets.lag, probe.share_members(host, port, group, _ASK_S)

    return _asked(addresses, queue, ask)


def _asked(addresses: Sequence[str], queue: str, ask: Callable[[str, int], Answer]) -> Answer:
    """Return the answer of the first broker that has one. Raises like `unsettled`."""
    errors: list[str] = []
    for address in addresses:
        host, _, port = address.rpartition(":")
        try:
            return ask(host, int(port))
        except (OSError, struct.error, Refused) as error:
            if isinstance(error, Refused) and error.code == probe.UNKNOWN_TOPIC:
                raise NoQueue(f"there is no topic {queue}") from error
            errors.append(f"{address}: {error or type(error).__name__}")
    raise Unreachable(f"queue {queue}: {'; '.join(errors)}")
