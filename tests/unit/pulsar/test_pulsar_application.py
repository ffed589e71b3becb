"""What is seen of an application on Pulsar: how far its subscriptions have acknowledged, and who consumes."""

from __future__ import annotations

from typing import Any

import pytest

from chaoskit.contract.clients.application import PartitionOwner
from chaoskit.contract.systems.service import ServiceError
from clusters.pulsar.clients import application
from clusters.pulsar.clients.application import PulsarSubscriptionObserver
from clusters.pulsar.deploy.cursor import Cursor
from clusters.pulsar.deploy.subscribed import WatchedSubscription
from clusters.pulsar.positions import pack

CONNECTION = {
    "brokers": ["10.0.0.1"],
    "namespace": "t1-",
    "begins": {"t1-orders-partition-0": 1, "t1-orders-partition-1": 2, "t1-payments-partition-0": 3},
}
IDLE = WatchedSubscription(0, "")


class Broker:
    """What a broker says of each partition."""

    def __init__(self) -> None:
        self.marked: dict[int, dict[str, Cursor]] = {0: {}, 1: {}}
        self.subscribed: dict[int, dict[str, WatchedSubscription]] = {0: {}, 1: {}}
        self.silent = False

    def cursors(self, topic: str, partition: int, timeout_s: float) -> Any:
        return self._said(topic, self.marked[partition])

    def subscriptions(self, topic: str, partition: int, timeout_s: float) -> Any:
        return self._said(topic, self.subscribed[partition])

    def _said(self, topic: str, what: Any) -> Any:
        assert topic == "t1-orders"
        if self.silent:
            raise ServiceError("no broker answers")
        return what


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    broker = Broker()
    monkeypatch.setattr(application, "Admin", lambda _: broker)
    return broker


def test_what_a_subscription_has_acknowledged_is_told_once(broker: Broker) -> None:
    observer = PulsarSubscriptionObserver(CONNECTION, ["t1-orders"])
    broker.marked = {
        0: {"pay": Cursor((5, 7)), "reader-a1": Cursor((5, 9)), "t1-chaoskit": Cursor((5, 9))},
        1: {"pay": Cursor((6, -1))},
    }

    seen = [(commit.group, commit.place, commit.next_position) for commit in observer.committed(0)]
    assert seen == [("pay", ("t1-orders", 0), pack(5, 8, 0)), ("pay", ("t1-orders", 1), pack(6, 0, 0))]
    assert observer.committed(0) == []

    broker.marked[1]["pay"] = Cursor((6, 0))
    assert [commit.next_position for commit in observer.committed(0)] == [pack(6, 1, 0)]


def test_who_consumes_owns_a_partition(broker: Broker) -> None:
    observer = PulsarSubscriptionObserver(CONNECTION, ["t1-orders"])
    broker.subscribed = {
        0: {"pay": WatchedSubscription(2, "10.0.0.4"), "reader-a1": WatchedSubscription(1, "10.0.0.9")},
        1: {"pay": IDLE},
    }

    assert observer.owners() == [PartitionOwner("pay", ("t1-orders", 0), "10.0.0.4")]


def test_what_is_acknowledged_out_of_turn_is_told_once(broker: Broker) -> None:
    observer = PulsarSubscriptionObserver(CONNECTION, ["t1-orders"])
    broker.marked[0]["pay"] = Cursor((5, 7), (((5, 8), (5, 9)),))

    ranges = [(commit.first_position, commit.next_position) for commit in observer.committed(0)]
    assert ranges == [(None, pack(5, 8, 0)), (pack(5, 9, 0), pack(5, 10, 0))]

    broker.marked[0]["pay"] = Cursor((5, 7), (((5, 8), (5, 9)), ((5, 11), (6, 1))))
    (commit,) = observer.committed(0)
    assert (commit.first_position, commit.next_position) == (pack(5, 12, 0), pack(6, 2, 0))


def test_who_shares_a_partition_has_what_it_was_sent(broker: Broker) -> None:
    observer = PulsarSubscriptionObserver(CONNECTION, ["t1-orders"])
    broker.subscribed[0]["pay"] = WatchedSubscription(2, "", {"10.0.0.4": 3, "10.0.0.5": 0})

    owners = [PartitionOwner("pay", ("t1-orders", 0), f"10.0.0.{host}", held) for host, held in ((4, 3), (5, 0))]
    assert observer.owners() == owners


def test_silent_brokers_say_nothing(broker: Broker) -> None:
    observer = PulsarSubscriptionObserver(CONNECTION, ["t1-orders"])
    broker.silent = True

    assert observer.committed(0) == []
    assert observer.owners() is None
