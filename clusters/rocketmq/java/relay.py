"""The relay of RocketMQ's own clients, which are among the jars of its brokers."""

from __future__ import annotations

from pathlib import Path

from clusters.common.relay.process import Relay
from clusters.rocketmq import artifacts

_LOGGING = Path(__file__).with_name("logback.xml")
RELAY = Relay(
    "RocketMQ",
    Path(__file__).with_name("RocketMQRelay.java"),
    artifacts.fetch,
    (f"-Drmq.logback.configurationFile={_LOGGING}",),
)
