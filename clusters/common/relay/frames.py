"""Frames between a worker and the JVM of its client: big-endian, with short texts in Java's modified UTF-8, which is
UTF-8 for what systems name."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from chaoskit.model.message import Delivery
from chaoskit.model.place import Place
from clusters.common import properties

_RECORD = struct.Struct(">qii")


def text(value: str) -> bytes:
    """Return a text."""
    content = value.encode()
    return struct.pack(">H", len(content)) + content


def places(partitions: Sequence[Place]) -> bytes:
    """Return topics and numbers of partitions."""
    return struct.pack(">i", len(partitions)) + b"".join(
        text(topic) + struct.pack(">i", number) for topic, number in partitions
    )


def settings(given: Mapping[str, Any]) -> bytes:
    """Return names and values of settings."""
    content = b"".join(text(name) + text(properties.text(value)) for name, value in given.items())
    return struct.pack(">i", len(given)) + content


class RelayAnswer:
    """Reads a frame from its beginning."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def number(self) -> int:
        """Return the integer that follows."""
        (number,) = struct.unpack_from(">i", self._content, self._at)
        self._at += 4
        return int(number)

    def text(self) -> str:
        """Return the text that follows."""
        (size,) = struct.unpack_from(">H", self._content, self._at)
        self._at += 2 + size
        return self._content[self._at - size : self._at].decode()

    def places(self) -> list[Place]:
        """Return the topics and numbers of partitions that follow."""
        return [(self.text(), self.number()) for _ in range(self.number())]

    def records(self, topic: str, partition: int) -> list[Delivery]:
        """Return the messages of a partition that follow."""
        deliveries = []
        content, at, count = self._content, self._at, self.number()
        at += 4
        for _ in range(count):
            position, redelivered, size = _RECORD.unpack_from(content, at)
            at += _RECORD.size
            key = None if size < 0 else content[at : at + size]
            at += max(0, size)
            size = int.from_bytes(content[at : at + 4], "big")
            at += 4 + size
            times = None if redelivered < 0 else redelivered
            deliveries.append(Delivery(topic, partition, key, content[at - size : at], position, times))
        self._at = at
        return deliveries
