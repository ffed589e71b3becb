"""Whether a node of RabbitMQ answers in AMQP 0-9-1."""

from __future__ import annotations

import socket

from clusters.rabbitmq.connection import LAB, Login, host_and_port

_HEADER = b"AMQP\x00\x00\x09\x01"
_METHOD_FRAME = b"\x01"
"""Type of the first frame of the answer, which holds the method Connection.Start."""


def answers(address: str, timeout_s: float, login: Login = LAB) -> bool:
    """Return whether the node at this address begins a connection in time.

    Args:
        address: with or without a port.
        timeout_s: how long it may take.
        login: who connects; the connection may be encrypted.
    """
    host, port = host_and_port(address)
    context = login.context()
    try:
        with (
            socket.create_connection((host, port), timeout=timeout_s) as plain,
            context.wrap_socket(plain, server_hostname=host) if context is not None else plain as probe,
        ):
            probe.settimeout(timeout_s)
            probe.sendall(_HEADER)
            return probe.recv(1) == _METHOD_FRAME
    except OSError:
        return False
