"""A node answers, is silent, or is gone: told apart over a real socket."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from clusters.kafka.deploy.probe import (
    UNKNOWN_TOPIC,
    PartitionState,
    answers,
    features,
    local_start,
    open_since,
    partition_states,
    share_members,
    share_offsets,
    transactions,
)
from clusters.kafka.deploy.requests import Refused

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
        connection.sendall(struct.pack(">ii", 4, asked + correlation)[:length])

    return talk


def test_a_node_that_answers_is_alive() -> None:
    with _server(_reply(0)) as port:
        assert answers(ADDRESS, port, 5)


def test_partition_states_are_read_from_a_metadata_response() -> None:
    def text(content: str) -> bytes:
        return struct.pack(">h", len(content)) + content.encode()

    def numbers(*values: int) -> bytes:
        return struct.pack(f">i{len(values)}i", len(values), *values)

    brokers = b"".join(struct.pack(">i", node) + text("10.0.0.1") + struct.pack(">ih", 9092, -1) for node in (1, 2))
    partitions = b"".join(
        struct.pack(">hiii", 0, number, 2, 7) + numbers(2, 1, 3) + numbers(2, 1) + numbers(3) for number in (0, 1)
    )
    topic = struct.pack(">h", 0) + text("log-0") + b"\0" + struct.pack(">i", 2) + partitions
    body = struct.pack(">iii", 1, 0, 2) + brokers + text("cluster") + struct.pack(">ii", 1, 1) + topic

    def talk(connection: socket.socket) -> None:
        (size,) = struct.unpack(">i", connection.recv(4))
        request = connection.recv(size)
        assert struct.unpack_from(">hhih", request) == (3, 7, 1, -1)
        assert request[10:] == struct.pack(">i", 1) + text("log-0") + b"\0"
        connection.sendall(struct.pack(">i", len(body)) + body)

    with _server(talk) as port:
        states = partition_states(ADDRESS, port, "log-0", 5)

    state = PartitionState(epoch=7, leader=2, replicas=(2, 1, 3), isr=(2, 1))
    assert states == {0: state, 1: state}


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


def test_levels_of_features_are_read_from_the_tags_of_a_response() -> None:
    def text(content: str) -> bytes:
        return bytes([len(content) + 1]) + content.encode()

    def levels(**known: int) -> bytes:
        rows = [
            text(name.replace("_", ".")) + struct.pack(">hh", level, level) + b"\0" for name, level in known.items()
        ]
        return bytes([len(known) + 1]) + b"".join(rows)

    def tagged(*fields: tuple[int, bytes]) -> bytes:
        return bytes([len(fields)]) + b"".join(bytes([tag, len(content)]) + content for tag, content in fields)

    def talk(connection: socket.socket) -> None:
        asked = connection.recv(100)
        (correlation,) = struct.unpack_from(">i", asked, 8)
        keys = b"\x02" + struct.pack(">hhh", 18, 0, 4) + b"\0"
        answer = levels(kraft_version=1, eligible_leader_replicas_version=1)
        tags = tagged((0, levels(kraft_version=1)), (1, struct.pack(">q", 7)), (2, answer))
        content = struct.pack(">ih", correlation, 0) + keys + struct.pack(">i", 0) + tags
        connection.sendall(struct.pack(">i", len(content)) + content)

    with _server(talk) as port:
        assert features(ADDRESS, port, 5) == {"kraft.version": 1, "eligible.leader.replicas.version": 1}


def _compact(content: str) -> bytes:
    return bytes([len(content) + 1]) + content.encode()


def _flexible(api: tuple[int, int], body: bytes) -> Conversation:
    """Answer a request with tagged fields."""

    def talk(connection: socket.socket) -> None:
        asked = connection.recv(200)
        key, version, correlation = struct.unpack_from(">hhi", asked, 4)
        assert (key, version) == api
        content = struct.pack(">i", correlation) + b"\0" + struct.pack(">i", 0) + body
        connection.sendall(struct.pack(">i", len(content)) + content)

    return talk


def _offsets(lag: int, *, of_partition: int = 0, of_group: int = 0) -> bytes:
    partition = struct.pack(">iqiqh", 0, 17, 3, lag, of_partition) + b"\0\0"
    topic = _compact("queue-0") + bytes(range(16)) + b"\x02" + partition + b"\0"
    return b"\x02" + _compact("orders") + b"\x02" + topic + struct.pack(">h", of_group) + b"\0\0\0"


def test_what_a_share_group_has_not_settled_is_read() -> None:
    with _server(_flexible((90, 1), _offsets(12))) as port:
        assert share_offsets(ADDRESS, port, "orders", "queue-0", 5) == ("AAECAwQFBgcICQoLDA0ODw", 12)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (_offsets(0, of_partition=UNKNOWN_TOPIC), UNKNOWN_TOPIC),
        (_offsets(0, of_group=16), 16),
    ],
)
def test_a_broker_that_does_not_tell_is_not_one_that_has_nothing_left(answer: bytes, code: int) -> None:
    with _server(_flexible((90, 1), answer)) as port, pytest.raises(Refused) as refused:
        share_offsets(ADDRESS, port, "orders", "queue-0", 5)

    assert refused.value.code == code


def test_the_members_of_a_share_group_are_counted() -> None:
    names = b"\0" + _compact("orders") + _compact("Stable")
    body = b"\x02" + struct.pack(">h", 0) + names + struct.pack(">ii", 4, 4) + _compact("simple") + b"\x03"

    with _server(_flexible((77, 1), body)) as port:
        assert share_members(ADDRESS, port, "orders", 5) == 2


def _started(error: int) -> bytes:
    partition = struct.pack(">ihqqi", 3, error, -1, 4_200, 5) + b"\0"
    return b"\x02" + _compact("log-0") + b"\x02" + partition + b"\0\0"


def test_what_a_leader_has_itself_is_read() -> None:
    with _server(_flexible((2, 9), _started(0))) as port:
        assert local_start(ADDRESS, port, ("log-0", 3), 5) == 4_200


def test_who_does_not_lead_does_not_tell_what_is_local() -> None:
    not_leader = 6
    with _server(_flexible((2, 9), _started(not_leader))) as port, pytest.raises(Refused) as refused:
        local_start(ADDRESS, port, ("log-0", 3), 5)

    assert refused.value.code == not_leader


def _listed(states: dict[str, str], error: int = 0) -> bytes:
    listed = b"".join(_compact(name) + struct.pack(">q", 7) + _compact(state) + b"\0" for name, state in states.items())
    return struct.pack(">h", error) + b"\x01" + bytes([len(states) + 1]) + listed + b"\0"


def test_the_transactions_that_a_broker_coordinates_are_read() -> None:
    states = {"pay-0": "Ongoing", "pay-1": "CompleteCommit"}

    with _server(_flexible((66, 0), _listed(states))) as port:
        assert transactions(ADDRESS, port, 5) == {name: (7, state) for name, state in states.items()}


def test_the_open_transactions_of_a_leader_are_read() -> None:
    def producer(number: int, begin: int) -> bytes:
        return struct.pack(">qiiqiq", number, 0, 12, 1_700_000_000_000, 3, begin) + b"\0"

    led = struct.pack(">ih", 0, 0) + b"\0" + b"\x03" + producer(1000, -1) + producer(2000, 4_711) + b"\0"
    not_led = struct.pack(">ih", 1, 6) + b"\0" + b"\x01" + b"\0"
    topics = b"\x02" + _compact("log-0") + b"\x03" + led + not_led + b"\0\0"

    with _server(_flexible((61, 0), topics)) as port:
        assert open_since(ADDRESS, port, [("log-0", 0), ("log-0", 1)], 5) == {("log-0", 0): [(2000, 4_711)]}


def test_a_broker_that_still_loads_transactions_says_so() -> None:
    with _server(_flexible((66, 0), _listed({}, error=14))) as port, pytest.raises(Refused):
        transactions(ADDRESS, port, 5)
