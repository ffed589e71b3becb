"""Messages as clients send and receive them."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

DIRECTIONS = ("sent", "received")
PAYLOADS = ("ok", "corrupt", "foreign")

PRODUCER_SHIFT = 40
"""`value` = producer << 40 | sequence."""

WITHOUT_CONTENT = "chaoskit"
"""The header that carries the payload of a message without content, where a client library gives headers."""

NO_POSITION = -(1 << 63)
"""The position of a message in a system that has none."""


class Delivery(NamedTuple):
    """One message as received by a consumer; `topic` is its name in the system."""

    topic: str
    partition: int
    key: bytes | None
    payload: bytes
    position: int
    delivery: int | None


class DeliveryReports(Protocol):
    """A producer whose client library calls a callable of its own for each message, with an error or None, and the
    message, whose `offset()` is its position."""

    def send_reported(self, topic: str, partition: int, key: bytes | None, payload: bytes, report: Any) -> bool:
        """Enqueue one message whose delivery is reported to `report`, unless the client's queue is full."""
        ...

    def delivered(self, token: int, error: Any, message: Any) -> None:
        """Report a completion, given what the client library said of it."""
        ...
