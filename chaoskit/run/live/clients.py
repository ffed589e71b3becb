"""Clients of the system's own by which a test feeds topics and reads them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from chaoskit.base.errors import BadInput
from chaoskit.contract.clients.application import ApplicationClients, ReadRecord, RecordReader
from chaoskit.contract.clients.client import LogClients
from chaoskit.contract.power import Powered, optional
from chaoskit.contract.workloads.topic import Topic
from chaoskit.model.outcome import FAIL, OK, Outcome
from chaoskit.run.live.history import Id, LiveHistory, Sending

_POLL_S = 0.05
_IN_FLIGHT = 1000
_BOUNDS_S = 10.0


@dataclass
class FeedResult:
    """What became of messages that were fed.

    Attributes:
        acked: ids of those that were acknowledged.
        failed: the error of each that certainly was not stored, by id.
        unknown: the error of each of which nobody knows, by id.
    """

    acked: list[Id] = field(default_factory=list)
    failed: dict[Id, str] = field(default_factory=dict)
    unknown: dict[Id, str] = field(default_factory=dict)


class Feeding:
    """One call of `feed`: sends messages, and waits for what becomes of them.

    Args:
        clients: the clients of the system.
        history: records them.
        settings: settings of the producer, in the system's own terms.
    """

    def __init__(self, clients: Powered, history: LiveHistory, settings: Mapping[str, Any]) -> None:
        self.fed: FeedResult = FeedResult()
        self._history = history
        self._open: dict[int, tuple[Id, Sending]] = {}
        self._producer = clients.power(LogClients).producer(settings, self._completed)

    def feed(
        self, name: str, topic: Topic, messages: Mapping[Id, bytes], rate: float | None, within_s: float
    ) -> FeedResult:
        """Send messages, to one partition after the other.

        Args:
            name: the topic's name in the system.
            topic: the topic.
            messages: their contents, by id.
            rate: how many a second; None: as fast as they are acknowledged.
            within_s: how long after the last send their outcome may take.
        """
        producer, begun_s = self._producer, time.monotonic()
        try:
            for token, (id_, payload) in enumerate(messages.items()):
                due_s = begun_s + token / rate if rate else 0.0
                while producer.pending() >= _IN_FLIGHT or time.monotonic() < due_s:
                    producer.poll(_POLL_S if not rate else min(_POLL_S, max(0.0, due_s - time.monotonic())))
                partition = token % (topic.partitions or 1)
                self._open[token] = id_, self._history.sent(topic.name, id_, partition=partition, payload=payload)
                while not producer.send(name, partition, None, payload, token):
                    producer.poll(_POLL_S)
                producer.poll(0)
        finally:
            producer.close(within_s)
        return self.fed

    def _completed(
        self, token: int, outcome: Outcome, error: str | None, position: int | None, at_ns: int | None = None, /
    ) -> None:
        id_, sending = self._open.pop(token)
        if outcome == OK:
            sending.ok(position=position)
            self.fed.acked.append(id_)
        elif outcome == FAIL:
            sending.failed(error)
            self.fed.failed[id_] = error or ""
        else:
            sending.unknown(error)
            self.fed.unknown[id_] = error or ""


class LiveDrain:
    """Reads topics for a test: each call goes on where the last one of its topic ended.

    Args:
        clients: the clients of the system.
        history: records what was sent by somebody who told it.
    """

    def __init__(self, clients: Powered, history: LiveHistory) -> None:
        self._clients = clients
        self._history = history
        self._readers: dict[str, RecordReader] = {}
        self._ahead: dict[str, list[ReadRecord]] = {}

    def drain(self, name: str, topic: Topic, count: int | None, within_s: float) -> list[ReadRecord]:
        """Return so many messages; without `count`, all that are there now; fewer if they do not come in time."""
        if name not in self._readers:
            self._readers[name] = self._clients.power(ApplicationClients).records(
                [(name, number) for number in range(topic.partitions or 1)]
            )
        reader, deadline = self._readers[name], time.monotonic() + within_s
        places = [(name, number) for number in range(topic.partitions or 1)]
        ends = {} if count is not None else {place: reader.bounds(place, _BOUNDS_S)[1] for place in places}
        records = self._ahead.pop(name, [])
        while time.monotonic() < deadline:
            if (
                len(records) >= count
                if count is not None
                else all(reader.reached(place) >= ends[place] for place in places)
            ):
                break
            came, _ = reader.poll(_POLL_S)
            for record in came:
                self._note(topic.name, record)
            records += came
        self._ahead[name] = records[count:] if count is not None else []
        return records[:count]

    def close(self) -> None:
        """Disconnect."""
        for reader in self._readers.values():
            reader.close()

    def _note(self, topic: str, record: ReadRecord) -> None:
        message = self._history.message_of(topic, record.value)
        if message is not None:
            self._history.received(topic, message.id, partition=record.partition)


def numbered(messages: Mapping[Id, bytes] | Iterable[bytes], begin: int) -> dict[Id, bytes]:
    """Return messages by id: as given, or numbered."""
    if isinstance(messages, Mapping):
        return dict(messages)
    return dict(enumerate(messages, begin))


def require(clients: Powered, power: type, call: str, remedy: str) -> None:
    """Check that the clients of a system can do something.

    Raises:
        BadInput: they cannot.
    """
    if optional(clients, power) is None:
        raise BadInput(f"{call}: chaoskit's clients of this system cannot do that yet; {remedy}")
