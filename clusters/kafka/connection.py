"""Connection settings and names shared by all of Kafka's clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

BOOTSTRAP = "bootstrap.servers"
CLIENT_ID = "client.id"
NAMESPACE = "chaoskit.namespace"
"""Client setting with the prefix of group names; not a setting of librdkafka."""

CLASSPATH = "chaoskit.classpath"
"""Client setting with the class path of Kafka's own client, if workloads use that; not a setting of librdkafka."""

SHARES_CLASSPATH = "chaoskit.shares.classpath"
"""Likewise, with the class path of its share consumer."""

BROKERS, STORE = "chaoskit.brokers", "chaoskit.store"
"""Client settings of a cluster with tiered storage, for the final read: its brokers, as they listen without a login,
and its object store; not settings of librdkafka."""

_OURS = (NAMESPACE, CLASSPATH, SHARES_CLASSPATH, BROKERS, STORE)
_GROUP = "chaoskit"

CONNECTION_DEFAULTS = {
    "log_level": 0,
    "reconnect.backoff.max.ms": 500,
    "socket.connection.setup.timeout.ms": 2000,
    "socket.timeout.ms": 10_000,
}
"""For every client: no logging, and fast reconnection."""


def group(namespace: str) -> str:
    """Return the name of the consumers' shared group, unless their settings specify another."""
    return f"{namespace}{_GROUP}"


def coordinated_id(namespace: str) -> str:
    """Return the transactional id that workloads assign to the first transactional producer."""
    return f"{namespace}chaoskit-0"


def librdkafka(connection: Mapping[str, Any]) -> dict[str, Any]:
    """Return the client settings of a cluster that are settings of librdkafka."""
    return {key: value for key, value in connection.items() if key not in _OURS}
