"""Whether a node of RabbitMQ answers in AMQP 0-9-1."""

from __future__ import annotations

import socket

from clusters.rabbitmq.settings import AMQP_PORT

_HEADER = b"AMQP\x00\x00\x09\x01"
_METHOD_FRAME = b"\x01"
"""Type of the first frame of the answer, which holds the method Connection.Start."""


def answers(address: str, timeout_s: float) -> bool:
    """Return whether the node at this address begins a connection in time."""
    try:
        with socket.create_connection((address, AMQP_PORT), timeout=timeout_s) as probe:
            probe.settimeout(timeout_s)
            probe.sendall(_HEADER)
            return probe.recv(1) == _METHOD_FRAME
    except OSError:
        return False
