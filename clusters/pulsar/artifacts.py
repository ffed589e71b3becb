"""Pulsar's jars, by version number: the broker brings BookKeeper and ZooKeeper with it."""

from __future__ import annotations

from pathlib import Path

from clusters.common import maven

VERSION_MIN = (3, 0)
"""First release that is tried. The gRPC versions of 2.10 and earlier contradict each other and do not resolve."""

_RANGES_BEFORE = (4,)
"""Until 3.x dependencies ask for ranges of gRPC, over which Maven does not come to an end without the versions that
Pulsar itself was built with."""


def parse_version(version: str) -> tuple[int, ...]:
    """Return the parts of a release number.

    Raises:
        BadInput: it is not one, or it is older than what chaoskit runs.
    """
    return maven.release_number("Pulsar", version, "4.0.7", VERSION_MIN)


def fetch(version: str) -> Path:
    """Return the folder with Pulsar's jars and their manifest, downloading them at most once.

    Raises:
        BadInput: no such version, no Maven, or a cached jar was changed.
    """
    numbers = parse_version(version)
    main = ("org.apache.pulsar", "pulsar-broker", version)
    parent = ("org.apache.pulsar", "pulsar", version) if numbers < _RANGES_BEFORE else None
    listing = "pulsar.apache.org/release-notes"
    return maven.fetch(maven.Release("Pulsar", f"pulsar-{version}", main, (), listing, parent))
