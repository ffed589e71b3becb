"""Kafka's options and configuration files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from chaoskit.base.quantities import MILLISECOND, Size
from chaoskit.contract.guarantees.setting import Setting
from chaoskit.contract.systems.wire import Wire
from clusters.common.directories import ON_DATA, Directories
from clusters.common.java import PRODUCTION, Jvm
from clusters.common.properties import Scalar, properties
from clusters.kafka import wire
from clusters.kafka.security import Security, authorizer, listener, listener_properties, protocols
from clusters.kafka.tiered import options as tiered
from clusters.kafka.tiered.options import TieredStorage
from clusters.kafka.zookeeper import ZooKeeper
from clusters.zookeeper import server

BROKER_PORT = 9092
CONTROLLER_PORT = 9093

WIRE = Wire(
    decoders=dict.fromkeys((BROKER_PORT, CONTROLLER_PORT), "clusters.kafka.wire:KafkaDecoder"),
    messages=wire.MESSAGES,
    refusable=wire.REFUSABLE,
)

DATA_FOLDER = "kafka"
"""Kafka's folder in each log directory; see `KafkaOptions.log_dirs`."""

DATA_FILES = {
    "segment": "{topic}-{partition}/*.log",
    "index": "{topic}-{partition}/*.index",
    "timeindex": "{topic}-{partition}/*.timeindex",
    "metadata": "__cluster_metadata-0/*.log",
}
"""Types of files in a log directory, as shell patterns."""


_BROKER, _TOPIC = "broker", "topic"
_NEVER = 2**63 - 1


def _of_brokers(name: str, default: bool | int | str) -> Setting:
    return Setting(name, default, reporter=_BROKER)


def _of_topics(name: str, of_brokers: Setting) -> Setting:
    """Return a setting of topics for which brokers have a default."""
    return Setting(name, of_brokers.default, (_TOPIC,), _TOPIC, inherits=of_brokers)


INTERNAL_FLUSH = _of_brokers("log.flush.interval.messages", _NEVER)
"""Of topics for which nobody sets `flush.messages`, such as Kafka's own."""

LAG_MS = _of_brokers("replica.lag.time.max.ms", 30_000)
OFFSETS_MINUTES = _of_brokers("offsets.retention.minutes", 7 * 24 * 60)
DELIVERY_LIMIT = _of_brokers("group.share.delivery.count.limit", 5)
OF_BROKERS = (INTERNAL_FLUSH, LAG_MS, OFFSETS_MINUTES)

FLUSH = _of_topics("flush.messages", INTERNAL_FLUSH)
MIN_INSYNC = _of_topics("min.insync.replicas", _of_brokers("min.insync.replicas", 1))
UNCLEAN = _of_topics("unclean.leader.election.enable", _of_brokers("unclean.leader.election.enable", default=False))
CLEANUP = _of_topics("cleanup.policy", _of_brokers("log.cleanup.policy", "delete"))
DELETE_RETENTION_MS = _of_topics("delete.retention.ms", _of_brokers("log.cleaner.delete.retention.ms", 24 * 3_600_000))
COMPACTION_LAG_MS = _of_topics("min.compaction.lag.ms", _of_brokers("log.cleaner.min.compaction.lag.ms", 0))
RETENTION_BYTES = _of_topics("retention.bytes", _of_brokers("log.retention.bytes", -1))
RETENTION_MS = Setting("retention.ms", 7 * 24 * 3_600_000, (_TOPIC,), _TOPIC)
"""Brokers have three settings for it; see `clusters.kafka.guarantees.retention`."""

OF_TOPICS = (
    FLUSH, MIN_INSYNC, UNCLEAN, CLEANUP, DELETE_RETENTION_MS, COMPACTION_LAG_MS, RETENTION_BYTES, RETENTION_MS
)  # fmt: skip

FORCE_SYNC = Setting("forceSync", "yes", ("zookeeper", "config"))
"""ZooKeeper does not report it."""

SETTINGS = (*OF_TOPICS, *OF_BROKERS, FORCE_SYNC)
"""The settings from which Kafka's guarantees follow."""

ELIGIBLE_LEADERS = "eligible.leader.replicas.version"
"""Feature of KIP-966."""

TRANSACTION_VERSION = "transaction.version"
"""Feature of KIP-890."""

FEATURES_SINCE = (3, 9)
"""The first release that is formatted at chosen levels of features."""


class KafkaOptions(BaseModel):
    """The options of a Kafka cluster, in addition to its hosts.

    Attributes:
        version: release number, 3.0 or later; 2.3 to 3.9 with `metadata: zookeeper`.
        metadata: where the cluster keeps its metadata: in a quorum of its own controllers, or in ZooKeeper.
        zookeeper: the ZooKeeper servers, with `metadata: zookeeper`.
        config: broker settings by Kafka's own names, for all brokers.
        topic: topic settings by Kafka's own names, for the workload's topics.
        share_group: settings of the share group that reads queues (`workload.kind: queue`), by Kafka's own names.
        config_unchecked: names in `config` and `topic` that are accepted although the release does not know them.
        controllers: `combined` (every broker is also a controller), or the number of controller-only hosts,
            which are the last ones.
        voters: whether the controllers that vote are `static`, as named in `controller.quorum.voters`, or `dynamic`:
            operators add and remove them (KIP-853); Kafka 4.0 or later.
        features: levels of features at which the cluster is formatted, such as `eligible.leader.replicas.version: 0`;
            Kafka 3.9 or later.
        log_dirs: Kafka's `log.dirs`, as disks of the hosts: `[one, two]`, or `[data/a, data/b]` on one disk. The first
            one has the metadata log.
        tiered_storage: the object store to which segments of tiered topics are copied; it is on the last host.
        zones: the scenario's `cluster.zones`; a broker's rack is its zone.
        security: how clients connect; default: without encryption, without a login.
        clients: `librdkafka`, or `java` for Kafka's own producers and consumers.
        heap: JVM heap of each process; default: 400 MiB, and 1 GiB with `jvm: production`.
        jvm: `production`, further JVM options, or both; see `clusters.common.java`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: str = "4.4.0"
    metadata: Literal["kraft", "zookeeper"] = "kraft"
    zookeeper: ZooKeeper = ZooKeeper()
    config: dict[str, Scalar] = {}
    topic: dict[str, Scalar] = {}
    share_group: dict[str, Scalar] = {}
    config_unchecked: list[str] = []
    controllers: Literal["combined"] | int = "combined"
    voters: Literal["static", "dynamic"] = "static"
    features: dict[str, Annotated[int, Field(ge=0)]] = {}
    log_dirs: Directories = list(ON_DATA)
    tiered_storage: TieredStorage | None = None
    zones: dict[str, list[str]] = {}
    security: Security | None = None
    clients: Literal["librdkafka", "java"] = "librdkafka"
    heap: Size | None = None
    jvm: Jvm = []

    @property
    def in_zookeeper(self) -> bool:
        """Whether the cluster keeps its metadata in ZooKeeper."""
        return self.metadata == "zookeeper"

    @classmethod
    def misplaced(cls, key: str) -> str:
        """Return where a setting of Kafka belongs: their names have dots."""
        if "." not in key:
            return ""
        return f"write settings of brokers below config: {{{key}: ...}}, settings of the workload's topics below topic:"


PRODUCTION_JVM = (
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
)
"""The flags of bin/kafka-run-class.sh (`KAFKA_JVM_PERFORMANCE_OPTS`)."""

_HEAP, _PRODUCTION_HEAP = 400 * 2**20, 2**30
"""The second is that of bin/kafka-server-start.sh."""

DEFAULTS: dict[str, Any] = {
    "offsets.topic.num.partitions": 3,
    "transaction.state.log.num.partitions": 3,
    "share.coordinator.state.topic.num.partitions": 3,
    "group.initial.rebalance.delay.ms": 0,
    "auto.create.topics.enable": False,
    "num.network.threads": 2,
    "num.io.threads": 4,
}
"""Defaults for a small lab. None of them changes a durability guarantee."""

_LOG4J2 = """\
status=error
rootLogger.level=info
rootLogger.appenderRef.out.ref=out
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=[%d] %p %m (%c)%n
"""
_LOG4J = """\
log4j.rootLogger=INFO,out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=[%d] %p %m (%c)%n
"""
LOGGING = {"log4j2.properties": _LOG4J2, "log4j.properties": _LOG4J}
"""Kafka 4 uses log4j 2, earlier releases use log4j 1; each ignores the other's file."""


def heap_of(options: KafkaOptions) -> int:
    """Return the JVM heap of each process, bytes."""
    return options.heap or (_PRODUCTION_HEAP if PRODUCTION in options.jvm else _HEAP)


def flushes_each_message(options: KafkaOptions) -> bool:
    """Return whether every message is fsynced before it is acknowledged."""
    return FLUSH.number_of(options) == 1


def lag_ns(options: KafkaOptions) -> int:
    """Return for how long a replica may not have caught up and still be in sync, ns.

    Leaders look for such replicas each half of `replica.lag.time.max.ms` (`ReplicaManager`, isr-expiration).
    """
    return LAG_MS.number_of(options) * MILLISECOND * 3 // 2


def min_insync(options: KafkaOptions) -> int:
    """Return min.insync.replicas of the workload's topics."""
    return MIN_INSYNC.number_of(options)


def topic_settings(options: KafkaOptions) -> Mapping[str, Scalar]:
    """Return the settings of the workload's topics."""
    return {**tiered.topic_defaults(options.tiered_storage), **options.topic}


def broker_count(options: KafkaOptions, hosts: int) -> int:
    """Return how many of the hosts are brokers."""
    apart = options.zookeeper.hosts if options.in_zookeeper else options.controllers
    return node_count(options, hosts) - (0 if apart == "combined" else apart)


def node_count(options: KafkaOptions, hosts: int) -> int:
    """Return how many of the hosts are brokers, controllers or ZooKeeper servers: the first ones."""
    return hosts - tiered.stores(options.tiered_storage)


def zookeepers(options: KafkaOptions, hosts: int) -> range:
    """Return the indexes of the hosts with a ZooKeeper server."""
    return options.zookeeper.servers(hosts) if options.in_zookeeper else range(0)


def nodes(options: KafkaOptions, hosts: int) -> range:
    """Return the indexes of the hosts with a process of Kafka."""
    return range(broker_count(options, hosts) if options.in_zookeeper else node_count(options, hosts))


def controllers(options: KafkaOptions, hosts: int) -> range:
    """Return the indexes of the hosts with a controller, in KRaft mode."""
    nodes = node_count(options, hosts)
    return range(0 if options.controllers == "combined" else broker_count(options, hosts), nodes)


def server_properties(options: KafkaOptions, addresses: Sequence[str], index: int, log_dirs: Sequence[str]) -> str:
    """Return server.properties of the host at `index`; node ids count from 1."""
    replication = min(3, broker_count(options, len(addresses)))
    ours = {
        **DEFAULTS,
        **tiered.broker_defaults(options.tiered_storage),
        "offsets.topic.replication.factor": replication,
        "transaction.state.log.replication.factor": replication,
        "transaction.state.log.min.isr": min(2, replication),
        "share.coordinator.state.topic.replication.factor": replication,
        "share.coordinator.state.topic.min.isr": min(2, replication),
    }
    if rack := [zone for zone, members in options.zones.items() if f"n{index + 1}" in members]:
        ours["broker.rack"] = rack[0]
    topology = _in_zookeeper if options.in_zookeeper else _in_kraft
    fixed = topology(options, addresses, index) | tiered.broker_properties(
        options.tiered_storage, addresses, replication
    )
    return properties(ours, options.config, fixed, {"log.dirs": ",".join(log_dirs)})


def _in_zookeeper(options: KafkaOptions, addresses: Sequence[str], index: int) -> dict[str, Any]:
    """Return the settings of a broker's place in a cluster with ZooKeeper."""
    servers = [addresses[zookeeper] for zookeeper in zookeepers(options, len(addresses))]
    return {
        "broker.id": index + 1,
        "zookeeper.connect": server.connection(servers),
        "listeners": f"PLAINTEXT://{addresses[index]}:{BROKER_PORT}",
        "advertised.listeners": f"PLAINTEXT://{addresses[index]}:{BROKER_PORT}",
    }


def quorum(options: KafkaOptions, addresses: Sequence[str]) -> dict[str, Any]:
    """Return the settings by which a node finds the controllers."""
    by_node = {node + 1: f"{addresses[node]}:{CONTROLLER_PORT}" for node in controllers(options, len(addresses))}
    if options.voters == "dynamic":
        known = {"controller.quorum.bootstrap.servers": ",".join(by_node.values())}
    else:
        known = {"controller.quorum.voters": ",".join(f"{node}@{at}" for node, at in by_node.items())}
    return {
        **known,
        "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT{protocols(options.security)}",
        "controller.listener.names": "CONTROLLER",
    }


def _in_kraft(options: KafkaOptions, addresses: Sequence[str], index: int) -> dict[str, Any]:
    """Return the settings of a node's place in a cluster of KRaft."""
    brokers = broker_count(options, len(addresses))
    is_broker = index < brokers
    is_controller = index in controllers(options, len(addresses))
    address = addresses[index]
    listeners = [f"PLAINTEXT://{address}:{BROKER_PORT}"] * is_broker
    clients = listener(options.security, address) if is_broker else {}
    listeners += [f"{name}://{where}" for name, where in clients.items()]
    listeners += [f"CONTROLLER://{address}:{CONTROLLER_PORT}"] * is_controller
    roles = ["broker"] * is_broker + ["controller"] * is_controller
    fixed = {
        "process.roles": ",".join(roles),
        "node.id": index + 1,
        "listeners": ",".join(listeners),
        **quorum(options, addresses),
    }
    if is_broker:
        known = {"PLAINTEXT": f"{address}:{BROKER_PORT}", **clients}
        fixed["advertised.listeners"] = ",".join(f"{name}://{where}" for name, where in known.items())
        fixed |= listener_properties(options.security)
    return {**fixed, **authorizer(options.security)}
