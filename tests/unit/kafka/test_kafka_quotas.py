"""Quotas of clients: what brokers are asked, and what their answers mean."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any, cast

import pytest

from chaoskit.contract.systems.service import ServiceError
from clusters.kafka.deploy.requests import NO_TAGS, Response, text
from clusters.kafka.operate import quotas
from clusters.kafka.operate.quotas import KafkaQuotas

HOSTS = cast("Any", [SimpleNamespace(name=f"n{number}", address=f"10.0.0.{number}") for number in (1, 2)])


class _Brokers:
    """What two brokers are asked, and answer; `refusing` are those that refuse, `gone` those that are away."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bodies: list[bytes] = []
        self.asked: list[tuple[str, tuple[int, int], bytes]] = []
        self.refusing: set[str] = set()
        self.gone: set[str] = set()
        self.throttled = {"10.0.0.1": 0, "10.0.0.2": 700}
        monkeypatch.setattr(quotas, "flexible", self.flexible)
        monkeypatch.setattr(quotas, "request", self.request)

    def flexible(self, address: str, port: int, api: tuple[int, int], body: bytes, timeout_s: float) -> Response:
        self._answer(address)
        self.bodies.append(body)
        return Response(struct.pack(">iBh", 0, 2, 31 if address in self.refusing else 0))

    def request(
        self, address: str, port: int, api: tuple[int, int], body: bytes, timeout_s: float, *, client: bytes
    ) -> bytes:
        self._answer(address)
        self.asked.append((address, api, client))
        no_topics = struct.pack(">i", 0)
        throttled = struct.pack(">i", self.throttled[address])
        return no_topics + throttled if api == (0, 3) else throttled + no_topics

    def _answer(self, address: str) -> None:
        if address in self.gone:
            raise ConnectionRefusedError("refused")


def _read(body: bytes) -> tuple[str, str, str, float, bool]:
    """Read a request to alter one quota: type and name of whom, key, value, and whether it is removed."""
    reader = Response(body)
    assert reader.varint() == 2, "one entry"
    assert reader.varint() == 2, "of one part"
    kind, name = reader.compact(), reader.compact()
    reader.tags()
    assert reader.varint() == 2, "one change"
    key = reader.compact()
    value, removed = struct.unpack(">d?", reader.take(9))
    reader.tags()
    reader.tags()
    assert reader.take(10) == b"\0" + NO_TAGS, "not only tried, and nothing follows"
    return kind, name, key, value, removed


@pytest.mark.parametrize(
    ("action", "key"), [("send", "producer_byte_rate"), ("receive", "consumer_byte_rate")], ids=["send", "receive"]
)
def test_a_quota_is_set_and_removed(monkeypatch: pytest.MonkeyPatch, action: str, key: str) -> None:
    brokers, power = _Brokers(monkeypatch), KafkaQuotas(HOSTS)

    power.limit("producer-0", action, 50_000)
    power.limit("producer-0", action, None)

    assert _read(brokers.bodies[0]) == ("client-id", "producer-0", key, 50_000, False)
    assert _read(brokers.bodies[-1]) == ("client-id", "producer-0", key, 0, True)


def test_one_broker_that_takes_it_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    brokers, power = _Brokers(monkeypatch), KafkaQuotas(HOSTS)
    brokers.gone = {"10.0.0.1"}
    power.limit("producer-0", "send", 1)

    brokers.refusing = {"10.0.0.2"}
    with pytest.raises(ServiceError, match=r"quota of producer-0: n1: refused; n2: error 31"):
        power.limit("producer-0", "send", 1)


@pytest.mark.parametrize(("action", "api"), [("send", (0, 3)), ("receive", (1, 4))])
def test_each_broker_says_for_how_long_it_holds_a_client_back(
    monkeypatch: pytest.MonkeyPatch, action: str, api: tuple[int, int]
) -> None:
    brokers, power = _Brokers(monkeypatch), KafkaQuotas(HOSTS)

    assert power.throttled("producer-0", action) == {"n1": 0, "n2": 700}
    assert [(asked, client) for _, asked, client in brokers.asked] == [(api, text("producer-0"))] * 2

    brokers.gone = {"10.0.0.2"}
    assert power.throttled("producer-0", action) == {"n1": 0}
    brokers.gone = {"10.0.0.1", "10.0.0.2"}
    with pytest.raises(ServiceError, match="no broker tells"):
        power.throttled("producer-0", action)
