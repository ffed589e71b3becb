"""The publisher, and the classification of its completions.

A message of QoS 1 or 2 is acknowledged by PUBACK or PUBCOMP. When the connection is lost meanwhile, paho keeps it and
publishes it again on the next connection, so its send goes on. One of QoS 0 has no acknowledgement: it counts when it
was written to the socket. Without a connection nothing is published: that send has failed.

What exceeds `max_inflight` waits here, also for the next connection, and not in paho. On a new connection, paho
publishes all that it holds at once, and a broker ends the connection of a publisher that exceeds its limit, each time.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any

from paho.mqtt.client import Client
from paho.mqtt.enums import MQTTErrorCode
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from chaoskit.base.quantities import SECOND
from chaoskit.contract.clients.client import Completed
from chaoskit.model.outcome import FAIL, INFO, NOT_CONNECTED, OK
from clusters.mosquitto.client_settings import MqttPublisherSettings
from clusters.mosquitto.connection import CONNECT_S, Connection

_UNDER_WAY_MAX = 60_000
"""A packet identifier has 16 bits."""

_STEP_S = 0.05


class MqttPublisher(Connection):
    """See `chaoskit.contract.clients.client.Producer`.

    Args:
        settings: its settings.
        address: the broker's address.
        name: client identifier.
        completed: called once per send.
    """

    def __init__(self, settings: MqttPublisherSettings, address: str, name: str, completed: Completed) -> None:
        super().__init__(settings, address, name)
        self._completed = completed
        self._retain = settings.retain
        self._properties = _properties(settings)
        self._window = settings.max_inflight if settings.qos else _UNDER_WAY_MAX
        self._waiting: deque[tuple[str, bytes, int]] = deque()
        self._token_of: dict[int, int] = {}
        self._early: dict[int, ReasonCode] = {}
        self.client.on_publish = self._on_publish
        self.settle(CONNECT_S)

    def send(self, topic: str, partition: int, key: bytes | None, payload: bytes, token: int) -> bool:
        if self.pending() >= _UNDER_WAY_MAX:
            return False
        if not self.ready:
            self._completed(token, FAIL, NOT_CONNECTED, None)
            return True
        self._waiting.append((topic, payload, token))
        self._publish()
        return True

    def pending(self) -> int:
        return len(self._token_of) + len(self._waiting)

    def poll(self, timeout_s: float) -> None:
        """See `chaoskit.contract.clients.client.Producer`: do all that can be done without waiting, or wait once."""
        deadline = time.monotonic() + timeout_s
        before = self.pending()
        self._step(timeout_s)
        while self.ready and self.pending() < before and time.monotonic() < deadline:
            before = self.pending()
            self._step(0)

    def close(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while self.pending() and time.monotonic() < deadline:
            self._step(_STEP_S)
        while self._waiting:
            self._completed(self._waiting.popleft()[2], FAIL, "not sent in time", None)
        self._give_up("no acknowledgement in time")
        self.disconnect()

    def lost(self, why: str) -> None:
        """See `Connection.lost`: nobody knows what became of messages that are not acknowledged and not kept."""
        if self.settings.qos == 0:
            self._give_up(why)

    def _step(self, timeout_s: float) -> None:
        self.step(timeout_s)
        self._publish()

    def _publish(self) -> None:
        """Give to paho what may be under way."""
        while self._waiting and self.ready and len(self._token_of) < self._window:
            topic, payload, token = self._waiting.popleft()
            info = self.client.publish(topic, payload, self.settings.qos, self._retain, self._properties)
            self._token_of[info.mid] = token
            if info.mid in self._early:
                self._settle(info.mid, self._early.pop(info.mid))
            elif info.rc not in (MQTTErrorCode.MQTT_ERR_SUCCESS, MQTTErrorCode.MQTT_ERR_AGAIN):
                self._end(MQTTErrorCode(info.rc).name)
            if not self.ready and self.settings.qos == 0:
                self._give_up("the connection was lost meanwhile")

    def _give_up(self, why: str) -> None:
        for token in self._token_of.values():
            self._completed(token, INFO, why, None)
        self._token_of = {}

    def _on_publish(self, client: Client, userdata: Any, mid: int, reason: ReasonCode, properties: Properties) -> None:
        if mid in self._token_of:
            self._settle(mid, reason)
        else:
            self._early[mid] = reason  # paho may write, and say so, before it tells the message's number

    def _settle(self, mid: int, reason: ReasonCode) -> None:
        token = self._token_of.pop(mid)
        if not reason.is_failure:
            self._completed(token, OK, None, None)
        elif reason.packetType == PacketTypes.PUBACK:
            self._completed(token, FAIL, reason.getName(), None)
        else:
            # PUBCOMP with an error: the broker does not know the message any more, and may have delivered it.
            self._completed(token, INFO, reason.getName(), None)


def _properties(settings: MqttPublisherSettings) -> Properties | None:
    """Return the properties of each message, with MQTT 5; None: none."""
    if settings.message_expiry is None:
        return None
    properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
    properties.MessageExpiryInterval = settings.message_expiry // SECOND
    return properties
