"""The relay of RocketMQ's client by gRPC."""

from __future__ import annotations

from pathlib import Path

from clusters.common.relay.process import Relay
from clusters.rocketmq import artifacts

_LOGGING = Path(__file__).with_name("logback.xml")
RELAY = Relay(
    "RocketMQ-gRPC",
    Path(__file__).with_name("PopRelay.java"),
    artifacts.fetch_grpc_client,
    (f"-Drocketmq.logback.configurationFile={_LOGGING}",),
)
