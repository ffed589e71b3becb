"""Requests in RocketMQ's remoting protocol, against a server that answers what it is told."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from chaoskit.contract.systems.service import ServiceError
from clusters.rocketmq.deploy import admin
from clusters.rocketmq.remoting import RocketRefused, ask


class _Server:
    """Answers each request with the same header and body, and keeps what it was asked."""

    def __init__(self, answer: bytes) -> None:
        self.asked: list[tuple[dict[str, Any], bytes]] = []
        self._answer = answer
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.where = self._listening.getsockname()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as received:
                (size,) = struct.unpack(">i", received.read(4))
                content = received.read(size)
                (header,) = struct.unpack_from(">i", content)
                self.asked.append((json.loads(content[4 : 4 + header]), content[4 + header :]))
                connection.sendall(struct.pack(">i", len(self._answer)) + self._answer)

    def close(self) -> None:
        self._listening.close()


def _framed(header: dict[str, Any], body: bytes = b"") -> bytes:
    packed = json.dumps(header).encode()
    return struct.pack(">i", len(packed)) + packed + body


@pytest.fixture
def served(request: pytest.FixtureRequest) -> Iterator[_Server]:
    server = _Server(request.param)
    yield server
    server.close()


@pytest.mark.parametrize("served", [_framed({"code": 0, "extFields": {"offset": "12"}}, b"{}")], indirect=True)
def test_a_request_has_its_code_and_its_fields_as_texts(served: _Server) -> None:
    answer = ask(served.where, 30, 1.0, {"topic": "t", "queueId": 3, "order": False}, b"body")

    header, body = served.asked[0]
    assert (header["code"], header["language"], body) == (30, "PYTHON", b"body")
    assert header["extFields"] == {"topic": "t", "queueId": "3", "order": "false"}
    assert (answer.fields, answer.body) == ({"offset": "12"}, b"{}")


@pytest.mark.parametrize("served", [_framed({"code": 17, "remark": "No topic"})], indirect=True)
def test_an_answer_with_an_error_is_told_with_its_code(served: _Server) -> None:
    with pytest.raises(RocketRefused, match="code 17: No topic") as refused:
        ask(served.where, 351, 1.0)
    assert refused.value.code == 17
    assert not admin.has_topic(served.where, "t", 1.0)


@pytest.mark.parametrize("served", [_framed({"code": 1, "remark": "broken"})], indirect=True)
def test_another_error_does_not_mean_that_there_is_no_such_topic(served: _Server) -> None:
    with pytest.raises(RocketRefused, match="broken"):
        admin.has_topic(served.where, "t", 1.0)


@pytest.mark.parametrize("served", [b"\0\0\0\4HTTP", struct.pack(">i", 2) + b"[]"], indirect=True)
def test_another_protocol_is_an_error(served: _Server) -> None:
    with pytest.raises(OSError, match="protocol"):
        ask(served.where, 1, 1.0)


_CLUSTER = b'{"brokerAddrTable":{"broker-0":{"brokerAddrs":{0:"10.0.0.1:10911",2:"10.0.0.3:10911"}}}}'


@pytest.mark.parametrize("served", [_framed({"code": 0}, _CLUSTER)], indirect=True)
def test_numbers_as_keys_are_read(served: _Server) -> None:
    assert admin.registered(served.where, 1.0) == {"10.0.0.1:10911", "10.0.0.3:10911"}


_COPIED = {
    "master": True,
    "haConnectionInfo": [{"addr": "/10.0.0.2:4242", "inSync": True}, {"addr": "/10.0.0.3:4243", "inSync": False}],
}


@pytest.mark.parametrize("served", [_framed({"code": 0}, json.dumps(_COPIED).encode())], indirect=True)
def test_only_slaves_that_keep_up_are_in_sync(served: _Server) -> None:
    assert admin.copying(served.where, 1.0) == admin.Copying(True, ("10.0.0.2",))


@pytest.mark.parametrize(
    ("behind", "in_sync", "slaves", "refused"),
    [
        (0, 1, [(True, 0), (False, 70)], False),
        (0, 0, [(False, 70)], False),
        (0, 1, [(True, -70)], False),
        (9, 1, [(True, 0)], True),
        (0, 1, [(True, 70), (False, 0)], True),
        (0, 2, [(True, 0)], True),
    ],
    ids=[
        "all in queues",
        "a slave that does not count",
        "a slave has more",
        "not dispatched",
        "a slave lacks some",
        "a slave is away",
    ],
)
def test_a_log_of_which_some_is_in_no_queue_yet_is_told(
    behind: int, in_sync: int, slaves: list[tuple[bool, int]], refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected = [{"inSync": keeps_up, "diff": lacks} for keeps_up, lacks in slaves]
    tables: dict[int, dict[str, Any]] = {28: {"table": {"dispatchBehindBytes": str(behind)}}}
    tables[907] = {"inSyncSlaveNums": in_sync, "haConnectionInfo": connected}
    monkeypatch.setattr(admin, "ask", lambda _, code, *__: SimpleNamespace(content=lambda: tables[code]))
    with pytest.raises(ServiceError, match="in no queue yet") if refused else nullcontext():
        admin.check_dispatched(("10.0.0.1", 10911), 1.0)


_ELECTED = {
    "replicasInfoTable": {
        "broker-0": {
            "masterAddress": "10.0.0.3:10911",
            "masterEpoch": 4,
            "inSyncReplicas": [{"brokerAddress": "10.0.0.3:10911"}, {"brokerAddress": "10.0.0.1:10911"}],
        }
    }
}


@pytest.mark.parametrize("served", [_framed({"code": 0}, json.dumps(_ELECTED).encode())], indirect=True)
def test_a_controller_tells_the_master_of_a_group_that_it_knows(served: _Server) -> None:
    assert admin.elected(served.where, "broker-0", 1.0) == admin.Elected("10.0.0.3", 4, ("10.0.0.3", "10.0.0.1"))
    assert admin.elected(served.where, "broker-1", 1.0) is None
    assert served.asked[0][1] == b'["broker-0"]'


@pytest.mark.parametrize(
    ("masters", "master"),
    [
        ({"b"}, "b"),
        ({"a", "b"}, "a"),
        (set(), "none of its brokers is a master"),
        ({"silent"}, "no answer from silent"),
    ],
)
def test_only_a_master_is_asked(monkeypatch: pytest.MonkeyPatch, masters: set[str], master: str) -> None:
    def ask(broker: admin.Server) -> str:
        if broker[0] == "silent":
            raise OSError("no answer from silent")
        return broker[0]

    monkeypatch.setattr(admin, "copying", lambda broker, _: SimpleNamespace(is_master=broker[0] in masters))
    brokers = [(name, 10911) for name in ("a", "b", "silent")]

    if master in masters:
        assert admin.ask_master(brokers, ask, 1.0) == master
    else:
        with pytest.raises(ServiceError, match=master):
            admin.ask_master(brokers, ask, 1.0)


@pytest.mark.parametrize(
    ("served", "known"),
    [(_framed({"code": 0}, b"{}"), True), (_framed({"code": 17, "remark": "no route"}), False)],
    indirect=["served"],
    ids=["routed", "no master yet"],
)
def test_a_topic_is_routed_once_a_master_has_it(served: _Server, known: bool) -> None:
    assert admin.is_routed(served.where, "chaoskit", 1) == known
    (asked, _), *_ = served.asked
    assert (asked["code"], asked["extFields"]) == (105, {"topic": "chaoskit"})


@pytest.mark.parametrize("served", [_framed({"code": 1, "remark": "not ready"})], indirect=True)
def test_a_name_server_that_is_not_ready_says_so(served: _Server) -> None:
    with pytest.raises(RocketRefused, match="not ready"):
        admin.is_routed(served.where, "chaoskit", 1)
