"""One connection through a tap, on real sockets: what both ends get when one of them leaves."""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Callable, Iterator
from threading import Thread
from typing import Any

import pytest

from clusters.kafka.wire import MESSAGES, KafkaDecoder
from nemeses.wire.carried import Asked
from nemeses.wire.channel import Channel
from nemeses.wire.flow import Flow, Gate
from nemeses.wire.rules import REQUEST, RESPONSE, TapRules

BUFFER = 65_536
ANSWER = struct.pack(">ii", 4, 1)


def _pair(buffer: int = 0) -> tuple[socket.socket, socket.socket]:
    """Return two connected sockets, the first of which has a small receive buffer if one is given."""
    with socket.socket() as listener:
        caller = socket.socket()
        for end in (listener, caller) if buffer else ():
            end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        caller.connect(listener.getsockname())
        return caller, listener.accept()[0]


def request(name: str, correlation: int, size: int = 20) -> bytes:
    body = struct.pack(">hhih", MESSAGES.index(name), 0, correlation, 1) + b"c" + bytes(size)
    return struct.pack(">i", len(body)) + body


class Connection:
    """A channel with its client and its server, and what its flows have as gates."""

    def __init__(self, buffer: int = 0, **rule: Any) -> None:
        self.poll = select.epoll()
        self.client, inside = _pair(buffer)
        outside, self.server = _pair()
        self.gates: list[tuple[Flow, Gate]] = []
        self.finishing: list[Channel] = []
        rules, decoder, asked = TapRules(), KafkaDecoder(), Asked()
        if rule:
            rules.add("r", rule)
        flows = [
            Flow(
                of,
                decoder,
                asked,
                rules,
                gated=lambda flow, gate: self.gates.append((flow, gate)),
                seen=lambda _: None,
            )
            for of in (REQUEST, RESPONSE)
        ]
        self.channel = Channel(self.poll, (inside, outside), (flows[0], flows[1]), finishing=self.finishing.append)

    def close(self) -> None:
        self.channel.close()
        for end in (self.client, self.server, self.poll):
            end.close()

    def spin(self, until: Callable[[], bool] = lambda: False, at_most_s: float = 0.2) -> None:
        """Serve for a while, or until something is so."""
        end = time.monotonic() + at_most_s
        while time.monotonic() < end and not self.channel.closed and not until():
            for number, events in self.poll.poll(0.01):
                if not self.channel.closed:
                    self.channel.ready(number, events)

    def open(self) -> None:
        """Open all gates."""
        for flow, gate in self.gates:
            gate.open = True
            if not self.channel.closed:
                self.channel.send(flow)

    def received(self, end: socket.socket) -> tuple[int, str]:
        """Return how many bytes one end gets, while the tap serves, and how that ends."""
        got: list[Any] = [0, ""]

        def read() -> None:
            end.settimeout(2)
            try:
                while data := end.recv(1 << 20):
                    got[0] += len(data)
                got[1] = "end"
            except OSError as error:
                got[1] = type(error).__name__

        reader = Thread(target=read)
        reader.start()
        self.spin(lambda: not reader.is_alive(), 5)
        reader.join()
        return got[0], got[1]


Connect = Callable[..., Connection]


@pytest.fixture
def connect() -> Iterator[Connect]:
    made: list[Connection] = []

    def one(buffer: int = 0, **rule: Any) -> Connection:
        made.append(Connection(buffer, **rule))
        return made[-1]

    yield one
    for side in made:
        side.close()


@pytest.mark.parametrize("half_closed", [True, False])
@pytest.mark.parametrize("size", [800_000, 2_500_000])
def test_a_slow_client_gets_everything_from_a_server_that_leaves(
    connect: Connect, half_closed: bool, size: int
) -> None:
    connection = connect(BUFFER)
    connection.client.sendall(request("Fetch", 1))
    if half_closed:
        connection.client.shutdown(socket.SHUT_WR)
    connection.spin(lambda: bool(select.select([connection.server], [], [], 0)[0]), 5)
    connection.server.recv(100)
    body = struct.pack(">ii", size, 1) + bytes(size - 4)

    def write() -> None:
        connection.server.sendall(body)
        connection.server.close()

    writer = Thread(target=write)
    writer.start()
    connection.spin(at_most_s=0.5)

    assert connection.received(connection.client) == (len(body), "end")
    writer.join()


def test_a_request_is_whole_though_the_connection_closes_behind_it(connect: Connect) -> None:
    connection = connect(message="Produce", of=REQUEST, then="close-after")
    whole = request("Produce", 1, 5_000_000)
    client = connection.client

    def write() -> None:
        client.sendall(whole)
        client.recv(1)
        client.close()

    writer = Thread(target=write)
    writer.start()
    connection.spin(at_most_s=1)

    assert connection.received(connection.server) == (len(whole), "end")
    writer.join()


@pytest.mark.parametrize("answered", [True, False], ids=["answered meanwhile", "silent"])
def test_what_is_late_arrives_though_its_sender_has_left(connect: Connect, answered: bool) -> None:
    connection = connect(message="EndTxn", of=REQUEST, then="delay", argument=10**9)
    sent = request("Metadata", 1) + request("EndTxn", 2)
    connection.client.sendall(sent)
    connection.spin()
    connection.client.close()
    connection.spin()
    if answered:
        connection.server.sendall(ANSWER)
        connection.spin()

    connection.open()
    assert connection.received(connection.server) == (len(sent), "end")


def test_a_client_that_is_gone_with_nothing_under_way_resets_the_server(connect: Connect) -> None:
    connection = connect()
    connection.client.sendall(request("Metadata", 1))
    connection.spin()
    connection.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.client.close()

    assert connection.received(connection.server)[1] == "ConnectionResetError"
    assert connection.channel.closed


def test_an_end_that_nobody_can_act_upon_does_not_keep_the_tap_busy(connect: Connect) -> None:
    connection = connect(message="EndTxn", of=REQUEST, then="delay", argument=10**9)
    connection.client.sendall(request("EndTxn", 1))
    connection.client.shutdown(socket.SHUT_WR)
    connection.server.shutdown(socket.SHUT_WR)
    connection.spin()

    assert connection.poll.poll(0.05) == []
    assert not connection.channel.closed
