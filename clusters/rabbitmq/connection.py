"""Connection settings shared by RabbitMQ's clients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pika

from chaoskit.base.errors import BadInput, Problems, nearest
from clusters.rabbitmq.settings import AMQP_PORT, PASSWORD, USER

_DEFAULTS: dict[str, Any] = {
    "heartbeat": 5,
    "socket_timeout": 2,
    "stack_timeout": 4,
    "blocked_connection_timeout": 20,
    "connection_attempts": 1,
}
"""pika's parameters of a connection. A lost connection is noticed within seconds."""

AGAIN_S = 0.2
"""Time between two attempts to connect."""


def parameters(settings: Mapping[str, Any], address: str) -> pika.ConnectionParameters:
    """Return pika's parameters for a node."""
    credentials = pika.PlainCredentials(USER, PASSWORD)
    return pika.ConnectionParameters(address, AMQP_PORT, credentials=credentials, **{**_DEFAULTS, **settings})


def check_settings(role: str, settings: Mapping[str, Any]) -> None:
    """Reject settings of queues' clients that pika does not have.

    Raises:
        BadInput: names each.
    """
    check_each(role, settings, _DEFAULTS, "pika", _rejected)


def check_each(
    role: str,
    settings: Mapping[str, Any],
    known: Mapping[str, Any],
    library: str,
    wrong: Callable[[str, Any], str],
) -> None:
    """Reject settings that are not known, or of which `wrong` returns what is wrong with their value.

    Raises:
        BadInput: names each.
    """
    problems = Problems()
    for name, value in settings.items():
        why = (
            wrong(name, value)
            if name in known
            else f"chaoskit sets no such parameter of {library}'s connections; {nearest(name, known)}"
        )
        if why:
            problems.add(BadInput(f"workload.{role}.{name}: {why}"))
    problems.raise_any()


def _rejected(name: str, value: Any) -> str:
    try:
        pika.ConnectionParameters(**{name: value})
    except (TypeError, ValueError) as error:
        return f"rejected by pika: {error}"
    return ""


class Addresses:
    """The nodes that a client tries one after the other.

    Args:
        addresses: addresses of all nodes.
        index: number of the client, which decides where it begins.
    """

    def __init__(self, addresses: list[str], index: int) -> None:
        first = index % len(addresses)
        self._addresses = addresses[first:] + addresses[:first]
        self._tried = 0

    def next(self) -> str:
        """Return the node to try next."""
        address = self._addresses[self._tried % len(self._addresses)]
        self._tried += 1
        return address
