"""RabbitMQ's consumer says when nothing can have come for want of a connection, and does not wait for ever."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

import pytest
from pika import amqp_object, frame, spec

from chaoskit.contract.clients.client import Unreachable
from chaoskit.contract.clients.queue import NoQueue
from chaoskit.model.outcome import NOT_CONNECTED
from clusters.rabbitmq.clients import consumer as module
from clusters.rabbitmq.clients.consumer import RabbitConsumer
from clusters.rabbitmq.connection import Addresses

ANSWERS = {
    spec.Connection.StartOk: spec.Connection.Tune(channel_max=10, frame_max=131_072, heartbeat=5),
    spec.Connection.Open: spec.Connection.OpenOk(),
    spec.Connection.Close: spec.Connection.CloseOk(),
    spec.Channel.Open: spec.Channel.OpenOk(),
    spec.Channel.Close: spec.Channel.CloseOk(),
    spec.Basic.Qos: spec.Basic.QosOk(),
}


GONE = {"orders": "NOT_FOUND - no queue 'orders' in vhost '/'"}
DOWN = {"orders": "NOT_FOUND - home node 'rabbit@n1' of durable queue 'orders' in vhost '/' is down or inaccessible"}


def _answer(asked: amqp_object.Method, refused: Mapping[str, str] | None) -> amqp_object.Method | None:
    """Return the answer to what a client asks; `refused`: why which queues are refused; None: of queues, nothing."""
    if type(asked) in ANSWERS:
        return ANSWERS[type(asked)]
    if isinstance(asked, spec.Basic.Cancel):
        return spec.Basic.CancelOk(asked.consumer_tag)
    if refused is None or not isinstance(asked, spec.Basic.Consume | spec.Queue.Declare):
        return None
    if asked.queue in refused:
        return spec.Channel.Close(404, refused[asked.queue], 60, 20)
    if isinstance(asked, spec.Queue.Declare):
        return spec.Queue.DeclareOk(asked.queue, 0, 1)
    return spec.Basic.ConsumeOk(asked.consumer_tag)


def _serve(peer: socket.socket, refused: Mapping[str, str] | None) -> None:
    """Answer what a client asks; see `_answer`."""
    start = spec.Connection.Start(server_properties={}, mechanisms="PLAIN", locales="en_US")
    peer.recv(8)
    peer.sendall(frame.Method(0, start).marshal())
    received = b""
    while chunk := peer.recv(4096):
        received += chunk
        size, asked = frame.decode_frame(received)
        while asked is not None:
            received = received[size:]
            answer = _answer(asked.method, refused) if isinstance(asked, frame.Method) else None
            if answer is not None:
                peer.sendall(frame.Method(asked.channel_number, answer).marshal())
            size, asked = frame.decode_frame(received)


@contextmanager
def _node(refused: Mapping[str, str] | None) -> Iterator[str]:
    """Yield the address of a node that answers as `_answer` says."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    peer, _ = server.accept()
                    threading.Thread(target=_attend, args=(peer, refused), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        host, port = server.getsockname()
        yield f"{host}:{port}"


def _attend(peer: socket.socket, refused: Mapping[str, str] | None) -> None:
    with peer, suppress(OSError):
        _serve(peer, refused)


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a node that never answers who consumes, or asks for a queue."""
    with _node(None) as address:
        yield address


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


@pytest.mark.parametrize(("refused", "raised"), [(GONE, NoQueue), (DOWN, Unreachable)])
def test_a_queue_that_is_gone_is_told_from_one_whose_node_is_down(
    refused: Mapping[str, str], raised: type[Unreachable]
) -> None:
    with _node(refused) as address:
        consumer = _consumer(address)
        with pytest.raises(Unreachable) as error:
            consumer.left("orders")
        still_connected = consumer._channel is not None
        consumer.close()

    assert (error.type, still_connected) == (raised, raised is NoQueue)


@pytest.mark.parametrize(("refused", "receives"), [(GONE, True), (DOWN, False)])
def test_other_queues_are_received_from_when_one_is_gone(
    refused: Mapping[str, str], receives: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "AGAIN_S", 0.0)
    with _node(refused) as address:
        consumer = _consumer(address, "orders", "payments")
        first, again = (consumer.poll(0.1, 1)[1] for _ in range(2))
        queues = set(consumer._queue_of.values())
        consumer.close()

    assert first == "ChannelClosedByBroker"
    assert (again, queues) == ((None, {"payments"}) if receives else (first, set()))
