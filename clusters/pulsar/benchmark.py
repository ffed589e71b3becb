"""OMB's driver of Pulsar: settings of the Java client by the names that pulsar-client has for them."""

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
_UNUSED = ("ioThreads", "connectionsPerBroker", "clientMemoryLimitMB", "maxConcurrentLookupRequests")
_PRODUCER = {
    "batchingEnabled": "batching_enabled",
    "batchingMaxPublishDelayMs": "batching_max_publish_delay_ms",
    "batchingMaxBytes": "batching_max_allowed_size_in_bytes",
    "pendingQueueSize": "max_pending_messages",
    "blockIfQueueFull": "",
}
_CONSUMER = {"receiverQueueSize": "receiver_queue_size", "subscriptionType": ""}
_PERSISTENCE = {"ensembleSize": "ensemble", "writeQuorum": "write_quorum", "ackQuorum": "ack_quorum"}
_DEDUPLICATION = "deduplicationEnabled"


def driven(content: Mapping[str, Any], *, java: bool) -> Driven:
    """See `chaoskit.contract.benchmark.Benchmarked`."""
    if java:
        raise BadInput("Pulsar's Java client is not supported yet; leave out --java")
    check_keys("Pulsar", content, ("name", "driverClass", "client", "producer", "consumer"))
    client, producer, consumer = (dict(content.get(key) or {}) for key in ("client", "producer", "consumer"))
    check_keys("Pulsar", client, _CLIENT, "client.")
    check_keys("Pulsar", producer, _PRODUCER, "producer.")
    check_keys("Pulsar", consumer, _CONSUMER, "consumer.")
    if client.get("topicType", "persistent") != "persistent":
        raise BadInput("client.topicType: only persistent topics can keep anything; write persistent")
    kept = {"ensembleSize": 3, "writeQuorum": 3, "ackQuorum": 2, **(client.get("persistence") or {})}
    check_keys("Pulsar", kept, (*_PERSISTENCE, _DEDUPLICATION), "client.persistence.")
    ignored = [f"client.{name}: {_NO_COUNTERPART}" for name in _UNUSED if name in client]
    if producer.pop("pendingQueueSize", 0):
        ignored.append("producer.pendingQueueSize: workload.in_flight bounds what is pending")
    if (kind := consumer.get("subscriptionType", "Failover")) != "Failover":
        ignored.append(f"consumer.subscriptionType {kind}: members of a group share a Failover subscription")
    return Driven(
        attach={"serviceUrl": client.get("serviceUrl", "")},
        cluster={
            "persistence": {ours: kept[theirs] for theirs, ours in _PERSISTENCE.items()},
            "deduplication": bool(kept.get(_DEDUPLICATION, False)),
        },
        workload={
            "producer": {_PRODUCER[key]: value for key, value in producer.items() if _PRODUCER[key]},
            "consumer": {_CONSUMER[key]: value for key, value in consumer.items() if _CONSUMER[key]},
        },
        hosts=int(kept["ensembleSize"]),
        lab={"jvm": PRODUCTION},
        ignored=tuple(ignored),
    )
