"""OMB's driver of Pulsar: settings of the Java client, or by the names that pulsar-client has for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaoskit.base.errors import BadInput
from chaoskit.contract.systems.benchmark import Driven, check_keys
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
_JAVA = {
    "ioThreads": "numIoThreads",
    "connectionsPerBroker": "connectionsPerBroker",
    "clientMemoryLimitMB": "memoryLimitBytes",
    "maxConcurrentLookupRequests": "concurrentLookupRequest",
    "batchingEnabled": "batchingEnabled",
    "batchingMaxPublishDelayMs": "batchingMaxPublishDelayMicros",
    "batchingMaxBytes": "batchingMaxBytes",
    "pendingQueueSize": "maxPendingMessages",
    "blockIfQueueFull": "blockIfQueueFull",
    "receiverQueueSize": "receiverQueueSize",
}
"""By OMB's names: those of Pulsar's own client."""

_LIBRARY = {
    "batchingEnabled": "batching_enabled",
    "batchingMaxPublishDelayMs": "batching_max_publish_delay_ms",
    "batchingMaxBytes": "batching_max_allowed_size_in_bytes",
    "receiverQueueSize": "receiver_queue_size",
}
"""By OMB's names: those of pulsar-client."""

_TIMES = {"batchingMaxPublishDelayMicros": 1000, "memoryLimitBytes": 2**20}
"""What has a smaller unit than with OMB."""

_PERSISTENCE = {"ensembleSize": "ensemble", "writeQuorum": "write_quorum", "ackQuorum": "ack_quorum"}
_DEDUPLICATION = "deduplicationEnabled"


def driven(content: Mapping[str, Any], *, java: bool) -> Driven:
    """See `chaoskit.contract.systems.benchmark.Benchmarked`."""
    check_keys("Pulsar", content, ("name", "driverClass", "client", "producer", "consumer"))
    client, producer, consumer = (dict(content.get(key) or {}) for key in ("client", "producer", "consumer"))
    check_keys("Pulsar", client, _CLIENT, "client.")
    check_keys("Pulsar", producer, _PRODUCER, "producer.")
    check_keys("Pulsar", consumer, _CONSUMER, "consumer.")
    if client.get("topicType", "persistent") != "persistent":
        raise BadInput("client.topicType: only persistent topics can keep anything; write persistent")
    kept = {"ensembleSize": 3, "writeQuorum": 3, "ackQuorum": 2, **(client.get("persistence") or {})}
    check_keys("Pulsar", kept, (*_PERSISTENCE, _DEDUPLICATION), "client.persistence.")
    names = _JAVA if java else _LIBRARY
    ignored = [f"client.{name}: {_NO_COUNTERPART}" for name in _JAVA if name in client and name not in names]
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
            "producer": _renamed({**client, **producer}, names),
            "consumer": _renamed({**client, **consumer}, names),
        },
        hosts=int(kept["ensembleSize"]),
        lab={"jvm": PRODUCTION},
        ignored=tuple(ignored),
    )


def _renamed(given: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings that a client has, by its names and in its units."""
    renamed = {name: given[theirs] for theirs, name in names.items() if theirs in given}
    return renamed | {name: renamed[name] * times for name, times in _TIMES.items() if type(renamed.get(name)) is int}
