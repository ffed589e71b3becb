"""The final read of logs that end with the ends of transactions, or with what was aborted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from chaoskit.contract.systems.service import ServiceError
from clusters.pulsar.clients.settings import BEGINS
from clusters.pulsar.clients.transactions import TransactionalAuditor
from clusters.pulsar.deploy.admin import Admin, TopicState, partition_name
from clusters.pulsar.positions import pack

PLACE = ("log-0", 0)


class Owner:
    """The admin API of a partition with five entries, of which brokers give some to nobody."""

    def __init__(self, invisible: set[int] | None) -> None:
        self.invisible = invisible
        self.asked: list[int] = []

    def state(self, topic: str, partition: int, timeout_s: float) -> TopicState:
        return TopicState(True, 1, ())

    def last_message(self, topic: str, partition: int, timeout_s: float) -> tuple[int, int, int]:
        return 1, 4, -1

    def entries(self, topic: str, partition: int, timeout_s: float) -> list[tuple[int, int]]:
        return [(1, 6)]

    def is_invisible(self, topic: str, partition: int, ledger: int, entry: int, timeout_s: float) -> bool:
        if self.invisible is None:
            raise ServiceError("no broker answers")
        self.asked.append(entry)
        return entry in self.invisible


def _auditor(monkeypatch: pytest.MonkeyPatch, owner: Owner) -> TransactionalAuditor:
    """Return an auditor that has read entry 2."""
    monkeypatch.setattr("clusters.pulsar.clients.consumer.connect", lambda _: None)
    monkeypatch.setattr("clusters.pulsar.clients.consumer.Admin", lambda _: owner)
    auditor = TransactionalAuditor({"namespace": "", "brokers": [], BEGINS: {partition_name(*PLACE): 1}})
    auditor.bounds(*PLACE, 1.0)
    message = SimpleNamespace(
        message_id=lambda: SimpleNamespace(ledger_id=lambda: 1, entry_id=lambda: 2, batch_index=lambda: -1)
    )
    monkeypatch.setattr(auditor, "_last", {PLACE: message})
    return auditor


@pytest.mark.parametrize(
    ("invisible", "reached", "asked"),
    [({3, 4}, True, [3, 4]), ({4}, False, [3]), ({3}, False, [3, 4]), (None, False, [])],
)
def test_the_end_is_reached_if_nothing_can_come_before_it(
    invisible: set[int] | None, reached: bool, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = Owner(invisible)
    auditor = _auditor(monkeypatch, owner)

    assert auditor.poll(0.0, 10) == ([], [], None)
    assert auditor.position(*PLACE) == (pack(1, 4, 0) + 1 if reached else pack(1, 2, 0) + 1)
    assert owner.asked == asked, "not entry 5, which came after the end was asked for"


@pytest.mark.parametrize(
    ("headers", "invisible"),
    [
        ({"X-Pulsar-marker-type": "12"}, True),
        ({"X-Pulsar-txn-aborted": "true"}, True),
        ({"X-Pulsar-txn-aborted": "false"}, False),
        ({"X-Pulsar-txn-uncommitted": "true"}, False),
        ({}, False),
    ],
)
def test_the_owner_tells_of_an_entry_whether_anybody_gets_it(
    headers: dict[str, str], invisible: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = Admin(["10.0.0.1"])
    paths: list[str] = []

    def answered(method: str, broker: str, path: str, timeout_s: float, *_: Any, **__: Any) -> httpx.Response:
        paths.append(path)
        return httpx.Response(200, headers=headers)

    monkeypatch.setattr(admin, "_response", answered)

    assert admin.is_invisible(*PLACE, 1, 4, 1.0) is invisible
    assert paths == ["/admin/v2/persistent/public/default/log-0-partition-0/ledger/1/entry/4"]
