"""Watches an application on Pulsar: what it wrote, how far its subscriptions have acknowledged, and who consumes.

A subscription's cursor has the position up to which everything is acknowledged (`markDeletePosition`), and the ranges
behind it that are (`individuallyDeletedMessages`). Brokers record no times: a position counts from when it was seen.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pulsar

from chaoskit.contract.clients.application import PartitionOwner, Progressed, ReadRecord
from chaoskit.contract.systems.service import ServiceError
from chaoskit.model.message import Delivery
from chaoskit.model.place import Place
from clusters.pulsar.clients.consumer import Partition, PulsarAuditor
from clusters.pulsar.clients.settings import BEGINS, NAMESPACE
from clusters.pulsar.deploy.admin import Admin
from clusters.pulsar.deploy.cursor import Entry
from clusters.pulsar.deploy.subscribed import WatchedSubscription
from clusters.pulsar.positions import pack

_MESSAGES_MAX = 1000
_ASKED_S = 1.0
_LOOK_S = 0.1
_READERS = "reader-"
"""How the subscriptions of readers begin, which have no cursor on the brokers."""


class PulsarRecordReader:
    """See `chaoskit.contract.clients.application.RecordReader`."""

    def __init__(self, connection: Mapping[str, Any], places: Sequence[Place]) -> None:
        self._reader = _Reader(connection)
        self._reader.assign(places)

    def poll(self, timeout_s: float) -> tuple[list[ReadRecord], str | None]:
        _, _, failure = self._reader.poll(timeout_s, _MESSAGES_MAX)
        records, self._reader.records = self._reader.records, []
        return records, failure

    def bounds(self, place: Place, timeout_s: float) -> tuple[int, int]:
        return self._reader.bounds(*place, timeout_s)

    def reached(self, place: Place) -> int:
        return self._reader.position(*place)

    def close(self) -> None:
        self._reader.close()


class _Reader(PulsarAuditor):
    """A reader that keeps what it has received with its properties.

    Attributes:
        records: what it has received.
    """

    def __init__(self, connection: Mapping[str, Any]) -> None:
        super().__init__(connection)
        self.records: list[ReadRecord] = []

    def _delivery(self, where: Partition, message: pulsar.Message) -> Delivery:
        delivery = super()._delivery(where, message)
        headers = {name: value.encode() for name, value in message.properties().items()}
        self.records.append(ReadRecord(*where, delivery.position, delivery.key, delivery.payload, headers))
        return delivery


class PulsarSubscriptionObserver:
    """See `chaoskit.contract.clients.application.GroupObserver`; a group is a subscription.

    Args:
        connection: as told to clients.
        topics: the topics that the application reads.
    """

    def __init__(self, connection: Mapping[str, Any], topics: Sequence[str]) -> None:
        self._admin = Admin(connection["brokers"])
        # The first ledgers are told of every partition of the trial.
        parts = (name.rpartition("-partition-") for name in connection[BEGINS])
        self._places = [(topic, int(number)) for topic, _, number in parts if topic in topics]
        self._own = connection[NAMESPACE]
        self._seen: dict[tuple[str, Place], int] = {}
        self._alone: dict[tuple[str, Place], frozenset[tuple[int, int]]] = {}

    def committed(self, timeout_s: float) -> list[Progressed]:
        deadline = time.monotonic() + timeout_s
        while True:
            moved = list(self._moved())
            if moved or time.monotonic() >= deadline:
                return moved
            time.sleep(_LOOK_S)

    def owners(self) -> list[PartitionOwner] | None:
        try:
            return [
                owner
                for place in self._places
                for name, subscribed in self._admin.subscriptions(*place, _ASKED_S).items()
                if self._is_others(name) and subscribed.consumers
                for owner in _owners(name, place, subscribed)
            ]
        except ServiceError:
            return None

    def close(self) -> None:
        """Nothing is open."""

    def _moved(self) -> Iterator[Progressed]:
        for place in self._places:
            try:
                cursors = self._admin.cursors(*place, _ASKED_S)
            except ServiceError:
                continue
            at_ms = time.time_ns() // 1_000_000
            for name, cursor in cursors.items():
                if not self._is_others(name):
                    continue
                position = _after(cursor.behind)
                if position > self._seen.get((name, place), 0):
                    self._seen[name, place] = position
                    yield Progressed(name, place, position, at_ms)
                alone = frozenset((_after(before), _after(last)) for before, last in cursor.alone)
                for first, following in sorted(alone - self._alone.get((name, place), frozenset())):
                    yield Progressed(name, place, following, at_ms, first)
                self._alone[name, place] = alone

    def _is_others(self, name: str) -> bool:
        return not name.startswith((_READERS, f"{self._own}chaoskit"))


def _after(entry: Entry) -> int:
    """Return the position after an entry."""
    ledger, number = entry
    return pack(max(ledger, 0), number + 1, 0)


def _owners(group: str, place: Place, subscribed: WatchedSubscription) -> list[PartitionOwner]:
    """Return who owns a partition, or who share it."""
    if subscribed.held:
        return [PartitionOwner(group, place, member, held) for member, held in subscribed.held.items()]
    return [PartitionOwner(group, place, subscribed.member)]
