"""Pulsar's jars, by version number. The broker's dependencies include BookKeeper and ZooKeeper."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from chaoskit.contract.systems.releasing import Tested
from clusters.common import maven
from clusters.common.newest import newest

_BROKER = ("org.apache.pulsar", "pulsar-broker")

TESTED = Tested("2.10.5", "4.2.4", date(2026, 11, 29))

VERSION_MIN = (2, 10)
"""First supported release. Earlier ones have other settings for where the metadata are."""

_RESOLVED = ((4, 0), (4, 1))
"""From the first to before the second of these releases, Maven finds the right versions by itself. Up to 3.x,
dependencies specify ranges of gRPC versions, whose resolution does not terminate without the versions that Pulsar was
built with itself. With 4.2, libraries of OpenTelemetry would be of two releases, and brokers do not start."""


def parse_version(version: str) -> tuple[int, ...]:
    """Return the parts of a release number.

    Raises:
        BadInput: it is not a release number, or it is older than the first supported release.
    """
    return maven.release_number("Pulsar", version, "4.2.4", VERSION_MIN)


def is_fetched(version: str) -> bool:
    """Return whether Pulsar's jars need not be downloaded."""
    return maven.is_fetched(f"pulsar-{version}")


def fetch(version: str) -> Path:
    """Return the folder with Pulsar's jars and their manifest, downloading them at most once.

    Raises:
        BadInput: no such version, no Maven, or a cached jar was changed.
    """
    numbers = parse_version(version)
    main = (*_BROKER, version)
    parent = ("org.apache.pulsar", "pulsar", version) if not _RESOLVED[0] <= numbers < _RESOLVED[1] else None
    listing = "pulsar.apache.org/release-notes"
    return maven.fetch(maven.Release("Pulsar", f"pulsar-{version}", main, (), listing, parent))


def newest_release() -> str:
    """Return the newest stable release; see `clusters.common.newest.newest`."""
    return newest("Pulsar", _BROKER, fetch)
