"""What the leader of a tiered partition has itself, and what it cannot read because the object store has it no more."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from confluent_kafka import KafkaError

from chaoskit.contract.clients.client import Gap
from chaoskit.contract.systems.service import ServiceError
from chaoskit.model.place import Place
from clusters.kafka.deploy import probe
from clusters.kafka.deploy.requests import Refused

Answer = TypeVar("Answer")

_REFUSED = "UNKNOWN_SERVER_ERROR"
"""What a broker answers if its object store has nothing for it; see the broker's log."""

_LOOKS = 64
"""What cannot be read is found by so many looks at equal distances: what is smaller may be passed together with its
neighbours."""


class LeaderReads:
    """Reads of partitions from their leaders, without a login.

    Args:
        servers: brokers, as `HOST:PORT`; those that do not lead a partition refuse.
    """

    def __init__(self, servers: Sequence[str]) -> None:
        self._servers = servers

    def local_start(self, place: Place, timeout_s: float) -> int | None:
        """Return the first position that the leader has itself; None if no broker tells it."""
        return self._asked(lambda host, port: probe.local_start(host, port, *place, timeout_s))

    def gap(self, place: Place, at: int, end: int, timeout_s: float) -> Gap | None:
        """Return the messages from a position on, at most up to `end`, that the leader cannot read, as it does not say
        why; None if it can, or does not answer in time."""
        deadline = time.monotonic() + timeout_s
        stride = max(1, (end - at) // _LOOKS)
        try:
            if self._readable(place, at, deadline):
                return None
            looks = range(at + stride, end, stride)
            until = next((look for look in looks if self._readable(place, look, deadline)), end)
            unreadable = max(at, until - stride)
            while until - unreadable > 1:
                middle = (unreadable + until) // 2
                if self._readable(place, middle, deadline):
                    until = middle
                else:
                    unreadable = middle
        except ServiceError:
            return None
        return Gap(at, until, _REFUSED)

    def _readable(self, place: Place, position: int, deadline: float) -> bool:
        """Return whether the leader can read a message.

        Raises:
            ServiceError: no broker tells it in time.
        """

        def read(host: str, port: int) -> bool | None:
            try:
                return probe.read_at(host, port, place, position, deadline - time.monotonic()) or None
            except Refused as refusal:
                if refusal.code == KafkaError.UNKNOWN:
                    return False
                raise

        readable = self._asked(read) if time.monotonic() < deadline else None
        if readable is None:
            raise ServiceError(f"no broker tells whether it can read {place[0]}/{place[1]} at {position}")
        return readable

    def _asked(self, ask: Callable[[str, int], Answer | None]) -> Answer | None:
        """Return the first answer of a broker; None if none has one."""
        for server in self._servers:
            host, _, port = server.rpartition(":")
            try:
                if (answer := ask(host, int(port))) is not None:
                    return answer
            except (OSError, struct.error, Refused):
                continue
        return None
