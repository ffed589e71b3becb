"""Pulsar's options and configuration files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from chaoskit.base.errors import BadInput
from chaoskit.base.quantities import Size
from chaoskit.contract.guarantees.setting import Setting
from chaoskit.contract.systems.role import Every
from chaoskit.contract.systems.wire import Wire
from clusters.bookkeeper import wire as bookies
from clusters.common.properties import Scalar, properties
from clusters.pulsar import wire
from clusters.storage import settings
from clusters.storage.settings import (
    STORAGE_SETTINGS,
    Count,
    StorageOptions,
    connection,
    enough_hosts,
    no_host_idle,
    quorums,
)

BROKER = "broker"
"""Name of the service that is started after those of `clusters.storage.settings`."""

BROKER_PORT, WEB_PORT = 6650, 8080

WIRE = Wire(
    decoders={BROKER_PORT: "clusters.pulsar.wire:PulsarDecoder", settings.BOOKIE_PORT: bookies.DECODER},
    messages=(*wire.MESSAGES, *bookies.MESSAGES),
    answers=(*wire.ANSWERS, *bookies.MESSAGES),
    named=False,
    refusable={**wire.REFUSABLE, **bookies.REFUSABLE},
)
"""Of its brokers, and of its bookies."""

ROLES = (
    "leader", "owner", Every("ensemble"), "ensemble-bookie", "outside", "zookeeper-leader", "load-manager-leader",
    Every("zookeepers"), Every("bookies"), Every("brokers"),
)  # fmt: skip
"""`leader` is an alias of `owner`, so that scenarios of other systems need no change."""

CLUSTER_NAME = "chaoskit"
TOPICS = "public/default"
"""Tenant and namespace of the workload's topics."""


class PulsarConfig(settings.StorageConfig):
    """Settings by their own names: broker.conf, bookkeeper.conf, zoo.cfg."""

    broker: dict[str, Scalar] = Field(default={})


class PulsarHosts(settings.StorageHosts):
    """Number of hosts per role; default: ZooKeeper on the first three hosts (or one), bookies and brokers on all.

    ZooKeeper gets the first hosts, brokers the last ones, bookies the hosts after ZooKeeper, as far as possible.
    """

    brokers: Count | None = None


class PulsarHeap(settings.StorageHeap):
    """JVM heap of each process, by role. Bookies and brokers use up to the same amount again outside the heap.

    Attributes:
        broker: default: 384 MiB, and 2 GiB with `jvm: production`, as in Pulsar's conf/pulsar_env.sh.
    """

    broker: Size | None = None

    @classmethod
    def _defaults(cls) -> Mapping[str, tuple[int, int]]:
        return {**super()._defaults(), BROKER: (384 * 2**20, 2 * 2**30)}


@dataclass(frozen=True, slots=True)
class PulsarPlacement(settings.StoragePlacement):
    """The roles of hosts, by index."""

    brokers: range

    def services(self, index: int) -> tuple[str, ...]:
        """Return the services of the host at `index`, in start order."""
        of_storage = settings.StoragePlacement.services(self, index)
        return (*of_storage, BROKER) if index in self.brokers else of_storage


def _of_brokers(name: str, default: bool | int | str) -> Setting:
    return Setting(name, default, ("config", "broker"), "broker")


BY_INDEX = _of_brokers("acknowledgmentAtBatchIndexLevelEnabled", default=False)
TTL_S = _of_brokers("ttlDurationDefaultInSeconds", 0)
TTL_CHECK_MIN = _of_brokers("messageExpiryCheckIntervalInMinutes", 5)
STRICT_DELAY = _of_brokers("isDelayedDeliveryDeliverAtTimeStrict", default=False)
DELAY_TICK_MS = _of_brokers("delayedDeliveryTickTimeMillis", 1000)
FULL_BACKLOG = _of_brokers("backlogQuotaDefaultRetentionPolicy", "producer_request_hold")
SESSION_EXPIRED = _of_brokers("zookeeperSessionExpiredPolicy", "reconnect")
DEDUPLICATION = Setting("brokerDeduplicationEnabled", default=False, section=(), reporter="broker", key="deduplication")

COMPACTION_POLICY = "compactionThreshold"
"""Policy of a namespace: brokers compact its topics once so many bytes are new; 0: never."""

SETTINGS = (
    BY_INDEX, TTL_S, TTL_CHECK_MIN, STRICT_DELAY, DELAY_TICK_MS, FULL_BACKLOG, SESSION_EXPIRED, DEDUPLICATION,
    *STORAGE_SETTINGS,
)  # fmt: skip
"""The settings from which Pulsar's guarantees follow."""


class PulsarOptions(StorageOptions):
    """The options of a Pulsar cluster, in addition to its hosts.

    Attributes:
        version: release number of Pulsar, 2.10.0 or later; it determines the versions of BookKeeper and ZooKeeper.
        namespace: policies of the workload's namespace, named by the last part of their path in the admin API.
        deduplication: whether brokers drop messages that they already have from a producer.
        clients: `pulsar-client` (C++), or `java` for Pulsar's own producers and consumers.
        transactions: whether brokers coordinate transactions.
    """

    version: str = "4.2.4"
    config: PulsarConfig = PulsarConfig()
    namespace: dict[str, Any] = Field(default={})
    deduplication: bool = False
    clients: Literal["pulsar-client", "java"] = "pulsar-client"
    transactions: bool = False
    roles: PulsarHosts = PulsarHosts()
    heap: PulsarHeap = PulsarHeap()

    @property
    def exiting(self) -> tuple[str, ...]:
        leaves = SESSION_EXPIRED.of(self) == "shutdown"
        return (*super().exiting, BROKER) if leaves else super().exiting

    def place(self, hosts: int) -> PulsarPlacement:
        zookeepers, bookies = self.counts(hosts)
        brokers = self.roles.brokers or hosts
        enough_hosts({"brokers": brokers}, hosts)
        first = min(zookeepers, hosts - bookies)
        placed = PulsarPlacement(range(zookeepers), range(first, first + bookies), range(hosts - brokers, hosts))
        return no_host_idle(placed, hosts)


def broker_conf(options: PulsarOptions, addresses: Sequence[str], index: int) -> str:
    """Return broker.conf of the host at `index`."""
    placed = options.place(len(addresses))
    persistence = quorums(options, len(placed.bookies))
    store = f"zk:{connection(addresses, placed)}"
    return properties(
        {
            "allowAutoTopicCreation": False,
            "brokerDeleteInactiveTopicsEnabled": False,
            "defaultRetentionTimeInMinutes": -1,
            "defaultRetentionSizeInMB": -1,
            "loadBalancerSheddingEnabled": False,
            "loadBalancerAutoBundleSplitEnabled": False,
            "managedLedgerCacheSizeMB": 32,
            "numIOThreads": 2,
            "numHttpServerThreads": 8,
            "numOrderedExecutorThreads": 2,
            "numExecutorThreadPoolSize": 2,
            "systemTopicEnabled": options.transactions,
            "topicLevelPoliciesEnabled": False,
        },
        options.config.broker,
        {
            "clusterName": CLUSTER_NAME,
            "metadataStoreUrl": store,
            "configurationMetadataStoreUrl": store,
            "bindAddress": addresses[index],
            "advertisedAddress": addresses[index],
            "brokerServicePort": BROKER_PORT,
            "webServicePort": WEB_PORT,
            "managedLedgerDefaultEnsembleSize": persistence.ensemble,
            "managedLedgerDefaultWriteQuorum": persistence.write,
            "managedLedgerDefaultAckQuorum": persistence.ack,
            "brokerDeduplicationEnabled": options.deduplication,
            **({"transactionCoordinatorEnabled": True} if options.transactions else {}),
        },
    )


_POLICIES_ELSEWHERE = {"persistence": "cluster.persistence", "deduplication": "cluster.deduplication"}
_ELSEWHERE = {
    "managedLedgerDefaultEnsembleSize": "cluster.persistence.ensemble",
    "managedLedgerDefaultWriteQuorum": "cluster.persistence.write_quorum",
    "managedLedgerDefaultAckQuorum": "cluster.persistence.ack_quorum",
    "brokerDeduplicationEnabled": "cluster.deduplication",
    "transactionCoordinatorEnabled": "cluster.transactions",
}


def check_settings(options: PulsarOptions) -> None:
    """Reject settings that guarantees depend on and that have dedicated keys.

    Raises:
        BadInput: names the dedicated key.
    """
    for name, key in _ELSEWHERE.items():
        if options.config.broker.get(name) is not None:
            raise BadInput(f"cluster.config.broker.{name}: set {key} instead")
    for name, key in _POLICIES_ELSEWHERE.items():
        if options.namespace.get(name) is not None:
            raise BadInput(f"cluster.namespace.{name}: set {key} instead")
