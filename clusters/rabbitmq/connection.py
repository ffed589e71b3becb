"""Connection settings shared by RabbitMQ's clients."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import pika
import pika.exceptions

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


@contextmanager
def answered(connection: pika.BlockingConnection, within_s: float) -> Iterator[None]:
    """End the connection if what is asked meanwhile is not answered in time; then it raises an `AMQPError`.

    A node whose queue hangs answers heartbeats, and nothing else; pika waits for ever.
    """
    error = pika.exceptions.ConnectionBlockedTimeout(f"no answer within {within_s:g} s")
    loop = connection._impl.ioloop
    timer = loop.call_later(within_s, lambda: connection._impl._terminate_stream(error))
    try:
        yield
    finally:
        loop.remove_timeout(timer)


ADDRESSES, ROUTES, LOGIN, CLIENTS = "addresses", "routes", "login", "clients"
"""What clients are told: the nodes, how messages get to queues, `cluster.clients`, and, unless it is a lab,
`cluster.attach`."""


class Login(NamedTuple):
    """Who connects, and how.

    Attributes:
        user, password, vhost: as for the node.
        tls: whether the connection is encrypted.
        ca: file of the authority that signed the nodes' certificates; empty: those that the machine trusts.
    """

    user: str = USER
    password: str = PASSWORD
    vhost: str = "/"
    tls: bool = False
    ca: str = ""

    def context(self) -> ssl.SSLContext | None:
        """Return the context of an encrypted connection; None if it is plain."""
        return _trusting(self.ca) if self.tls else None


@cache
def _trusting(ca: str) -> ssl.SSLContext:
    """Return a context that is used for all connections: making one reads the certificates of authorities."""
    return ssl.create_default_context(cafile=ca or None)


LAB = Login()
"""The user that every node of a lab has."""


def host_and_port(address: str) -> tuple[str, int]:
    """Return the parts of `host:port`; without a port it is AMQP's."""
    host, _, port = address.rpartition(":")
    return (host, int(port)) if host else (address, AMQP_PORT)


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
        addresses: addresses of all nodes, with or without a port.
        index: number of the client, which decides where it begins.
        login: who connects.
    """

    def __init__(self, addresses: list[str], index: int, login: Login = LAB) -> None:
        self._login = login
        first = index % len(addresses)
        self._addresses = addresses[first:] + addresses[:first]
        self._tried = 0

    def next(self) -> str:
        """Return the address of the node to try next."""
        address = self._addresses[self._tried % len(self._addresses)]
        self._tried += 1
        return address

    def parameters(self, settings: Mapping[str, Any]) -> pika.ConnectionParameters:
        """Return pika's parameters for the node to try next."""
        host, port = host_and_port(self.next())
        context, login = self._login.context(), self._login
        return pika.ConnectionParameters(
            host,
            port,
            login.vhost,
            pika.PlainCredentials(login.user, login.password),
            ssl_options=None if context is None else pika.SSLOptions(context, host),
            **{**_DEFAULTS, **settings},
        )
