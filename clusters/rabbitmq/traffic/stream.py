"""One direction of a TCP connection, put together from its segments (RFC 9293)."""

from __future__ import annotations

_MODULUS = 1 << 32
_AHEAD_MAX = 1 << 31
_LATE_NS = 1_000_000_000
"""So much later than its acknowledgement a segment may pass; after that it was missed."""


class Stream:
    """What one end sent, in order.

    Args:
        first: the sequence number of its first byte.

    Attributes:
        position: how many bytes were read.
        torn: whether the other end has what did not pass here, so that nothing more can be read.
    """

    def __init__(self, first: int) -> None:
        self.position: int = 0
        self.torn: bool = False
        self._next = first % _MODULUS
        self._early: dict[int, bytes] = {}
        self._missing_ns: int | None = None

    def add(self, seq: int, content: bytes) -> bytes:
        """Return what follows, now that a segment is there; nothing if another one is missing before."""
        if content and len(content) > len(self._early.get(seq, b"")):
            self._early[seq] = content
        parts = []
        while (ready := self._earliest()) is not None:
            content = self._early.pop(ready)[-self._ahead(ready) :] if self._ahead(ready) else self._early.pop(ready)
            self._next = (self._next + len(content)) % _MODULUS
            self.position += len(content)
            parts.append(content)
        return b"".join(parts)

    def acknowledged(self, seq: int, at_ns: int) -> int:
        """Return how many bytes the other end has, which acknowledged those before a sequence number."""
        ahead = self._ahead(seq)
        if ahead <= 1:  # the end of a stream counts as one byte
            self._missing_ns = None
        elif self._missing_ns is None:
            self._missing_ns = at_ns
        elif at_ns - self._missing_ns > _LATE_NS:
            self.torn = True
        return self.position + ahead

    def _earliest(self) -> int | None:
        """Return a segment that begins at, or before, what comes next, and drop those that are behind it."""
        for seq in [seq for seq, content in self._early.items() if self._ahead(seq) + len(content) <= 0]:
            del self._early[seq]
        return next((seq for seq in self._early if self._ahead(seq) <= 0), None)

    def _ahead(self, seq: int) -> int:
        """Return by how many bytes a sequence number is ahead of what was read."""
        ahead = (seq - self._next) % _MODULUS
        return ahead if ahead < _AHEAD_MAX else ahead - _MODULUS
