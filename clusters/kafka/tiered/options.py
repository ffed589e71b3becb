"""The options of tiered storage, and the settings of brokers and topics that follow from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from chaoskit.base.quantities import MILLISECOND, SECOND, Duration

OBJECT_STORE = "object-store"
"""Name of the service, and of the role of its host."""

_PORT = 9000

REMOTE = "remote.storage.enable"
"""The setting of topics that are tiered."""

SINCE = (3, 9)
"""The first release whose tiered storage is for production."""

PROGRAM = "ObjectStore"
_MANAGER = "HttpRemoteStorageManager"


class TieredStorage(BaseModel):
    """The object store of a cluster, on its last host.

    Attributes:
        fsync: whether an object is on the store's disk before it is acknowledged.
        timeout: how long brokers wait for an answer of the store, ns.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    fsync: bool = True
    timeout: Duration = 10 * SECOND


def server(address: str) -> str:
    """Return where the store of the host with an address listens, as `HOST:PORT`."""
    return f"{address}:{_PORT}"


def stores(tiered: TieredStorage | None) -> int:
    """Return how many of the hosts have an object store only."""
    return 0 if tiered is None else 1


def broker_defaults(tiered: TieredStorage | None) -> Mapping[str, Any]:
    """Return defaults with which segments are copied, and deleted, within a short run."""
    if tiered is None:
        return {}
    return {
        "remote.log.manager.task.interval.ms": 500,
        "log.retention.check.interval.ms": 500,
        "log.initial.task.delay.ms": 500,
    }


def topic_defaults(tiered: TieredStorage | None) -> Mapping[str, Any]:
    """Return defaults of the workload's topics."""
    return {} if tiered is None else {REMOTE: True}


def broker_properties(tiered: TieredStorage | None, addresses: Sequence[str], replication: int) -> dict[str, Any]:
    """Return the settings by which a broker finds the store.

    Args:
        tiered: the store; None: there is none.
        addresses: the addresses of all hosts, in order.
        replication: replicas of Kafka's own topic, which tells which segments are in the store.
    """
    if tiered is None:
        return {}
    topic = "rlmm.config.remote.log.metadata.topic"
    return {
        "remote.log.storage.system.enable": True,
        "remote.log.storage.manager.class.name": _MANAGER,
        "rsm.config.address": f"http://{server(addresses[-1])}",
        "rsm.config.timeout.ms": tiered.timeout // MILLISECOND,
        "remote.log.metadata.manager.listener.name": "PLAINTEXT",
        f"{topic}.replication.factor": replication,
        f"{topic}.min.isr": min(2, replication),
        f"{topic}.num.partitions": 3,
    }
