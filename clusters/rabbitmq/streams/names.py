"""Names of streams: one stream for each partition of a topic."""

from __future__ import annotations

from chaoskit.model.place import Place

NAMED = "named"
"""Whether a producer with publishing ids has a name. RabbitMQ filters what it has already by name and id only."""


def stream_name(topic: str, partition: int) -> str:
    """Return the name of a partition's stream."""
    return f"{topic}-{partition}"


def place_of(stream: str) -> Place:
    """Return the partition that a stream is."""
    topic, _, partition = stream.rpartition("-")
    return topic, int(partition)
