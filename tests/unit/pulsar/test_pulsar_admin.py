"""Brokers are asked over HTTP, one after the other; what they say of a topic is read."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from chaoskit.contract.systems.service import ServiceError
from clusters.pulsar.deploy import admin
from clusters.pulsar.deploy.admin import Admin, PulsarRefused, ledger_entries, topic_state

ADDRESS = "127.0.0.1"
NOBODY = "127.0.0.2"


@contextmanager
def _broker(monkeypatch: pytest.MonkeyPatch, status: int, content: Any) -> Iterator[list[tuple[str, str, bytes]]]:
    """Answer every request so; yield what was asked."""
    asked: list[tuple[str, str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked.append((self.command, self.path, body))
            written = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(written)))
            self.end_headers()
            self.wfile.write(written)

        do_PUT = do_POST = do_DELETE = do_GET  # noqa: N815

        def log_message(self, *words: Any) -> None:
            """Say nothing."""

    server = HTTPServer((ADDRESS, 0), Handler)
    monkeypatch.setattr(admin, "WEB_PORT", server.server_port)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_subscription_begins_with_the_first_message(monkeypatch: pytest.MonkeyPatch) -> None:
    with _broker(monkeypatch, 204, b"") as asked:
        Admin([ADDRESS]).create_subscription("queue-0", 0, "s")

    ((method, path, body),) = asked
    assert (method, path) == ("PUT", "/admin/v2/persistent/public/default/queue-0-partition-0/subscription/s")
    assert json.loads(body) == {"ledgerId": -1, "entryId": -1, "partitionIndex": -1}


def test_a_subscription_that_exists_need_not_be_created(monkeypatch: pytest.MonkeyPatch) -> None:
    with _broker(monkeypatch, 409, {"reason": "exists"}):
        Admin([ADDRESS]).create_subscription("queue-0", 0, "s")
    with _broker(monkeypatch, 500, {"reason": "no"}), pytest.raises(PulsarRefused, match="no"):
        Admin([ADDRESS]).create_subscription("queue-0", 0, "s")


def test_the_backlog_of_a_subscription_is_told_with_its_consumers(monkeypatch: pytest.MonkeyPatch) -> None:
    stats = {"subscriptions": {"s": {"msgBacklog": 7, "consumers": [{}, {}]}}}
    with _broker(monkeypatch, 200, stats) as asked:
        assert Admin([ADDRESS]).backlog("queue-0", 0, "s", 1) == (7, 2)
        with pytest.raises(ServiceError, match="queue-0/0 has no subscription other"):
            Admin([ADDRESS]).backlog("queue-0", 0, "other", 1)

    path = "/admin/v2/persistent/public/default/queue-0-partition-0/stats?getPreciseBacklog=true"
    assert asked[0][:2] == ("GET", path)


def test_a_topic_is_created_with_its_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    with _broker(monkeypatch, 204, b"") as asked:
        Admin([ADDRESS]).create_topic("log-0", 3)

    assert asked == [("PUT", "/admin/v2/persistent/public/default/log-0/partitions", b"3")]


def test_a_policy_is_set_by_its_path(monkeypatch: pytest.MonkeyPatch) -> None:
    with _broker(monkeypatch, 204, b"") as asked:
        Admin([ADDRESS]).set_policy("retention", {"retentionSizeInMB": 5})

    assert asked == [("POST", "/admin/v2/namespaces/public/default/retention", b'{"retentionSizeInMB": 5}')]


def test_a_topic_is_deleted_with_its_subscriptions(monkeypatch: pytest.MonkeyPatch) -> None:
    with _broker(monkeypatch, 204, b"") as asked:
        Admin([ADDRESS]).delete_topic("log-0")

    assert asked == [("DELETE", "/admin/v2/persistent/public/default/log-0/partitions?force=true", b"")]


def test_a_topic_that_is_gone_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with _broker(monkeypatch, 404, {"reason": "Topic not found"}):
        Admin([ADDRESS]).delete_topic("log-0")


def test_a_topic_that_exists_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with _broker(monkeypatch, 409, {"reason": "This topic already exists"}):
        Admin([ADDRESS]).create_topic("log-0", 3)


_UNEXPECTED = (
    b"\n --- An unexpected error ---\n\nMessage: no bookies -6\n\nStacktrace:\n\na.B: no\n\tat a.B.c(B.java:1)"
)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"reason": "bad name"}, "bad name"),
        (b"<html>", "<html>"),
        (_UNEXPECTED, "no bookies -6$"),
        ({"reason": _UNEXPECTED.decode()}, "no bookies -6$"),
    ],
)
def test_a_refusal_says_why(monkeypatch: pytest.MonkeyPatch, content: Any, reason: str) -> None:
    with _broker(monkeypatch, 412, content), pytest.raises(PulsarRefused, match=f"status 412: {reason}") as refused:
        Admin([ADDRESS]).create_topic("log-0", 3)

    assert refused.value.status == 412


def test_another_broker_is_asked_when_one_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with _broker(monkeypatch, 200, {"serviceUrl": f"http://{ADDRESS}:8080"}):
        assert Admin([NOBODY, ADDRESS]).load_manager_leader(1) == ADDRESS


def test_no_broker_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "WEB_PORT", 1)

    with pytest.raises(ServiceError, match=f"broker {ADDRESS} does not answer"):
        Admin([ADDRESS]).load_manager_leader(1)


def test_the_owner_is_whom_any_broker_names(monkeypatch: pytest.MonkeyPatch) -> None:
    with _broker(monkeypatch, 200, {"brokerUrl": "pulsar://10.0.0.3:6650"}) as asked:
        assert Admin([NOBODY, ADDRESS]).owner("log-0", 2, 1) == "10.0.0.3"

    assert asked[0][1] == "/lookup/v2/topic/persistent/public/default/log-0-partition-2"


def test_a_bundle_is_told_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    with _broker(monkeypatch, 200, b"0x00000000_0x40000000"):
        assert Admin([NOBODY, ADDRESS]).bundle("log-0", 2, 1) == "0x00000000_0x40000000"


@pytest.mark.parametrize(("status", "asked_of_owner"), [(204, False), (307, True)])
def test_the_leader_is_told_the_destination_and_the_owner_unloads(
    monkeypatch: pytest.MonkeyPatch, status: int, asked_of_owner: bool
) -> None:
    asked = []

    def ask(_: Admin, method: str, broker: str, path: str, timeout_s: float, **__: bool) -> None:
        asked.append((method, broker, path))
        if "destinationBroker" in path and status == 307:
            raise PulsarRefused(status, "")

    monkeypatch.setattr(Admin, "_request", ask)
    monkeypatch.setattr(Admin, "load_manager_leader", lambda *_: "10.0.0.7")
    Admin([ADDRESS]).unload("10.0.0.8", "0x0_0x4", "10.0.0.9:8080", 1)

    path = "/admin/v2/namespaces/public/default/0x0_0x4/unload"
    to_leader, to_owner = ("PUT", "10.0.0.7", f"{path}?destinationBroker=10.0.0.9:8080"), ("PUT", "10.0.0.8", path)
    assert asked == ([to_leader, to_owner] if asked_of_owner else [to_leader])


@pytest.mark.parametrize("content", [{}, [], b"no JSON", {"brokerUrl": None}])
def test_an_owner_that_no_broker_names_is_an_error(monkeypatch: pytest.MonkeyPatch, content: Any) -> None:
    with _broker(monkeypatch, 200, content), pytest.raises(ServiceError, match="no broker knows the owner of log-0/0"):
        Admin([ADDRESS]).owner("log-0", 0, 1)


@pytest.mark.parametrize(
    ("content", "last"),
    [
        ({"ledgerId": 4, "entryId": 9, "partitionIndex": 0, "batchIndex": 2}, (4, 9, 2)),
        ({"ledgerId": 4, "entryId": 9, "partitionIndex": 0}, (4, 9, -1)),
        ({"ledgerId": 4, "entryId": -1, "partitionIndex": 0}, None),
    ],
)
def test_the_last_message_of_a_partition(monkeypatch: pytest.MonkeyPatch, content: Any, last: Any) -> None:
    with _broker(monkeypatch, 200, content):
        assert Admin([ADDRESS]).last_message("log-0", 0, 1) == last


METADATA = (
    "LedgerMetadata{formatVersion=3, ensembleSize=3, writeQuorumSize=3, ackQuorumSize=2, state=OPEN, "
    "digestType=CRC32C, password=base64:, ensembles={0=[10.0.0.1:3181, 10.0.0.2:3181, 10.0.0.3:3181], "
    "17=[10.0.0.1:3181, 10.0.0.4:3181, 10.0.0.3:3181]}, customMetadata={component=base64:bWFuYWdlZC1sZWRnZXI=}}"
)
CLOSED = "LedgerMetadata{state=CLOSED, length=9, lastEntryId=1, ensembles={0=[10.0.0.2:3181, 10.0.0.3:3181]}}"


def test_the_ensemble_is_that_of_the_last_segment_of_the_current_ledger() -> None:
    ledgers = [{"ledgerId": 3, "metadata": CLOSED}, {"ledgerId": 7, "metadata": METADATA}]
    state = topic_state({"state": "LedgerOpened", "ledgers": ledgers})

    assert state.ensemble == ("10.0.0.1", "10.0.0.4", "10.0.0.3")
    assert (state.writable, state.first_ledger) == (True, 3)


@pytest.mark.parametrize(
    "stats", [{}, {"state": "Fenced", "ledgers": []}, {"ledgers": [{"ledgerId": 1, "metadata": None}]}]
)
def test_a_topic_without_an_open_ledger_is_not_writable(stats: dict[str, Any]) -> None:
    state = topic_state(stats)

    assert (state.writable, state.ensemble) == (False, ())


def test_the_entries_of_the_current_ledger_are_counted_up_to_the_last_confirmed_one() -> None:
    ledgers = [{"ledgerId": 9, "entries": 0}, {"ledgerId": 4, "entries": 7}]

    assert ledger_entries({"ledgers": ledgers, "lastConfirmedEntry": "9:11"}) == [(4, 7), (9, 12)]
    assert ledger_entries({"ledgers": ledgers, "lastConfirmedEntry": "9:-1"}) == [(4, 7), (9, 0)]
    assert ledger_entries({}) == []
