"""The relay of Pulsar's own clients, which are among the jars of its brokers."""

from __future__ import annotations

from pathlib import Path

from clusters.common.relay.process import Relay
from clusters.pulsar import artifacts

RELAY = Relay("Pulsar", Path(__file__).with_name("PulsarRelay.java"), artifacts.fetch)
