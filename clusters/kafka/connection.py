"""What all of Kafka's clients share: how they connect, and under which names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

BOOTSTRAP = "bootstrap.servers"
NAMESPACE = "chaoskit.namespace"
"""Of what a cluster tells its clients: what their groups' names begin with; not a setting of librdkafka."""

_GROUP = "chaoskit"

CONNECTION_DEFAULTS = {
    "log_level": 0,
    "reconnect.backoff.max.ms": 500,
    "socket.connection.setup.timeout.ms": 2000,
    "socket.timeout.ms": 10_000,
}
"""For every client: no log of its own, and back soon when a broker is."""


def group(namespace: str) -> str:
    """Return the name of the group that consumers share, unless their settings name another."""
    return f"{namespace}{_GROUP}"


def coordinated_id(namespace: str) -> str:
    """Return the transactional id of the first producer that writes in transactions, as workloads name it."""
    return f"{namespace}chaoskit-0"


def librdkafka(connection: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of librdkafka among those that a cluster tells its clients."""
    return {key: value for key, value in connection.items() if key != NAMESPACE}
