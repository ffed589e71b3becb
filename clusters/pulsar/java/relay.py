"""Where Pulsar's own clients come from: the jars of its brokers."""

from __future__ import annotations

from pathlib import Path

from clusters.common.relay.process import Relay
from clusters.pulsar import artifacts

RELAY = Relay("Pulsar", Path(__file__).with_name("PulsarRelay.java"))


def classpath(version: str) -> str:
    """Return the class path of the relay with the clients of a release, downloading and compiling it at most once.

    Raises:
        BadInput: there is no such release, or no Java.
    """
    return RELAY.classpath(version, artifacts.fetch(version))
