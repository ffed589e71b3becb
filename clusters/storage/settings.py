"""Options and configuration files of ZooKeeper and bookies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from chaoskit.base.errors import BadInput, guessed
from chaoskit.base.quantities import Size
from chaoskit.contract.guarantees.setting import Setting
from chaoskit.contract.hosts.disk import DataDisk
from clusters.common.directories import ON_DATA, Directories, check_directories, paths
from clusters.common.java import Jvm
from clusters.common.properties import Scalar, properties
from clusters.zookeeper import server
from clusters.zookeeper.server import QUORUM_DEFAULT, ZOOKEEPER

BOOKIE = "bookie"
"""Name of the service."""

BOOKIE_PORT = 3181
BOOKIE_FOLDER = "bookkeeper"
"""A bookie's folder in each of its directories."""

LEDGERS = "/ledgers"
"""Path of the ledgers' metadata in ZooKeeper."""

_ACK_QUORUM_DEFAULT = 2

Count = Annotated[int, Field(ge=1)]


class StorageConfig(BaseModel):
    """Settings by their own names: bookkeeper.conf, zoo.cfg."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    bookie: dict[str, Scalar] = {}
    zookeeper: dict[str, Scalar] = {}

    @classmethod
    def misplaced(cls, key: str) -> str:
        """Return that settings are below the role that reads them, unless the key is nearly a role."""
        roles = sorted(cls.model_fields)
        if guessed(key, roles):
            return ""
        return f"settings are below the role that reads them: {', '.join(roles)}; such as {roles[0]}: {{{key}: ...}}"


class Persistence(BaseModel):
    """Replication of entries; default: 3, 3 and 2, limited by the number of bookies.

    Attributes:
        ensemble: number of bookies that store a ledger.
        write_quorum: number of bookies that each entry is written to.
        ack_quorum: number of bookies that must acknowledge an entry.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    ensemble: Count | None = None
    write_quorum: Count | None = None
    ack_quorum: Count | None = None


class StorageHosts(BaseModel):
    """Number of hosts per role; default: ZooKeeper on the first three hosts (or one), bookies on all.

    ZooKeeper gets the first hosts, bookies the hosts after them, as far as possible.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    zookeepers: Count | None = None
    bookies: Count | None = None


class StorageHeap(BaseModel):
    """JVM heap of each process, by role. A bookie uses up to the same amount again outside the heap.

    Attributes:
        bookie: default: 256 MiB, and 1 GiB with `jvm: production`, as in BookKeeper's bin/common.sh.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    zookeeper: Size = 128 * 2**20
    bookie: Size | None = None

    def of(self, service: str, *, production: bool) -> int:
        """Return the heap of a process, bytes."""
        given: int | None = getattr(self, service)
        return given or self._defaults()[service][production]

    @classmethod
    def _defaults(cls) -> Mapping[str, tuple[int, int]]:
        """Return the heap of each process, bytes: in a small lab, and with `jvm: production`."""
        return {BOOKIE: (256 * 2**20, 2**30)}


PRODUCTION_JVM = (
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=10",
    "-XX:+ParallelRefProcEnabled",
    "-XX:+DisableExplicitGC",
    "-Dio.netty.recycler.maxCapacityPerThread=4096",
)
"""The flags of BookKeeper's bin/common.sh for Java 9 and later, and of Pulsar's conf/bkenv.sh."""


def _of_bookies(name: str, *, default: bool) -> Setting:
    return Setting(name, default, ("config", BOOKIE))


SYNC_JOURNAL = _of_bookies("journalSyncData", default=True)
WRITE_JOURNAL = _of_bookies("journalWriteData", default=True)
AUTO_RECOVERY = _of_bookies("autoRecoveryDaemonEnabled", default=False)
FORCE_SYNC = Setting("forceSync", "yes", ("config", ZOOKEEPER))

STORAGE_SETTINGS = (SYNC_JOURNAL, WRITE_JOURNAL, AUTO_RECOVERY, FORCE_SYNC)
"""The settings from which the guarantees of bookies and ZooKeeper follow; neither reports its own."""


@dataclass(frozen=True, slots=True)
class Quorums:
    """The effective quorums; see `Persistence`."""

    ensemble: int
    write: int
    ack: int


@dataclass(frozen=True, slots=True)
class StoragePlacement:
    """The roles of hosts, by index."""

    zookeepers: range
    bookies: range

    def services(self, index: int) -> tuple[str, ...]:
        """Return the services of the host at `index`, in start order."""
        places = {ZOOKEEPER: self.zookeepers, BOOKIE: self.bookies}
        return tuple(name for name, hosts in places.items() if index in hosts)


P = TypeVar("P", bound=StoragePlacement)


class StorageOptions(BaseModel):
    """The options of ZooKeeper and bookies.

    Attributes:
        config: settings by their own names, for all processes of a role.
        config_unchecked: names in `config` that are accepted although the release does not know them.
        persistence: ensemble, write quorum and ack quorum.
        roles: number of hosts per role.
        heap: JVM heap by role.
        jvm: `production`, further JVM options, or both; see `clusters.common.java`.
        supervisor: how services that exit are started again. `patient`: chaoskit does it, one after the other, and
            waits for what a service needs. `immediate`: a loop on each host does it after a pause, whatever else there
            is.
        repairs: what is repaired when services are started. `cookies`: a bookie that lost a disk is set up again as an
            empty one, which BookKeeper leaves to an operator. By default with `supervisor: patient` only.
        journal_directories, ledger_directories: the bookies' directories, as disks of the hosts: `[journal]`, or
            `[data/a, data/b]` on one disk.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    config: StorageConfig = StorageConfig()
    config_unchecked: list[str] = []
    persistence: Persistence = Persistence()
    roles: StorageHosts = StorageHosts()
    heap: StorageHeap = StorageHeap()
    jvm: Jvm = []
    supervisor: Literal["patient", "immediate"] = "patient"
    repairs: list[Literal["cookies"]] | None = None
    journal_directories: Directories = list(ON_DATA)
    ledger_directories: Directories = list(ON_DATA)

    @property
    def is_patient(self) -> bool:
        """Whether the start of a service waits for what it needs."""
        return self.supervisor == "patient"

    @property
    def exiting(self) -> tuple[str, ...]:
        """The services that may exit by themselves after their session with ZooKeeper has ended."""
        return (BOOKIE,)

    @property
    def repairs_cookies(self) -> bool:
        """Whether a bookie that lost a disk is set up again as an empty one."""
        return self.is_patient if self.repairs is None else "cookies" in self.repairs

    def place(self, hosts: int) -> StoragePlacement:
        """Return the placement of roles on hosts.

        Raises:
            BadInput: a role needs more hosts than there are, or a host has no role.
        """
        zookeepers, bookies = self.counts(hosts)
        first = min(zookeepers, hosts - bookies)
        placed = StoragePlacement(range(zookeepers), range(first, first + bookies))
        return no_host_idle(placed, hosts)

    def counts(self, hosts: int) -> tuple[int, int]:
        """Return the number of ZooKeeper servers and the number of bookies.

        Raises:
            BadInput: a role needs more hosts than there are.
        """
        zookeepers = self.roles.zookeepers or (QUORUM_DEFAULT if hosts >= QUORUM_DEFAULT else 1)
        bookies = self.roles.bookies or hosts
        enough_hosts({"zookeepers": zookeepers, "bookies": bookies}, hosts)
        return zookeepers, bookies


def enough_hosts(roles: Mapping[str, int], hosts: int) -> None:
    """Check that no role needs more hosts than there are.

    Raises:
        BadInput: one does; names the role.
    """
    for name, count in roles.items():
        if count > hosts:
            raise BadInput(f"cluster.roles.{name}: {count} require as many hosts; cluster.hosts is {hosts}")


def no_host_idle(placed: P, hosts: int) -> P:
    """Check that every host has a role, and return the placement.

    Raises:
        BadInput: a host has none.
    """
    idle = [f"n{index + 1}" for index in range(hosts) if not placed.services(index)]
    if idle:
        raise BadInput(f"cluster.roles: {', '.join(idle)} would have no role; reduce cluster.hosts or increase a role")
    return placed


def quorums(options: StorageOptions, bookies: int) -> Quorums:
    """Return the effective quorums.

    Raises:
        BadInput: they are inconsistent, or there are too few bookies.
    """
    given = options.persistence
    ensemble = given.ensemble or min(QUORUM_DEFAULT, bookies)
    write = given.write_quorum or min(QUORUM_DEFAULT, ensemble)
    ack = given.ack_quorum or min(_ACK_QUORUM_DEFAULT, write)
    if ensemble > bookies:
        raise BadInput(f"cluster.persistence.ensemble: {ensemble} requires as many bookies; there are {bookies}")
    if write > ensemble:
        raise BadInput(f"cluster.persistence.write_quorum: {write} exceeds the ensemble, {ensemble}; reduce it")
    if ack > write:
        raise BadInput(f"cluster.persistence.ack_quorum: {ack} exceeds the write quorum, {write}; reduce it")
    return Quorums(ensemble, write, ack)


def check_bookies(options: StorageOptions, disks: Sequence[str]) -> None:
    """Reject directories on disks that the hosts do not have.

    Raises:
        BadInput: names the key and the remedy.
    """
    check_directories(options.journal_directories, disks, "cluster.journal_directories")
    check_directories(options.ledger_directories, disks, "cluster.ledger_directories")


def connection(addresses: Sequence[str], placed: StoragePlacement) -> str:
    """Return the connection string for ZooKeeper clients."""
    return server.connection([addresses[index] for index in placed.zookeepers])


def metadata_uri(addresses: Sequence[str], placed: StoragePlacement) -> str:
    """Return the metadata URI for bookies and BookKeeper clients."""
    return f"zk+hierarchical://{connection(addresses, placed).replace(',', ';')}{LEDGERS}"


def zoo_cfg(options: StorageOptions, addresses: Sequence[str], index: int, data_dir: str) -> str:
    """Return zoo.cfg of the host at `index`; server ids count from 1."""
    servers = {zookeeper + 1: addresses[zookeeper] for zookeeper in options.place(len(addresses)).zookeepers}
    return server.zoo_cfg(options.config.zookeeper, servers, addresses[index], data_dir)


@dataclass(frozen=True, slots=True)
class BookieFolders:
    """The folders of a bookie on its host."""

    journals: Sequence[str]
    ledgers: Sequence[str]

    @classmethod
    def on(cls, disks: Mapping[str, DataDisk], options: StorageOptions) -> BookieFolders:
        """Return the folders on a host with these disks."""
        return cls(
            paths(options.journal_directories, disks, f"{BOOKIE_FOLDER}/journal"),
            paths(options.ledger_directories, disks, f"{BOOKIE_FOLDER}/ledgers"),
        )


def bookkeeper_conf(
    options: StorageOptions, addresses: Sequence[str], index: int, folders: BookieFolders, interface: str
) -> str:
    """Return bookkeeper.conf of the host at `index`, which listens on a network interface."""
    return properties(
        {
            "ledgerStorageClass": "org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage",
            "dbStorage_writeCacheMaxSizeMb": 32,
            "dbStorage_readAheadCacheMaxSizeMb": 16,
            "dbStorage_rocksDB_blockCacheSize": 8 * 2**20,
            "journalMaxSizeMB": 256,
            "logSizeLimit": 128 * 2**20,
            "numAddWorkerThreads": 1,
            "numReadWorkerThreads": 2,
            "serverNumIOThreads": 2,
        },
        options.config.bookie,
        {
            "metadataServiceUri": metadata_uri(addresses, options.place(len(addresses))),
            "bookiePort": BOOKIE_PORT,
            "listeningInterface": interface,
            "advertisedAddress": addresses[index],
            "allowLoopback": True,
            "journalDirectories": ",".join(folders.journals),
            "ledgerDirectories": ",".join(folders.ledgers),
        },
    )
