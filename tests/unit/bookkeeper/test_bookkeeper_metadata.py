"""The newest open ledger and its ensemble, from a ZooKeeper server that speaks its protocol over a real socket."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from chaoskit.contract.systems.service import ServiceError
from clusters.bookkeeper.options import BookKeeperOptions
from clusters.bookkeeper.roles import BookKeeperRoles
from clusters.storage import metadata
from clusters.zookeeper import server as zookeeper_server

ADDRESS = "127.0.0.1"
OPEN, IN_RECOVERY, CLOSED = 1, 2, 3
PING, CLOSE = 11, -11


def _field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return bytes([number << 3, value])
    return bytes([number << 3 | 2, len(value)]) + value


def ledger(state: int, *ensembles: list[str]) -> bytes:
    """The metadata of a ledger, as BookKeeper 4.17 writes it."""
    segments = [
        b"".join(_field(1, f"{bookie}:3181".encode()) for bookie in ensemble) + _field(2, first)
        for first, ensemble in enumerate(ensembles)
    ]
    message = _field(1, 3) + _field(2, 3) + _field(3, 0) + _field(5, state)
    message += b"".join(_field(6, segment) for segment in segments) + _field(7, 3)
    return b"BookieMetadataFormatVersion\t3\n" + bytes([len(message) & 0x7F | 0x80, len(message) >> 7]) + message


class Server:
    """A ZooKeeper server that has a few nodes."""

    def __init__(self, nodes: dict[str, bytes]) -> None:
        self.nodes = nodes
        self.listener = socket.create_server((ADDRESS, 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                self._talk(connection)

    def _talk(self, connection: socket.socket) -> None:
        assert len(_frame(connection) or b"") in (44, 45)
        _send(connection, struct.pack(">iiqi16xb", 0, 5000, 1, 16, 0))
        while request := _frame(connection):
            xid, operation = struct.unpack_from(">ii", request)
            head = struct.pack(">iq", xid, 9)
            if operation in (PING, CLOSE):
                _send(connection, head + struct.pack(">i", 0))
                continue
            (size,) = struct.unpack_from(">i", request, 8)
            path = request[12 : 12 + size].decode()
            below = sorted(
                {node[len(path) + 1 :].partition("/")[0] for node in self.nodes if node.startswith(path + "/")}
            )
            if operation == 4 and path in self.nodes:
                content = self.nodes[path]
                _send(connection, head + struct.pack(">ii", 0, len(content)) + content + bytes(68))
            elif operation == 8 and below:
                names = b"".join(struct.pack(">i", len(name)) + name.encode() for name in below)
                _send(connection, head + struct.pack(">ii", 0, len(below)) + names)
            else:
                _send(connection, head + struct.pack(">i", -101))


def _send(connection: socket.socket, content: bytes) -> None:
    connection.sendall(struct.pack(">i", len(content)) + content)


def _frame(connection: socket.socket) -> bytes | None:
    head = connection.recv(4, socket.MSG_WAITALL)
    return connection.recv(struct.unpack(">i", head)[0], socket.MSG_WAITALL) if head else None


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, bytes]]:
    content = {"/ledgers/available/x": b"", "/ledgers/INSTANCEID": b"", "/ledgers/idgen/ID-1": b""}
    server = Server(content)
    monkeypatch.setattr(zookeeper_server, "ZOOKEEPER_PORT", server.port)
    yield content
    server.close()


def test_the_newest_open_ledger_is_found_with_its_last_ensemble(nodes: dict[str, bytes]) -> None:
    nodes["/ledgers/00/0000/L0007"] = ledger(OPEN, ["a", "b", "c"])
    nodes["/ledgers/00/0001/L0012"] = ledger(OPEN, ["a", "b", "c"], ["a", "d", "c"])
    nodes["/ledgers/00/0001/L0013"] = ledger(IN_RECOVERY, ["x"])
    nodes["/ledgers/00/0001/L0100"] = ledger(CLOSED, ["x"])

    assert metadata.newest_open([ADDRESS]) == (10012, ["a", "d", "c"])


def test_a_server_that_is_gone_is_passed_over(nodes: dict[str, bytes]) -> None:
    nodes["/ledgers/00/0000/L0000"] = ledger(OPEN, ["a"])

    assert metadata.newest_open(["127.0.0.2", ADDRESS]) == (0, ["a"])


def test_the_next_ledger_is_above_all_that_there_are(nodes: dict[str, bytes]) -> None:
    assert metadata.next_ledger([ADDRESS]) == 0
    nodes["/ledgers/00/0000/L0007"] = ledger(OPEN, ["a"])
    nodes["/ledgers/00/0001/L0100"] = ledger(CLOSED, ["a"])

    assert metadata.next_ledger([ADDRESS]) == 10101


def test_without_an_open_ledger_nobody_holds_a_role(nodes: dict[str, bytes]) -> None:
    nodes["/ledgers/00/0000/L0000"] = ledger(CLOSED, ["a"])

    with pytest.raises(ServiceError, match="no ledger is open for writing"):
        metadata.newest_open([ADDRESS])


def test_without_a_server_nothing_is_known(nodes: dict[str, bytes]) -> None:
    with pytest.raises(ServiceError, match="no ZooKeeper server serves"):
        metadata.newest_open(["127.0.0.2"])


class FakeHost:
    """A host with a name and an address."""

    def __init__(self, index: int) -> None:
        self.name, self.address = f"n{index}", f"10.0.0.{index}"


@pytest.mark.parametrize(
    ("role", "names"),
    [
        ("ensemble", ("n3", "n2")),
        ("outside", ("n4",)),
        ("zookeepers", ("n1",)),
        ("bookies", ("n2", "n3", "n4")),
    ],
)
def test_a_role_is_held_by(monkeypatch: pytest.MonkeyPatch, role: str, names: tuple[str, ...]) -> None:
    monkeypatch.setattr(metadata, "newest_open", lambda *_: (7, ["10.0.0.3", "10.0.0.2"]))
    hosts: Any = [FakeHost(index) for index in range(1, 5)]
    options = BookKeeperOptions.model_validate({"roles": {"zookeepers": 1, "bookies": 3}})

    assert BookKeeperRoles(hosts, options.place(4)).find(role, None) == names


def test_all_bookies_in_the_ensemble_leave_none_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "newest_open", lambda *_: (7, ["10.0.0.1", "10.0.0.2"]))
    hosts: Any = [FakeHost(index) for index in range(1, 3)]

    with pytest.raises(ServiceError, match=r"every bookie is in the ensemble of ledger 7: add one \(cluster\.hosts\)"):
        BookKeeperRoles(hosts, BookKeeperOptions().place(2)).find("outside", None)
