"""What the leader of a tiered partition has itself, and what it cannot read because the object store has it no more."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from confluent_kafka import KafkaError

from chaoskit.contract.clients.client import Gap
from chaoskit.contract.systems.service import ServiceError
from chaoskit.model.place import Place
from clusters.kafka.deploy import probe
from clusters.kafka.deploy.requests import Refused
from clusters.kafka.tiered import store

Answer = TypeVar("Answer")

_ASK_S = 2
_REFUSED = "UNKNOWN_SERVER_ERROR, though the object store answers"
"""What a broker answers if the store does not have an object, but also if it could not ask; see the broker's log."""

_LOOKS = 64
"""What cannot be read is passed in steps that double, up to one of so many parts of what is left: what can be read, and
is smaller than a step, may be passed together with its neighbours."""


class LeaderReads:
    """Reads of partitions from their leaders, without a login.

    Args:
        brokers: all brokers, as `HOST:PORT`; those that do not lead a partition refuse.
        store: the object store, likewise.
    """

    def __init__(self, brokers: Sequence[str], store: str) -> None:
        self._brokers = brokers
        self._store = store

    def local_start(self, place: Place, timeout_s: float) -> int | None:
        """Return the first position that the leader has itself; None if no broker tells it in time."""
        deadline = time.monotonic() + timeout_s
        return self._asked(lambda host, port, wait_s: probe.local_start(host, port, place, wait_s), deadline)

    def gap(self, place: Place, at: int, end: int, timeout_s: float) -> Gap | None:
        """Return the messages from a position on, at most up to `end`, that the leader cannot read although the store
        answers; None if it can, or not everybody answers in time."""
        deadline = time.monotonic() + timeout_s
        try:
            if self._readable(place, at, deadline) or not self._store_answers(deadline):
                return None
            unreadable = at
            for look in _looks(at, end):
                if self._readable(place, look, deadline):
                    return Gap(at, self._edge(place, unreadable, look, deadline), _REFUSED)
                unreadable = look
        except ServiceError:
            return None
        return Gap(at, end, _REFUSED) if self._store_answers(deadline) else None

    def _edge(self, place: Place, unreadable: int, readable: int, deadline: float) -> int:
        """Return the first position that can be read again between two."""
        while readable - unreadable > 1:
            middle = (unreadable + readable) // 2
            if self._readable(place, middle, deadline):
                readable = middle
            else:
                unreadable = middle
        return readable

    def _readable(self, place: Place, position: int, deadline: float) -> bool:
        """Return whether the leader can read a message.

        Raises:
            ServiceError: no broker tells it in time.
        """

        def read(host: str, port: int, wait_s: float) -> bool | None:
            try:
                return probe.read_at(host, port, place, position, wait_s) or None
            except Refused as refusal:
                if refusal.code == KafkaError.UNKNOWN:
                    return False
                raise

        readable = self._asked(read, deadline)
        if readable is None:
            raise ServiceError(f"no broker tells whether it can read {place[0]}/{place[1]} at {position}")
        return readable

    def _store_answers(self, deadline: float) -> bool:
        left_s = deadline - time.monotonic()
        return left_s > 0 and store.answers(self._store, min(_ASK_S, left_s))

    def _asked(self, ask: Callable[[str, int, float], Answer | None], deadline: float) -> Answer | None:
        """Return the first answer of a broker; None if none has one in time."""
        for server in self._brokers:
            host, _, port = server.rpartition(":")
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return None
            try:
                if (answer := ask(host, int(port), min(_ASK_S, left_s))) is not None:
                    return answer
            except (OSError, struct.error, Refused):
                continue
        return None


def _looks(at: int, end: int) -> Iterator[int]:
    """Yield positions behind `at` and before `end`, at distances that double up to a part of what is left."""
    step, most = 1, max(1, (end - at) // _LOOKS)
    while (at := at + step) < end:
        yield at
        step = min(2 * step, most)
