"""RabbitMQ's consumer says when nothing can have come for want of a connection, and does not wait for ever."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
from pika import frame, spec

from chaoskit.contract.clients.client import Unreachable
from chaoskit.model.outcome import NOT_CONNECTED
from clusters.rabbitmq.clients import consumer as module
from clusters.rabbitmq.clients.consumer import RabbitConsumer
from clusters.rabbitmq.connection import Addresses

ANSWERS = {
    spec.Connection.StartOk: spec.Connection.Tune(channel_max=10, frame_max=131_072, heartbeat=5),
    spec.Connection.Open: spec.Connection.OpenOk(),
    spec.Channel.Open: spec.Channel.OpenOk(),
    spec.Basic.Qos: spec.Basic.QosOk(),
}


def _serve(peer: socket.socket) -> None:
    """Answer what a client asks until it consumes, and nothing from then on."""
    start = spec.Connection.Start(server_properties={}, mechanisms="PLAIN", locales="en_US")
    peer.recv(8)
    peer.sendall(frame.Method(0, start).marshal())
    received = b""
    while chunk := peer.recv(4096):
        received += chunk
        size, asked = frame.decode_frame(received)
        while asked is not None:
            received = received[size:]
            if isinstance(asked, frame.Method) and type(asked.method) in ANSWERS:
                peer.sendall(frame.Method(asked.channel_number, ANSWERS[type(asked.method)]).marshal())
            size, asked = frame.decode_frame(received)


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a node that never answers who consumes, or asks for a queue."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            peer, _ = server.accept()
            with peer:
                _serve(peer)

        threading.Thread(target=accept, daemon=True).start()
        host, port = server.getsockname()
        yield f"{host}:{port}"


def _consumer(address: str, *queues: str) -> RabbitConsumer:
    consumer = RabbitConsumer({}, Addresses([address], 0), prefetch=1)
    consumer.consume(queues)
    return consumer


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        host, port = server.getsockname()

    assert _consumer(f"{host}:{port}", "orders").poll(0.1, 1) == ([], NOT_CONNECTED)


def test_a_node_that_does_not_answer_is_left(silent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ANSWERED_S", 0.2)
    messages, error = _consumer(silent, "orders").poll(0.1, 1)

    assert not messages
    assert error not in (None, NOT_CONNECTED)  # something may have been sent to it


def test_a_node_that_does_not_say_what_is_left_is_unreachable(silent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ANSWERED_S", 0.2)

    with pytest.raises(Unreachable):
        _consumer(silent).left("orders")
