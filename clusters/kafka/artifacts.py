"""Kafka's jars, by version number."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path

from chaoskit.base.errors import BadInput
from chaoskit.contract.systems.releasing import Tested
from clusters.common import maven
from clusters.common.newest import newest
from clusters.common.release import numbers_of

TESTED = Tested("2.3.0", "4.4.0", date(2026, 11, 29))

_KRAFT_SINCE = (3, 0)
"""First release whose KRaft mode can be tested (production-ready since 3.3). KRaft in 2.8 is an early preview: it
assigns no producer ids, and with several nodes its raft thread crashes on the first registration that it fetches."""

_ZOOKEEPER_SINCE, _ZOOKEEPER_UNTIL = (2, 3), (4,)
"""The first release that is supported with ZooKeeper, and the first one without it."""

_SCALA_SINCE = (2, 4)
"""First release that was built for Scala 2.13."""

_TOOLS_SINCE = (4,)
"""First release whose command line tools have the names that `clusters.kafka.operate.operator` uses."""

_NEWER_ZOOKEEPER = ("org.apache.zookeeper", "zookeeper", "3.5.10")
"""Takes the place of 3.4.14, which does not connect on Java 14 and later (ZOOKEEPER-3779)."""

_LOGGING = {
    True: [
        ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.2"),
        ("org.apache.logging.log4j", "log4j-core", "2.25.2"),
    ],
    False: [("org.slf4j", "slf4j-reload4j", "1.7.36")],
}


def parse_version(version: str) -> tuple[int, ...]:
    """Return the parts of a release number.

    Raises:
        BadInput: it is not a release number.
    """
    return numbers_of("Kafka", version, "write for example 4.4.0", parts=(2, 3))


def has_tools(version: str) -> bool:
    """Return whether a release has the command line tools that `clusters.kafka.operate.operator` uses."""
    return parse_version(version) >= _TOOLS_SINCE


def check_version(version: str, metadata: str) -> None:
    """Reject a release that cannot run with its metadata there: `kraft` or `zookeeper`.

    Raises:
        BadInput: names the remedy.
    """
    numbers = parse_version(version)
    if metadata == "kraft" and numbers < _KRAFT_SINCE:
        raise BadInput(
            f"cluster.version: Kafka {version} has no KRaft, or only a preview; chaoskit supports Kafka 3.0+, and 2.3 "
            "to 3.9 with cluster.metadata: zookeeper"
        )
    if metadata == "zookeeper" and numbers >= _ZOOKEEPER_UNTIL:
        raise BadInput(
            f"cluster.metadata: Kafka {version} has no ZooKeeper any more; write cluster.version: 2.3.0 to 3.9.1, or "
            "metadata: kraft"
        )
    if metadata == "zookeeper" and numbers < _ZOOKEEPER_SINCE:
        raise BadInput(f"cluster.version: Kafka {version} is too old; chaoskit supports 2.3 to 3.9 with ZooKeeper")


def fetch(version: str) -> Path:
    """Return the folder with Kafka's jars and their manifest, downloading them at most once.

    Raises:
        BadInput: no such version, no Maven, or a cached jar was changed.
    """
    numbers = parse_version(version)
    scala = "2.13" if numbers >= _SCALA_SINCE else "2.12"
    return _fetch("kafka", f"kafka_{scala}", version, [] if numbers >= _SCALA_SINCE else [_NEWER_ZOOKEEPER])


def is_fetched(version: str) -> bool:
    """Return whether Kafka's jars need not be downloaded."""
    return maven.is_fetched(f"kafka-{version}")


def fetch_tools(version: str) -> Path:
    """Return the folder with the jars of Kafka's command line tools; see `fetch`."""
    return _fetch("kafka-tools", "kafka-tools", version)


def fetch_clients(version: str) -> Path:
    """Return the folder with the jars of Kafka's own clients; see `fetch`."""
    return _fetch("kafka-clients", "kafka-clients", version)


def _fetch(name: str, artifact: str, version: str, others: Sequence[maven.Coordinates] = ()) -> Path:
    needed = [*_LOGGING[parse_version(version) >= (4,)], *others]
    main = ("org.apache.kafka", artifact, version)
    return maven.fetch(maven.Release("Kafka", f"{name}-{version}", main, needed, "kafka.apache.org/downloads"))


def newest_release() -> str:
    """Return the newest stable release; see `clusters.common.newest.newest`."""
    return newest("Kafka", ("org.apache.kafka", "kafka_2.13"), fetch)
