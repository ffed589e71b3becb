"""What all of Kafka's clients share."""

from __future__ import annotations

CONNECTION_DEFAULTS = {
    "log_level": 0,
    "reconnect.backoff.max.ms": 500,
    "socket.connection.setup.timeout.ms": 2000,
    "socket.timeout.ms": 10_000,
}
"""For every client: no log of its own, and back soon when a broker is."""
