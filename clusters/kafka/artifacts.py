"""Kafka's jars, by version number."""

from __future__ import annotations

from pathlib import Path

from chaoskit.base.errors import BadInput
from clusters.common import maven
from clusters.common.release import numbers_of

VERSION_MIN = (3, 0)
"""First release whose KRaft mode can be tested (production-ready since 3.3). KRaft in 2.8 is an early preview: it
assigns no producer ids, and with several nodes its raft thread crashes on the first registration that it fetches."""

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
        BadInput: it is not a release number, or the release does not support KRaft.
    """
    numbers = numbers_of("Kafka", version, "write for example 4.1.1", parts=(2, 3))
    if numbers < VERSION_MIN:
        raise BadInput(
            f"cluster.version: Kafka {version} has no KRaft, or only a preview; chaoskit supports Kafka 3.0+"
        )
    return numbers


def fetch(version: str) -> Path:
    """Return the folder with Kafka's jars and their manifest, downloading them at most once.

    Raises:
        BadInput: no such version, no Maven, or a cached jar was changed.
    """
    return _fetch("kafka", "kafka_2.13", version)


def is_fetched(version: str) -> bool:
    """Return whether Kafka's jars need not be downloaded."""
    return maven.is_fetched(f"kafka-{version}")


def fetch_tools(version: str) -> Path:
    """Return the folder with the jars of Kafka's command line tools; see `fetch`."""
    return _fetch("kafka-tools", "kafka-tools", version)


def fetch_clients(version: str) -> Path:
    """Return the folder with the jars of Kafka's own clients; see `fetch`."""
    return _fetch("kafka-clients", "kafka-clients", version)


def _fetch(name: str, artifact: str, version: str) -> Path:
    logging = _LOGGING[parse_version(version) >= (4,)]
    main = ("org.apache.kafka", artifact, version)
    return maven.fetch(maven.Release("Kafka", f"{name}-{version}", main, logging, "kafka.apache.org/downloads"))
