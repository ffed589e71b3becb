"""The settings of Pulsar's own clients: chaoskit's defaults, and checks before anything starts.

Names are those of the fields of Pulsar's classes `ProducerConfigurationData`, `ConsumerConfigurationData`,
`ReaderConfigurationData`, and `ClientConfigurationData` for the connection (package
`org.apache.pulsar.client.impl.conf`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from chaoskit.base.errors import BadInput, Problems
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.workloads.traits import Group, Queueing, Transactions
from clusters.common.relay.process import Chosen
from clusters.pulsar.artifacts import parse_version
from clusters.pulsar.clients.queues import check_queueing
from clusters.pulsar.clients.settings import CLASSPATH, TRANSACTIONS
from clusters.pulsar.java import queues
from clusters.pulsar.java.relay import RELAY
from clusters.pulsar.positions import BATCH_MAX
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
        consumers = queues.for_client(queue_consumer_settings(declared.consumer))
        checked = (
            _Checked("producer", "producer", publisher_settings(declared.producer), _OURS["producer"]),
            _Checked("consumer", "consumer", consumers, _QUEUE_OURS),
        )
        _check(declared, checked, (*_SIMILAR, *queues.SIMILAR), problems)
        problems.raise_any()
        return
    grouped = declared.get(Group) is not None
    of_consumers = consumer_settings(declared.consumer, grouped=grouped)
    checked = (
        _Checked("producer", "producer", producer_settings(declared.producer), _OURS["producer"]),
        _Checked("consumer", "consumer" if grouped else "reader", of_consumers, _OURS["consumer"]),
    )
    _check(declared, checked, _SIMILAR, problems)
    if declared.get(Transactions) is not None and declared.producer.get(_SEND_TIMEOUT):
        problems.add(BadInput(f"workload.producer.{_SEND_TIMEOUT}: sends of transactions have none; remove it"))
    if grouped and of_consumers.get(_TYPE) not in _GROUP_TYPES:
        problems.add(
            BadInput(f"workload.consumer.{_TYPE}: a log is read by one consumer at a time; write {_GROUP_TYPES[0]}")
        )
    problems.raise_any()


class _Checked(NamedTuple):
    """Settings that the client is asked about.

    Attributes:
        key: where a scenario has them: `workload.<key>`.
        role: the role of the client.
        settings: all of them.
        ours: names that only chaoskit sets.
    """

    key: Literal["producer", "consumer"]
    role: str
    settings: Mapping[str, Any]
    ours: Collection[str]


def _check(declared: Declared, checked: Sequence[_Checked], similar: Collection[str], problems: Problems) -> None:
    path = RELAY.classpath(declared.options.version)
    for key, role, settings, ours in checked:
        given = declared.producer if key == "producer" else declared.consumer
        all_settings = connected({"service_url": "pulsar://127.0.0.1:1"}, settings)
        for refusal in RELAY.refusals(path, Chosen(role, f"workload.{key}", given, all_settings, ours), similar):
            problems.add(refusal)
    problems.tried(_check_batch, declared.producer.get(_BATCH))


def _chosen(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


def _check_batch(given: Any) -> None:
    if given is not None and not (isinstance(given, int) and 1 <= given <= BATCH_MAX):
        raise BadInput(f"workload.producer.{_BATCH}: positions allow 1 to {BATCH_MAX}; change it")
