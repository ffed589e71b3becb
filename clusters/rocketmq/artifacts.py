"""RocketMQ's jars, by version number: those of its servers, which include the client of its own protocol."""

from __future__ import annotations

from pathlib import Path

from clusters.common import maven

VERSION_MIN = (5, 1)
"""First supported release: 5.0 has no controller that elects masters without DLedger's commit log."""

_SERVERS = ("rocketmq-namesrv", "rocketmq-controller", "rocketmq-proxy")
_GRPC_CLIENT = ("org.apache.rocketmq", "rocketmq-client-java", "5.1.0")
"""It has releases of its own."""


_LISTING = "rocketmq.apache.org/release-notes"


def parse_version(version: str) -> tuple[int, ...]:
    """Return the parts of a release number.

    Raises:
        BadInput: it is not a release number, or it is older than the first supported release.
    """
    return maven.release_number("RocketMQ", version, "5.5.0", VERSION_MIN)


def is_fetched(version: str) -> bool:
    """Return whether RocketMQ's jars need not be downloaded."""
    return maven.is_fetched(f"rocketmq-{version}")


def fetch(version: str) -> Path:
    """Return the folder with RocketMQ's jars and their manifest, downloading them at most once.

    Raises:
        BadInput: no such version, no Maven, or a cached jar was changed.
    """
    parse_version(version)
    group = "org.apache.rocketmq"
    others = [(group, server, version) for server in _SERVERS]
    main = (group, "rocketmq-broker", version)
    return maven.fetch(maven.Release("RocketMQ", f"rocketmq-{version}", main, others, _LISTING))


def fetch_grpc_client(version: str) -> Path:
    """Return the folder with the jars of the client by gRPC, for brokers of a release; see `fetch`."""
    folder = f"rocketmq-grpc-{_GRPC_CLIENT[2]}"
    return maven.fetch(maven.Release("RocketMQ's client by gRPC", folder, _GRPC_CLIENT, (), _LISTING))
