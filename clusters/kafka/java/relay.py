"""Where Kafka's own clients come from."""

from __future__ import annotations

from pathlib import Path

from clusters.common.relay.process import Relay
from clusters.kafka import artifacts

RELAY = Relay("Kafka", Path(__file__).with_name("KafkaRelay.java"))


def classpath(version: str) -> str:
    """Return the class path of the relay with the clients of a release, downloading and compiling it at most once.

    Raises:
        BadInput: there is no such release, or no Java.
    """
    return RELAY.classpath(version, artifacts.fetch_clients(version))
