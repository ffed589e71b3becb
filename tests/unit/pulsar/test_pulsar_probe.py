"""A server answers, is silent, or is gone: told apart over a real socket."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from clusters.pulsar.deploy import probe
from clusters.storage import probe as storage_probe
from clusters.zookeeper import probe as zookeeper_probe

ADDRESS = "127.0.0.1"
PORTS = {
    "zookeeper": (zookeeper_probe, "ZOOKEEPER_PORT"),
    "bookie": (storage_probe, "BOOKIE_PORT"),
    "broker": (probe, "BROKER_PORT"),
}
"""The module that probes a service, and the name of its port there."""

Conversation = Callable[[socket.socket], None]


@contextmanager
def _server(monkeypatch: pytest.MonkeyPatch, service: str, talk: Conversation) -> Iterator[None]:
    """Serve one connection on the port of a service."""
    with socket.create_server((ADDRESS, 0)) as listener:
        monkeypatch.setattr(*PORTS[service], listener.getsockname()[1])
        over = threading.Event()

        def serve() -> None:
            connection, _ = listener.accept()
            with connection, suppress(OSError):  # who asks may have gone by then
                talk(connection)
                connection.shutdown(socket.SHUT_WR)
                over.wait(10)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def _zookeeper(connection: socket.socket) -> None:
    said = {b"ruok": b"imok", b"srvr": b"Zookeeper version: 3.9.3\nMode: follower\nNode count: 5\n"}
    connection.sendall(said[connection.recv(4)])


def _outside_quorum(connection: socket.socket) -> None:
    connection.recv(4)
    connection.sendall(b"This ZooKeeper instance is not currently serving requests\n")


def _bookie(connection: socket.socket) -> None:
    size, header, ledger, entry = struct.unpack(">iiqq", connection.recv(24))
    assert (size, header >> 24, header >> 16 & 0xFF) == (20, 2, 2)
    connection.sendall(struct.pack(">iiiqq", 24, header, 1, ledger, entry))


def _broker(connection: socket.socket) -> None:
    total, command = struct.unpack(">ii", connection.recv(8))
    request = connection.recv(command)
    assert total == command + 4
    assert request.startswith(b"\x08\x02\x12")
    connected = b"\x08\x03\x1a\x06\x0a\x04test"
    connection.sendall(struct.pack(">ii", len(connected) + 4, len(connected)) + connected)


def _error_of_broker(connection: socket.socket) -> None:
    connection.recv(64)
    error = b"\x08\x0e\x72\x02\x08\x00"
    connection.sendall(struct.pack(">ii", len(error) + 4, len(error)) + error)


def _http(connection: socket.socket) -> None:
    connection.recv(64)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def _silent(connection: socket.socket) -> None:
    connection.recv(64)


@pytest.mark.parametrize(
    ("service", "talk", "answered"),
    [
        ("zookeeper", _zookeeper, True),
        ("bookie", _bookie, True),
        ("broker", _broker, True),
        ("broker", _error_of_broker, False),
        ("zookeeper", _http, False),
        ("bookie", _http, False),
        ("broker", _http, False),
        ("zookeeper", _silent, False),
        ("bookie", _silent, False),
        ("broker", _silent, False),
    ],
)
def test_a_service_answers_in_its_own_protocol(
    monkeypatch: pytest.MonkeyPatch, service: str, talk: Conversation, answered: bool
) -> None:
    with _server(monkeypatch, service, talk):
        assert probe.answers(service, ADDRESS, 5) is answered


@pytest.mark.parametrize("service", PORTS)
def test_a_paused_service_whose_kernel_accepts_does_not_answer(monkeypatch: pytest.MonkeyPatch, service: str) -> None:
    with socket.create_server((ADDRESS, 0)) as listener:
        monkeypatch.setattr(*PORTS[service], listener.getsockname()[1])

        assert not probe.answers(service, ADDRESS, 0.1)


@pytest.mark.parametrize("service", PORTS)
def test_a_port_that_nobody_listens_on_does_not_answer(monkeypatch: pytest.MonkeyPatch, service: str) -> None:
    with socket.create_server((ADDRESS, 0)) as listener:
        monkeypatch.setattr(*PORTS[service], listener.getsockname()[1])

    assert not probe.answers(service, ADDRESS, 5)


@pytest.mark.parametrize(("talk", "mode"), [(_zookeeper, "follower"), (_outside_quorum, "")])
def test_a_zookeeper_server_says_what_it_is(monkeypatch: pytest.MonkeyPatch, talk: Conversation, mode: str) -> None:
    with _server(monkeypatch, "zookeeper", talk):
        assert zookeeper_probe.zookeeper_mode(ADDRESS, 5) == mode
