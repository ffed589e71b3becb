"""The clients: `LogClients` of `chaoskit.contract.clients.client`, without groups."""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping, Sequence
from typing import Any

from chaoskit.contract.clients.client import Completed, PositionLost
from chaoskit.contract.power import P, held
from chaoskit.model.message import Delivery
from chaoskit.model.outcome import OK, OperationFailed
from tinylog.connection import Connection


def log_name(topic: str, partition: int) -> str:
    """Return the name of a partition's log."""
    return f"{topic}.{partition}"


class Producer:
    """Appends one message after the other; each is completed when `send` returns."""

    def __init__(self, connection: Connection, completed: Completed) -> None:
        self._connection = connection
        self._completed = completed

    def send(self, topic: str, partition: int, key: bytes | None, payload: bytes, token: int) -> bool:
        try:
            position = self._connection.ask("append", log_name(topic, partition), base64.b64encode(payload).decode())
        except OperationFailed as error:
            self._completed(token, error.outcome, str(error), None)
        else:
            self._completed(token, OK, None, position)
        return True

    def pending(self) -> int:
        return 0

    def poll(self, timeout_s: float) -> None:
        time.sleep(timeout_s)

    def close(self, timeout_s: float) -> None:
        self._connection.close()


class Consumer:
    """Reads partitions in order; also the reader of the final read."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._next: dict[tuple[str, int], int] = {}

    def assign(self, partitions: Sequence[tuple[str, int]]) -> None:
        self._next = dict.fromkeys(partitions, 0)

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Delivery], list[PositionLost], str | None]:
        deliveries: list[Delivery] = []
        lost: list[PositionLost] = []
        error = None
        for (topic, partition), position in self._next.items():
            try:
                messages, end = self._connection.ask("read", log_name(topic, partition), position, messages_max)
            except OperationFailed as failure:
                error = str(failure)
                continue
            if position > end:
                lost.append(PositionLost(topic, partition, "beyond the end"))
            for number, message in enumerate(messages, position):
                deliveries.append(Delivery(topic, partition, None, base64.b64decode(message), number, None))
        for delivery in deliveries:
            self._next[delivery.topic, delivery.partition] = delivery.position + 1
        if not deliveries:
            time.sleep(timeout_s)
        return deliveries, lost, error

    def seek_to_beginning(self, topic: str, partition: int) -> None:
        self._next[topic, partition] = 0

    def bounds(self, topic: str, partition: int, timeout_s: float) -> tuple[int, int]:
        return 0, self._connection.ask("end", log_name(topic, partition))

    def position(self, topic: str, partition: int) -> int:
        return self._next[topic, partition]

    def close(self) -> None:
        self._connection.close()


class Clients:
    """See `chaoskit.contract.systems.system.System.clients`."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._address = settings["address"]

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], "tinylog's clients")

    def producer(self, settings: Mapping[str, Any], completed: Completed) -> Producer:
        return Producer(Connection(self._address), completed)

    prober = producer

    def consumer(self, settings: Mapping[str, Any], group: int = 0) -> Consumer:
        return Consumer(Connection(self._address))

    auditor = consumer
