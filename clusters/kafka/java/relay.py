"""The relay of Kafka's own clients, with the jars of the clients' releases."""

from __future__ import annotations

from pathlib import Path

from clusters.common.relay.process import Relay
from clusters.kafka import artifacts

RELAY = Relay("Kafka", Path(__file__).with_name("KafkaRelay.java"), artifacts.fetch_clients)
