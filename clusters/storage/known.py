"""The settings of a release of BookKeeper and ZooKeeper, read from its jars; see `clusters.kafka.known`.

A bookie reads its file with Commons Configuration, and ZooKeeper makes a system property `zookeeper.<name>` of what it
does not know: neither of them complains. So every name is known here that their code asks for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from clusters.common.javaclass import classes
from clusters.common.names import Known, overridden, unknown
from clusters.storage.settings import BOOKIE, ZOOKEEPER, BookieFolders, StorageOptions, bookkeeper_conf, zoo_cfg

CLIENT = "client"
"""Settings of BookKeeper's client, in a bookie's auto-recovery, in brokers and in the ledger workload."""

FAMILIES_BOOKIE = (r"(codahale|prometheus)Stats\w+", r"\w+\.\w+\..+")
"""Settings of providers of statistics, and those of other libraries, which have two dots."""

FAMILIES_ZOOKEEPER = (r"(server|group|weight|authProvider|metricsProvider|ssl|sasl)\..+",)
"""Settings with a server's number in them, and those that providers read."""

_BOOKKEEPER_JARS = ("*bookkeeper*.jar", "*http-server*.jar")
_COMMON = r"org/apache/bookkeeper/(common/conf|conf)/(Abstract|Component|Concurrent)Configuration"
_CLIENT_CLASSES = r"org/apache/bookkeeper/(conf/ClientConfiguration|client/\w*PlacementPolicy\w*|net/\w+Mapping\w*)"
_BOOKIE_CLASSES = (
    r"org/apache/bookkeeper/(conf/ServerConfiguration|bookie/storage/ldb/(DbLedgerStorage|KeyValueStorageRocksDB)"
    r"|stats/\w+|http/\w+|sasl/\w+|meta/zk/\w+)"
)
_CAMEL = re.compile(r"[a-z]+[A-Z_]\w*|throttle|passwd")

_PROPERTY = "zookeeper."
_OF_FILE = "org/apache/zookeeper/server/quorum/QuorumPeerConfig"
_NAME = re.compile(r"[a-z0-9][\w-]*(\.[\w-]+)*")


def gather(jars: Path) -> Mapping[str, Iterable[str]]:
    """Return the names of settings in the jars of a release, by `BOOKIE`, `CLIENT` and `ZOOKEEPER`."""
    common = _texts(jars, _COMMON)
    clients = common | _texts(jars, _CLIENT_CLASSES)
    return {BOOKIE: clients | _texts(jars, _BOOKIE_CLASSES), CLIENT: clients, ZOOKEEPER: _of_zookeeper(jars)}


def errors(options: StorageOptions, names: Mapping[str, frozenset[str]], process: str) -> list[str]:
    """Return an error for each setting of bookies and ZooKeeper that does not exist.

    Args:
        options: as in the scenario.
        names: the names of settings, as `gather` returns them.
        process: the system and its release, such as `BookKeeper 4.17.2`.
    """
    bookie = Known(f"a bookie of {process}", names[BOOKIE], FAMILIES_BOOKIE)
    twice = {
        f"{_PROPERTY}{name}": f"ZooKeeper puts {_PROPERTY!r} in front itself; write {name}" for name in names[ZOOKEEPER]
    }
    zookeeper = Known(f"ZooKeeper of {process}", names[ZOOKEEPER], FAMILIES_ZOOKEEPER, twice)
    return [
        *unknown("cluster.config.bookie", options.config.bookie, bookie, options.config_unchecked),
        *unknown("cluster.config.zookeeper", options.config.zookeeper, zookeeper, options.config_unchecked),
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
        text for _, each in classes(jars, _BOOKKEEPER_JARS, wanted) for text in each.strings if _CAMEL.fullmatch(text)
    }


def _of_zookeeper(jars: Path) -> set[str]:
    """Return what `zoo.cfg` may have: the keys of its parser, and all system properties that begin with `zookeeper.`"""
    found: set[str] = set()
    for name, each in classes(jars, ("zookeeper-3*.jar",), r"org/apache/zookeeper/.*", _PROPERTY):
        found |= {text.removeprefix(_PROPERTY) for text in each.strings if text.startswith(_PROPERTY)}
        if name == _OF_FILE:
            found |= each.strings
    return {text for text in found if _NAME.fullmatch(text) and not text.startswith(_PROPERTY)}
