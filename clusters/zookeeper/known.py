"""The settings of a release of ZooKeeper, read from its jars.

ZooKeeper makes a system property `zookeeper.<name>` of what it does not know, and does not complain. So every name is
known here that its code asks for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from clusters.common.javaclass import classes
from clusters.common.names import Known, unknown

FAMILIES = (r"(server|group|weight|authProvider|metricsProvider|ssl|sasl)\..+",)
"""Settings with a server's number in them, and those that providers read."""

_JARS = ("zookeeper-3*.jar", "zookeeper-with-patched-admin-*.jar")
"""The second one is Pulsar's own build of it, since 4.2."""

_PROPERTY = "zookeeper."
_OF_FILE = "org/apache/zookeeper/server/quorum/QuorumPeerConfig"
_NAME = re.compile(r"[a-z0-9][\w-]*(\.[\w-]+)*")


def gather(jars: Path) -> set[str]:
    """Return what `zoo.cfg` may have: the keys of its parser, and all system properties that begin with `zookeeper.`"""
    names: set[str] = set()
    for name, java_class in classes(jars, _JARS, r"org/apache/zookeeper/.*", _PROPERTY):
        names |= {text.removeprefix(_PROPERTY) for text in java_class.strings if text.startswith(_PROPERTY)}
        if name == _OF_FILE:
            names |= java_class.strings
    return {text for text in names if _NAME.fullmatch(text) and not text.startswith(_PROPERTY)}


def errors(
    key: str, given: Iterable[str], names: Collection[str], process: str, unchecked: Collection[str]
) -> list[str]:
    """Return an error for each given setting that does not exist.

    Args:
        key: the key that has the settings, such as `cluster.config.zookeeper`.
        given: their names.
        names: the names of settings, as `gather` returns them.
        process: the system that runs it and its release, such as `BookKeeper 4.17.2`.
        unchecked: names that are accepted anyway.
    """
    twice: Mapping[str, str] = {
        f"{_PROPERTY}{name}": f"ZooKeeper puts {_PROPERTY!r} in front itself; write {name}" for name in names
    }
    return unknown(key, given, Known(f"ZooKeeper of {process}", frozenset(names), FAMILIES, twice), unchecked)
