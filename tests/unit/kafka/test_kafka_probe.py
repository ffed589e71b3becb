"""A node answers, is silent, or is gone: told apart over a real socket."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from clusters.kafka.probe import answers

ADDRESS = "127.0.0.1"
Conversation = Callable[[socket.socket], None]


@contextmanager
def _server(talk: Conversation) -> Iterator[int]:
    """Serve one connection; yield the port."""
    with socket.create_server((ADDRESS, 0)) as listener:
        over = threading.Event()

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                talk(connection)
                over.wait(10)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            over.set()
            thread.join()


def _reply(correlation: int, length: int = 8) -> Conversation:
    def talk(connection: socket.socket) -> None:
        size, key, version, asked, client = struct.unpack(">ihhih", connection.recv(14))
        assert (size, key, version, client) == (10, 18, 0, -1)
        connection.sendall(struct.pack(">ii", 100, asked + correlation)[:length])

    return talk


def test_a_node_that_answers_is_alive() -> None:
    with _server(_reply(0)) as port:
        assert answers(ADDRESS, port, 5)


def test_a_node_that_accepts_and_is_silent_does_not_answer() -> None:
    with _server(lambda _: None) as port:
        assert not answers(ADDRESS, port, 0.1)


def test_a_node_that_hangs_up_does_not_answer() -> None:
    with _server(lambda connection: connection.shutdown(socket.SHUT_RDWR)) as port:
        assert not answers(ADDRESS, port, 5)


@pytest.mark.parametrize("talk", [_reply(1), _reply(0, length=6)])
def test_an_answer_to_another_question_is_none(talk: Conversation) -> None:
    with _server(talk) as port:
        assert not answers(ADDRESS, port, 0.2)


def test_a_port_that_nobody_listens_on_does_not_answer() -> None:
    with socket.create_server((ADDRESS, 0)) as listener:
        port = listener.getsockname()[1]

    assert not answers(ADDRESS, port, 5)


def test_a_paused_node_whose_kernel_accepts_does_not_answer() -> None:
    with socket.create_server((ADDRESS, 0)) as listener:
        assert not answers(ADDRESS, listener.getsockname()[1], 0.1)
