"""RabbitMQ's consumer says when there was no connection on which anything could have come."""

from __future__ import annotations

import socket

from chaoskit.model.outcome import NOT_CONNECTED
from clusters.rabbitmq.clients.consumer import RabbitConsumer
from clusters.rabbitmq.connection import Addresses


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        host, port = server.getsockname()
    consumer = RabbitConsumer({}, Addresses([f"{host}:{port}"], 0), prefetch=1)
    consumer.consume(["orders"])

    assert consumer.poll(0.1, 1) == ([], NOT_CONNECTED)
