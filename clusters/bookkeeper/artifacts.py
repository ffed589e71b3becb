"""BookKeeper's jars, by version number. The server's dependencies include the client and ZooKeeper."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from chaoskit.contract.systems.releasing import Tested
from clusters.common import maven
from clusters.common.newest import newest

_SERVER = ("org.apache.bookkeeper", "bookkeeper-server")

TESTED = Tested("4.16.1", "4.18.0", date(2026, 11, 29))

VERSION_MIN = (4, 15)
"""First release whose client can list ledgers, which the ledger workload needs."""

_OF_ZOOKEEPER = (
    ("io.dropwizard.metrics", "metrics-core", "4.1.12.1"),
    ("org.xerial.snappy", "snappy-java", "1.1.10.5"),
)
"""Dependencies of a ZooKeeper server that its POM declares as `provided` (3.9.3)."""


def parse_version(version: str) -> tuple[int, ...]:
    """Return the parts of a release number.

    Raises:
        BadInput: it is not a release number, or it is older than the first supported release.
    """
    return maven.release_number("BookKeeper", version, "4.18.0", VERSION_MIN)


def is_fetched(version: str) -> bool:
    """Return whether BookKeeper's jars need not be downloaded."""
    return maven.is_fetched(f"bookkeeper-{version}")


def fetch(version: str) -> Path:
    """Return the folder with BookKeeper's jars and their manifest, downloading them at most once.

    Raises:
        BadInput: no such version, no Maven, or a cached jar was changed.
    """
    parse_version(version)
    main = (*_SERVER, version)
    listing = "bookkeeper.apache.org/releases"
    return maven.fetch(maven.Release("BookKeeper", f"bookkeeper-{version}", main, _OF_ZOOKEEPER, listing))


def newest_release() -> str:
    """Return the newest stable release; see `clusters.common.newest.newest`."""
    return newest("BookKeeper", _SERVER, fetch)
