"""What a message of AMQP has besides its payload."""

from __future__ import annotations

from typing import Any

import pika

_NAMED = ("message_id", "correlation_id")


def delivered_before(properties: pika.BasicProperties, *, redelivered: bool) -> int:
    """Return how often a message had been delivered before: as a quorum queue counts, or as the flag says."""
    headers: dict[str, Any] = properties.headers or {}
    return max(int(headers.get("x-delivery-count", 0)), int(redelivered))


def headers_of(properties: pika.BasicProperties) -> dict[str, bytes]:
    """Return the headers of a message that are texts, bytes or numbers, and its `message_id` and `correlation_id`."""
    given: dict[str, Any] = {name: getattr(properties, name) for name in _NAMED}
    given |= properties.headers or {}
    return {name: _as_bytes(value) for name, value in given.items() if isinstance(value, str | bytes | int)}


def _as_bytes(value: str | bytes | int) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()
