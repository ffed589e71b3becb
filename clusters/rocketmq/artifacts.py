"""RocketMQ's jars, by version number: those of its servers, which include the client of its own protocol."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from chaoskit.contract.systems.releasing import Tested
from clusters.common import maven
from clusters.common.newest import newest

_GROUP = "org.apache.rocketmq"
_BROKER = (_GROUP, "rocketmq-broker")

TESTED = Tested("5.2.0", "5.5.0", date(2026, 11, 29))

VERSION_MIN = (5, 1)
"""First supported release: 5.0 has no controller that elects masters without DLedger's commit log."""

_SERVERS = ("rocketmq-namesrv", "rocketmq-controller", "rocketmq-proxy")
_GRPC_CLIENT = (_GROUP, "rocketmq-client-java", "5.1.0")
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
    others = [(_GROUP, server, version) for server in _SERVERS]
    main = (*_BROKER, version)
    return maven.fetch(maven.Release("RocketMQ", f"rocketmq-{version}", main, others, _LISTING))


def fetch_grpc_client(version: str) -> Path:
    """Return the folder with the jars of the client by gRPC, for brokers of a release; see `fetch`."""
    folder = f"rocketmq-grpc-{_GRPC_CLIENT[2]}"
    return maven.fetch(maven.Release("RocketMQ's client by gRPC", folder, _GRPC_CLIENT, (), _LISTING))


def newest_release() -> str:
    """Return the newest stable release; see `clusters.common.newest.newest`."""
    return newest("RocketMQ", _BROKER, fetch)
