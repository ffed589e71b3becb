"""The settings of Kafka's own clients: chaoskit's defaults, and checks before anything starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaoskit.base.errors import BadInput, Problems
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.workloads.traits import Queueing
from clusters.common.relay.process import QUEUES, Chosen, Relay
from clusters.kafka.clients.membership import SESSION, membership_problems, of_one_consumer, resolve_consumer
from clusters.kafka.clients.settings import (
    ISOLATION,
    PRODUCER_DEFAULTS,
    READ_COMMITTED,
    TRANSACTIONAL_DEFAULTS,
    TRANSACTIONAL_ID,
    resolve_producer,
)
from clusters.kafka.connection import BOOTSTRAP, CLASSPATH, SHARES_CLASSPATH
from clusters.kafka.java.relay import RELAY
from clusters.kafka.settings import KafkaOptions
from clusters.kafka.shares.java.relay import RELAY as SHARES
from clusters.kafka.shares.queues import has_share_groups

_RECONNECT = {"reconnect.backoff.max.ms": 500, "socket.connection.setup.timeout.ms": 2000}
"""Fast reconnection, as with librdkafka."""

_CONSUMER = {
    "enable.auto.commit": False,
    "fetch.max.wait.ms": 50,
    ISOLATION: READ_COMMITTED,
    "max.poll.records": 1000,
    SESSION: 10_000,
}
"""As chaoskit's defaults with librdkafka; see `clusters.kafka.clients.settings`."""

_ONLY_LIBRDKAFKA = "queue.buffering.max.messages"
_REQUEST, _DELIVERY = "request.timeout.ms", "delivery.timeout.ms"
_MODE = "share.acknowledgement.mode"
_NOWHERE = {BOOTSTRAP: "127.0.0.1:1"}
_SOME_GROUP = {"group.id": "check"}


def producer_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the effective producer settings: given ones override chaoskit's; null selects Kafka's default."""
    resolved = resolve_producer(given)
    if _ONLY_LIBRDKAFKA not in given:
        resolved.pop(_ONLY_LIBRDKAFKA, None)
    if _REQUEST in given and _DELIVERY not in given:  # Kafka then has it follow
        resolved.pop(_DELIVERY, None)
    return {**_RECONNECT, **resolved}


def transactional_settings(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the effective settings of a producer with transactions; see `producer_settings`."""
    settings = {TRANSACTIONAL_ID: name, **TRANSACTIONAL_DEFAULTS, **producer_settings(given)}
    return {key: value for key, value in settings.items() if given.get(key, value) is not None}


def consumer_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the effective consumer settings; see `producer_settings`. A lost position is an error, which the workload
    records."""
    return {**resolve_consumer(given, {**_RECONNECT, **_CONSUMER}), "auto.offset.reset": "none"}


def member_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the effective settings of a member of a share group: given ones override chaoskit's; null selects Kafka's
    default."""
    settings = {**_RECONNECT, "fetch.max.wait.ms": 50, **given}
    return {key: value for key, value in settings.items() if value is not None} | {_MODE: "explicit"}


def own_client(options: KafkaOptions) -> dict[str, str]:
    """Return the client settings by which workers use Kafka's own clients; empty if they do not."""
    if options.clients != "java":
        return {}
    shares = {SHARES_CLASSPATH: SHARES.classpath(options.version)} if has_share_groups(options) else {}
    return {CLASSPATH: RELAY.classpath(options.version), **shares}


def check_java_clients(declared: Declared) -> None:
    """Reject settings of producers and consumers that Kafka's own client refuses; download it if it is missing.

    Raises:
        BadInput: names each of them.
    """
    options: KafkaOptions = declared.options
    if options.security is not None:
        raise BadInput("cluster.clients: java: connections with a login or encryption are not supported yet")
    problems = Problems()
    for problem in membership_problems(declared, options.version):
        problems.add(problem)
    shares = declared.get(Queueing) is not None and has_share_groups(options)
    for relay, tried in (_producer(declared), _member(declared) if shares else _consumer(declared)):
        for refusal in relay.refusals(relay.classpath(options.version), tried, (*PRODUCER_DEFAULTS, *_CONSUMER)):
            problems.add(refusal)
    problems.raise_any()


def _producer(declared: Declared) -> tuple[Relay, Chosen]:
    given = declared.producer
    return RELAY, Chosen("producer", "workload.producer", given, producer_settings(given) | _NOWHERE, (BOOTSTRAP,))


def _consumer(declared: Declared) -> tuple[Relay, Chosen]:
    given = of_one_consumer(declared.consumer)
    settings = consumer_settings(given) | _NOWHERE | _SOME_GROUP
    return RELAY, Chosen("consumer", "workload.consumer", given, settings, (BOOTSTRAP, "auto.offset.reset"))


def _member(declared: Declared) -> tuple[Relay, Chosen]:
    given = declared.consumer
    settings = member_settings(given) | _NOWHERE | _SOME_GROUP
    return SHARES, Chosen(QUEUES, "workload.consumer", given, settings, (BOOTSTRAP, _MODE))
