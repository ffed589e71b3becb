"""The relay of Kafka's own share consumer: a program of its own, since earlier releases do not have its classes."""

from __future__ import annotations

from pathlib import Path

from clusters.common.relay.process import Relay
from clusters.kafka import artifacts

RELAY = Relay("Kafka-share", Path(__file__).with_name("ShareRelay.java"), artifacts.fetch_clients)
