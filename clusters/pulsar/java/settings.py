"""The settings of Pulsar's own clients: chaoskit's defaults, and checks before anything starts.

Names are those of the fields of Pulsar's classes `ProducerConfigurationData`, `ConsumerConfigurationData`,
`ReaderConfigurationData`, and `ClientConfigurationData` for the connection (package
`org.apache.pulsar.client.impl.conf`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaoskit.base.errors import BadInput, Problems
from chaoskit.contract.guarantee import Declared
from chaoskit.contract.traits import Group, Queueing, Transactions
from clusters.common.relay.process import Chosen
from clusters.pulsar.artifacts import parse_version
from clusters.pulsar.connection import CLASSPATH, TRANSACTIONS
from clusters.pulsar.java import queues
from clusters.pulsar.java.relay import RELAY
from clusters.pulsar.positions import BATCH_MAX
from clusters.pulsar.queues import check_queueing
from clusters.pulsar.settings import TOPICS, PulsarOptions

SERVICE_URL, SUBSCRIPTION, NAMESPACE = "serviceUrl", "subscriptionName", "namespace"

_CLIENT = {
    "connectionTimeoutMs": 2000,
    "lookupTimeoutMs": 10_000,
    "maxBackoffIntervalNanos": 500_000_000,
    "operationTimeoutMs": 10_000,
    "statsIntervalSeconds": 0,
}
"""As chaoskit's defaults with pulsar-client, and fast reconnection."""

_VERSION_MIN = (3,)
"""The first release whose client the relay is compiled for: older ones have no `MessageIdAdv`."""

_PRODUCER = {"batchingMaxPublishDelayMicros": 5000, "blockIfQueueFull": True, "sendTimeoutMs": 30_000}
_CONSUMER = {"receiverQueueSize": 1000}
_GROUP_TYPES = ("Failover", "Exclusive")
_TYPE, _BATCH, _SEND_TIMEOUT = "subscriptionType", "batchingMaxMessages", "sendTimeoutMs"
_SIMILAR = (*_CLIENT, *_PRODUCER, *_CONSUMER, _BATCH, "batchingMaxBytes", "batchingEnabled")
_OURS = {
    "producer": ("topicName", "messageRoutingMode", SERVICE_URL, NAMESPACE),
    "consumer": (
        "topicNames", "topicsPattern", "subscriptionInitialPosition", "subscriptionMode", "startMessageId",
        "ackReceiptEnabled", SUBSCRIPTION, SERVICE_URL, NAMESPACE,
    ),
}  # fmt: skip
_QUEUE_OURS = (*(name for name in _OURS["consumer"] if name != "ackReceiptEnabled"), *queues.OURS)


def producer_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the effective producer settings: given ones override chaoskit's; null selects Pulsar's default."""
    return _chosen({**_CLIENT, **_PRODUCER, **given})


def transactional_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the effective settings of producers of transactions; the client wants sends that wait without end."""
    return {**producer_settings({**given, _SEND_TIMEOUT: 0}), "enableTransaction": True}


def consumer_settings(given: Mapping[str, Any], *, grouped: bool) -> dict[str, Any]:
    """Return the effective settings of members of a group, or of readers; see `producer_settings`."""
    return _chosen({**_CLIENT, **_CONSUMER, **({_TYPE: "Failover"} if grouped else {}), **given})


def publisher_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the effective settings of publishers to queues; see `producer_settings`."""
    return producer_settings({**queues.PUBLISHER, **given})


def queue_consumer_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the effective settings of consumers of queues; see `producer_settings`."""
    return _chosen({**_CLIENT, **queues.CONSUMER, **given})


def connected(connection: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with those by which the relay reaches the cluster."""
    return {**settings, SERVICE_URL: connection["service_url"], NAMESPACE: TOPICS}


def own_client(options: PulsarOptions) -> dict[str, str]:
    """Return the client setting by which workers use Pulsar's own client; empty if they do not."""
    if options.clients != "java":
        return {}
    return {CLASSPATH: RELAY.classpath(options.version), **({TRANSACTIONS: "on"} if options.transactions else {})}


def check_java_clients(declared: Declared) -> None:
    """Reject settings of producers and consumers that Pulsar's own client refuses; download it if it is missing.

    Raises:
        BadInput: names each of them.
    """
    problems, version = Problems(), declared.options.version
    if parse_version(version) < _VERSION_MIN:
        raise BadInput(
            f"cluster.clients: java: there is none for Pulsar {version}; choose 3.0.0 or later, or remove it"
        )
    if (queueing := declared.get(Queueing)) is not None:
        problems.tried(check_queueing, queueing, declared.options)
        problems.tried(queues.check_consumers, declared)
        _check(declared, "consumer", queues.for_client(queue_consumer_settings(declared.consumer)), problems)
        problems.raise_any()
        return
    grouped = declared.get(Group) is not None
    of_consumers = consumer_settings(declared.consumer, grouped=grouped)
    _check(declared, "consumer" if grouped else "reader", of_consumers, problems)
    if declared.get(Transactions) is not None and declared.producer.get(_SEND_TIMEOUT):
        problems.add(BadInput(f"workload.producer.{_SEND_TIMEOUT}: sends of transactions have none; remove it"))
    if grouped and of_consumers.get(_TYPE) not in _GROUP_TYPES:
        problems.add(
            BadInput(f"workload.consumer.{_TYPE}: a log is read by one consumer at a time; write {_GROUP_TYPES[0]}")
        )
    problems.raise_any()


def _check(declared: Declared, reader: str, of_consumers: Mapping[str, Any], problems: Problems) -> None:
    """Ask the client about the settings of producers, and of consumers in a role of its."""
    path = RELAY.classpath(declared.options.version)
    queued = declared.get(Queueing) is not None
    chosen = {
        "producer": ("producer", declared.producer, producer_settings(declared.producer), _OURS["producer"]),
        "consumer": (reader, declared.consumer, of_consumers, _QUEUE_OURS if queued else _OURS["consumer"]),
    }
    for role, (checked, given, settings, ours) in chosen.items():
        all_settings = connected({"service_url": "pulsar://127.0.0.1:1"}, settings)
        tried = Chosen(checked, f"workload.{role}", given, all_settings, ours)
        for refusal in RELAY.refusals(path, tried, (*_SIMILAR, *(queues.SIMILAR if queued else ()))):
            problems.add(refusal)
    problems.tried(_check_batch, declared.producer.get(_BATCH))


def _chosen(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


def _check_batch(given: Any) -> None:
    if given is not None and not (isinstance(given, int) and 1 <= given <= BATCH_MAX):
        raise BadInput(f"workload.producer.{_BATCH}: positions allow 1 to {BATCH_MAX}; change it")
