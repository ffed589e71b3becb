"""The settings of a release of BookKeeper and ZooKeeper, read from its jars; see `clusters.kafka.known`.

A bookie reads its file with Commons Configuration, which does not complain about what it does not know. So every name
is known here that its code asks for; ZooKeeper's names are in `clusters.zookeeper.known`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from clusters.common.javaclass import classes
from clusters.common.names import Known, overridden, unknown
from clusters.storage.settings import BOOKIE, BookieFolders, StorageOptions, bookkeeper_conf, zoo_cfg
from clusters.zookeeper import known as zookeeper
from clusters.zookeeper.server import ZOOKEEPER

CLIENT = "client"
"""Settings of BookKeeper's client, in a bookie's auto-recovery, in brokers and in the ledger workload."""

FAMILIES_BOOKIE = (r"(codahale|prometheus)Stats\w+", r"\w+\.\w+\..+")
"""Settings of providers of statistics, and those of other libraries, which have two dots."""

_BOOKKEEPER_JARS = ("*bookkeeper*.jar", "*http-server*.jar")
_COMMON = r"org/apache/bookkeeper/(common/conf|conf)/(Abstract|Component|Concurrent)Configuration"
_CLIENT_CLASSES = r"org/apache/bookkeeper/(conf/ClientConfiguration|client/\w*PlacementPolicy\w*|net/\w+Mapping\w*)"
_BOOKIE_CLASSES = (
    r"org/apache/bookkeeper/(conf/ServerConfiguration|bookie/storage/ldb/(DbLedgerStorage|KeyValueStorageRocksDB)"
    r"|stats/\w+|http/\w+|sasl/\w+|meta/zk/\w+)"
)
_CAMEL = re.compile(r"[a-z]+[A-Z_]\w*|throttle|passwd")


def gather(jars: Path) -> Mapping[str, Iterable[str]]:
    """Return the names of settings in the jars of a release, by `BOOKIE`, `CLIENT` and `ZOOKEEPER`."""
    common = _texts(jars, _COMMON)
    clients = common | _texts(jars, _CLIENT_CLASSES)
    return {BOOKIE: clients | _texts(jars, _BOOKIE_CLASSES), CLIENT: clients, ZOOKEEPER: zookeeper.gather(jars)}


def errors(options: StorageOptions, names: Mapping[str, frozenset[str]], process: str) -> list[str]:
    """Return an error for each setting of bookies and ZooKeeper that does not exist.

    Args:
        options: as in the scenario.
        names: the names of settings, as `gather` returns them.
        process: the system and its release, such as `BookKeeper 4.17.2`.
    """
    bookie = Known(f"a bookie of {process}", names[BOOKIE], FAMILIES_BOOKIE)
    unchecked, of_zookeeper = options.config_unchecked, names[ZOOKEEPER]
    return [
        *unknown("cluster.config.bookie", options.config.bookie, bookie, unchecked),
        *zookeeper.errors("cluster.config.zookeeper", options.config.zookeeper, of_zookeeper, process, unchecked),
    ]


def overrides(options: StorageOptions, hosts: int) -> list[str]:
    """Return an error for each setting of bookies and ZooKeeper that chaoskit overrides on a host."""
    addresses = [f"host-{index}" for index in range(hosts)]
    bookies = [bookkeeper_conf(options, addresses, index, BookieFolders([], []), "") for index in range(hosts)]
    zookeepers = [zoo_cfg(options, addresses, index, "") for index in range(hosts)]
    return [
        *overridden("cluster.config.bookie", options.config.bookie, bookies),
        *overridden("cluster.config.zookeeper", options.config.zookeeper, zookeepers),
    ]


def _texts(jars: Path, wanted: str) -> set[str]:
    return {
        text
        for _, java_class in classes(jars, _BOOKKEEPER_JARS, wanted)
        for text in java_class.strings
        if _CAMEL.fullmatch(text)
    }
