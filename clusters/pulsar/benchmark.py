"""OMB's driver of Pulsar: settings of the Java client, or by the names that pulsar-client has for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaoskit.base.errors import BadInput
from chaoskit.contract.benchmark import Driven, check_keys
from clusters.common.java import PRODUCTION

DRIVER_CLASS = "PulsarBenchmarkDriver"

_NO_COUNTERPART = "pulsar-client, or the lab, has no such setting"
_CLIENT = (
    "serviceUrl", "httpUrl", "ioThreads", "connectionsPerBroker", "clientMemoryLimitMB", "maxConcurrentLookupRequests",
    "clusterName", "namespacePrefix", "topicType", "persistence", "tlsAllowInsecureConnection",
    "tlsEnableHostnameVerification", "tlsTrustCertsFilePath", "authentication",
)  # fmt: skip
_PRODUCER = ("batchingEnabled", "batchingMaxPublishDelayMs", "batchingMaxBytes", "pendingQueueSize", "blockIfQueueFull")
_CONSUMER = ("receiverQueueSize", "subscriptionType")

_Taken = Mapping[str, tuple[str, int]]
"""By OMB's names: the client's own, and what numbers are multiplied with."""

_OF_CLIENT: Mapping[bool, _Taken] = {
    False: {},
    True: {
        "ioThreads": ("numIoThreads", 1),
        "connectionsPerBroker": ("connectionsPerBroker", 1),
        "clientMemoryLimitMB": ("memoryLimitBytes", 2**20),
        "maxConcurrentLookupRequests": ("concurrentLookupRequest", 1),
    },
}
_OF_PRODUCER: Mapping[bool, _Taken] = {
    False: {
        "batchingEnabled": ("batching_enabled", 1),
        "batchingMaxPublishDelayMs": ("batching_max_publish_delay_ms", 1),
        "batchingMaxBytes": ("batching_max_allowed_size_in_bytes", 1),
    },
    True: {
        "batchingEnabled": ("batchingEnabled", 1),
        "batchingMaxPublishDelayMs": ("batchingMaxPublishDelayMicros", 1000),
        "batchingMaxBytes": ("batchingMaxBytes", 1),
        "pendingQueueSize": ("maxPendingMessages", 1),
        "blockIfQueueFull": ("blockIfQueueFull", 1),
    },
}
_OF_CONSUMER: Mapping[bool, _Taken] = {
    False: {"receiverQueueSize": ("receiver_queue_size", 1)},
    True: {"receiverQueueSize": ("receiverQueueSize", 1)},
}
"""What pulsar-client (false) and Pulsar's own client (true) have."""
_PERSISTENCE = {"ensembleSize": "ensemble", "writeQuorum": "write_quorum", "ackQuorum": "ack_quorum"}
_DEDUPLICATION = "deduplicationEnabled"


def driven(content: Mapping[str, Any], *, java: bool) -> Driven:
    """See `chaoskit.contract.benchmark.Benchmarked`."""
    check_keys("Pulsar", content, ("name", "driverClass", "client", "producer", "consumer"))
    client, producer, consumer = (dict(content.get(key) or {}) for key in ("client", "producer", "consumer"))
    check_keys("Pulsar", client, _CLIENT, "client.")
    check_keys("Pulsar", producer, _PRODUCER, "producer.")
    check_keys("Pulsar", consumer, _CONSUMER, "consumer.")
    if client.get("topicType", "persistent") != "persistent":
        raise BadInput("client.topicType: only persistent topics can keep anything; write persistent")
    kept = {"ensembleSize": 3, "writeQuorum": 3, "ackQuorum": 2, **(client.get("persistence") or {})}
    check_keys("Pulsar", kept, (*_PERSISTENCE, _DEDUPLICATION), "client.persistence.")
    shared = _taken(client, _OF_CLIENT[java])
    ignored = [f"client.{name}: {_NO_COUNTERPART}" for name in _OF_CLIENT[True] if name in client and not java]
    if producer.get("pendingQueueSize", 0) and not java:
        ignored.append("producer.pendingQueueSize: workload.in_flight bounds what is pending")
    if (kind := consumer.get("subscriptionType", "Failover")) != "Failover":
        ignored.append(f"consumer.subscriptionType {kind}: members of a group share a Failover subscription")
    return Driven(
        attach={"serviceUrl": client.get("serviceUrl", "")},
        cluster={
            "persistence": {ours: kept[theirs] for theirs, ours in _PERSISTENCE.items()},
            "deduplication": bool(kept.get(_DEDUPLICATION, False)),
            **({"clients": "java"} if java else {}),
        },
        workload={
            "producer": {**shared, **_taken(producer, _OF_PRODUCER[java])},
            "consumer": {**shared, **_taken(consumer, _OF_CONSUMER[java])},
        },
        hosts=int(kept["ensembleSize"]),
        lab={"jvm": PRODUCTION},
        ignored=tuple(ignored),
    )


def _taken(given: Mapping[str, Any], names: _Taken) -> dict[str, Any]:
    """Return the settings that a client has, by its names and in its units."""
    return {
        name: given[theirs] * factor if type(given[theirs]) is int else given[theirs]
        for theirs, (name, factor) in names.items()
        if theirs in given
    }
