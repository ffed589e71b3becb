"""Messages of streams, in the format of AMQP 1.0, as all clients of streams write them."""

from __future__ import annotations

from rstream import AMQPMessage, Properties, amqp_decoder


def encoded(key: bytes | None, payload: bytes) -> bytes:
    """Return a message; its key is its message id, by which super streams route."""
    properties = None if key is None else Properties(message_id=key)
    return bytes(AMQPMessage(body=payload, properties=properties))


def decoded(data: bytes) -> tuple[bytes | None, bytes]:
    """Return the key and the payload of a message."""
    message = amqp_decoder(data)
    key = message.properties.message_id if message.properties else None
    return key, message.body
