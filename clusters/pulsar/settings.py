"""Pulsar's configuration files, from the options of a scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from chaoskit.errors import BadInput
from chaoskit.quantities import Size

ZOOKEEPER, BOOKIE, BROKER = "zookeeper", "bookie", "broker"
"""Names of the services, in the order in which a host starts them."""

ZOOKEEPER_PORT, BOOKIE_PORT, BROKER_PORT, WEB_PORT = 2181, 3181, 6650, 8080
CLUSTER_NAME = "chaoskit"
TOPICS = "public/default"
"""Tenant and namespace of the workload's topics."""

_PEER_PORTS = "2888:3888"
_QUORUM_DEFAULT = 3
_ACK_QUORUM_DEFAULT = 2

Scalar = str | int | float | bool | None
"""A setting's value; null leaves the system's default."""

Count = Annotated[int, Field(ge=1)]


class Config(BaseModel):
    """Settings by their own names: broker.conf, bookkeeper.conf, zoo.cfg."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    broker: dict[str, Scalar] = {}
    bookie: dict[str, Scalar] = {}
    zookeeper: dict[str, Scalar] = {}


class Persistence(BaseModel):
    """How each entry is kept; absent: 3, 3 and 2, or as many as there are bookies.

    Attributes:
        ensemble: bookies that a ledger is spread over.
        write_quorum: bookies that are given each entry.
        ack_quorum: bookies that must have acknowledged it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    ensemble: Count | None = None
    write_quorum: Count | None = None
    ack_quorum: Count | None = None


class Roles(BaseModel):
    """How many hosts have each role; absent: ZooKeeper on the first three or one, bookies and brokers on all.

    ZooKeeper gets the first hosts, brokers the last ones, bookies those behind ZooKeeper as far as there are
    enough.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    zookeepers: Count | None = None
    bookies: Count | None = None
    brokers: Count | None = None


class Heap(BaseModel):
    """JVM heap of each process, by role. A bookie and a broker take up to as much again outside it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    zookeeper: Size = 128 * 2**20
    bookie: Size = 256 * 2**20
    broker: Size = 384 * 2**20


class PulsarOptions(BaseModel):
    """What a scenario may say of a Pulsar cluster, besides its hosts.

    Attributes:
        version: release number of Pulsar, 3.0.0 or later; it decides those of BookKeeper and ZooKeeper.
        config: settings by their own names, for all processes of a role.
        persistence: ensemble, write quorum and ack quorum.
        namespace: policies of the workload's namespace, by the last part of their path in the admin API.
        deduplication: whether brokers drop what they have from a producer already.
        roles: how many hosts have each role.
        heap: JVM heap by role.
        jvm: further JVM options.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: str = "4.0.7"
    config: Config = Config()
    persistence: Persistence = Persistence()
    namespace: dict[str, Any] = {}
    deduplication: bool = False
    roles: Roles = Roles()
    heap: Heap = Heap()
    jvm: list[str] = []


@dataclass(frozen=True, slots=True)
class Quorums:
    """The quorums in force; see `Persistence`."""

    ensemble: int
    write: int
    ack: int


@dataclass(frozen=True, slots=True)
class Placement:
    """Which hosts, by index, have which role."""

    zookeepers: range
    bookies: range
    brokers: range

    def services(self, index: int) -> tuple[str, ...]:
        """Return the services of the host at `index`, in the order in which they start."""
        places = {ZOOKEEPER: self.zookeepers, BOOKIE: self.bookies, BROKER: self.brokers}
        return tuple(name for name, hosts in places.items() if index in hosts)


def place(options: PulsarOptions, hosts: int) -> Placement:
    """Return who has which role.

    Raises:
        BadInput: there are more of a role than hosts, or a host without any.
    """
    roles = options.roles
    zookeepers = roles.zookeepers or (_QUORUM_DEFAULT if hosts >= _QUORUM_DEFAULT else 1)
    bookies, brokers = roles.bookies or hosts, roles.brokers or hosts
    for name, count in {"zookeepers": zookeepers, "bookies": bookies, "brokers": brokers}.items():
        if count > hosts:
            raise BadInput(f"cluster.roles.{name}: {count} need as many hosts; cluster.hosts is {hosts}")
    first = min(zookeepers, hosts - bookies)
    placed = Placement(range(zookeepers), range(first, first + bookies), range(hosts - brokers, hosts))
    idle = [f"n{index + 1}" for index in range(hosts) if not placed.services(index)]
    if idle:
        raise BadInput(
            f"cluster.roles: {', '.join(idle)} would have no role; write fewer cluster.hosts or more of a role"
        )
    return placed


def quorums(options: PulsarOptions, bookies: int) -> Quorums:
    """Return the quorums in force.

    Raises:
        BadInput: they contradict each other, or there are too few bookies.
    """
    given = options.persistence
    ensemble = given.ensemble or min(_QUORUM_DEFAULT, bookies)
    write = given.write_quorum or min(_QUORUM_DEFAULT, ensemble)
    ack = given.ack_quorum or min(_ACK_QUORUM_DEFAULT, write)
    if ensemble > bookies:
        raise BadInput(f"cluster.persistence.ensemble: {ensemble} needs as many bookies; there are {bookies}")
    if write > ensemble:
        raise BadInput(f"cluster.persistence.write_quorum: {write} is more than the ensemble, {ensemble}; write fewer")
    if ack > write:
        raise BadInput(f"cluster.persistence.ack_quorum: {ack} is more than the write quorum, {write}; write fewer")
    return Quorums(ensemble, write, ack)


def is_true(value: Any) -> bool:
    """Return whether a setting, as YAML or text, is true."""
    return str(value).lower() in ("true", "yes")


def setting(config: Mapping[str, Scalar], name: str, default: Any) -> Any:
    """Return a setting; null means the system's default."""
    value = config.get(name)
    return default if value is None else value


def connection(addresses: Sequence[str], placed: Placement) -> str:
    """Return how clients of ZooKeeper are told its servers."""
    return ",".join(f"{addresses[index]}:{ZOOKEEPER_PORT}" for index in placed.zookeepers)


def zoo_cfg(options: PulsarOptions, addresses: Sequence[str], index: int, data_dir: str) -> str:
    """Return zoo.cfg of the host at `index`; server ids count from 1."""
    placed = place(options, len(addresses))
    servers = {f"server.{each + 1}": f"{addresses[each]}:{_PEER_PORTS}" for each in placed.zookeepers}
    return _properties(
        {"tickTime": 2000, "initLimit": 10, "syncLimit": 5, "preAllocSize": 1024},
        options.config.zookeeper,
        {
            "dataDir": f"{data_dir}/zookeeper",
            "clientPort": ZOOKEEPER_PORT,
            "clientPortAddress": addresses[index],
            "4lw.commands.whitelist": "*",
            "admin.enableServer": False,
            **(servers if len(servers) > 1 else {}),
        },
    )


def bookkeeper_conf(options: PulsarOptions, addresses: Sequence[str], index: int, data_dir: str, interface: str) -> str:
    """Return bookkeeper.conf of the host at `index`, which listens on a network interface."""
    placed = place(options, len(addresses))
    servers = connection(addresses, placed).replace(",", ";")
    return _properties(
        {
            "ledgerStorageClass": "org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage",
            "dbStorage_writeCacheMaxSizeMb": 32,
            "dbStorage_readAheadCacheMaxSizeMb": 16,
            "dbStorage_rocksDB_blockCacheSize": 8 * 2**20,
            "journalMaxSizeMB": 256,
            "logSizeLimit": 128 * 2**20,
            "autoRecoveryDaemonEnabled": True,
            "numAddWorkerThreads": 1,
            "numReadWorkerThreads": 2,
            "serverNumIOThreads": 2,
        },
        options.config.bookie,
        {
            "metadataServiceUri": f"zk+hierarchical://{servers}/ledgers",
            "bookiePort": BOOKIE_PORT,
            "listeningInterface": interface,
            "advertisedAddress": addresses[index],
            "allowLoopback": True,
            "journalDirectories": f"{data_dir}/bookkeeper/journal",
            "ledgerDirectories": f"{data_dir}/bookkeeper/ledgers",
        },
    )


def broker_conf(options: PulsarOptions, addresses: Sequence[str], index: int) -> str:
    """Return broker.conf of the host at `index`."""
    placed = place(options, len(addresses))
    persistence = quorums(options, len(placed.bookies))
    store = f"zk:{connection(addresses, placed)}"
    return _properties(
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
            "systemTopicEnabled": False,
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
        },
    )


def _properties(defaults: Mapping[str, Any], given: Mapping[str, Scalar], ours: Mapping[str, Any]) -> str:
    """Return a file of properties: given ones over the defaults, ours over both."""
    chosen = {**defaults, **{key: value for key, value in given.items() if value is not None}, **ours}
    return "".join(f"{key}={_text(value)}\n" for key, value in chosen.items())


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


_POLICIES_ELSEWHERE = {"persistence": "cluster.persistence", "deduplication": "cluster.deduplication"}
_ELSEWHERE = {
    "managedLedgerDefaultEnsembleSize": "cluster.persistence.ensemble",
    "managedLedgerDefaultWriteQuorum": "cluster.persistence.write_quorum",
    "managedLedgerDefaultAckQuorum": "cluster.persistence.ack_quorum",
    "brokerDeduplicationEnabled": "cluster.deduplication",
}


def check_settings(options: PulsarOptions) -> None:
    """Refuse settings that have keys of their own, which guarantees depend on.

    Raises:
        BadInput: naming that key.
    """
    for name, key in _ELSEWHERE.items():
        if options.config.broker.get(name) is not None:
            raise BadInput(f"cluster.config.broker.{name}: write {key} instead")
    for name, key in _POLICIES_ELSEWHERE.items():
        if options.namespace.get(name) is not None:
            raise BadInput(f"cluster.namespace.{name}: write {key} instead")
