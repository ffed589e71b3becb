"""The subscriber: messages of QoS 1 are acknowledged after they were returned, so that they are recorded before.

Those of QoS 2 are acknowledged by paho as the protocol goes on: it takes a message over before anybody sees it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from chaoskit.contract.clients.feed import SubscriptionChange
from chaoskit.model.message import NO_POSITION, Delivery
from clusters.mosquitto.client_settings import MqttSubscriberSettings
from clusters.mosquitto.connection import CONNECT_S, Connection

_ALL_TOPICS = "+"
_STEP_S = 0.02
_UNSUBSCRIBE_S = 1.0


class MqttSubscriber(Connection):
    """See `chaoskit.contract.clients.feed.FeedSubscriber`.

    Args:
        settings: its settings.
        address: the broker's address.
        name: client identifier.
        topics: the topics to subscribe to.
    """

    def __init__(self, settings: MqttSubscriberSettings, address: str, name: str, topics: Sequence[str]) -> None:
        super().__init__(settings, address, name, manual_ack=settings.qos == 1)
        self._topics = topics
        self._wildcard = settings.wildcard
        self._wanted = frozenset(topics)
        filters = [_ALL_TOPICS] if settings.wildcard else topics
        self._filters = [f"$share/{settings.share}/{topic}" if settings.share else topic for topic in filters]
        self._arrived: list[MQTTMessage] = []
        self._returned: list[MQTTMessage] = []
        self._subscribed = False
        self._changes: list[SubscriptionChange] = []
        self.client.on_message = self._on_message
        self.client.on_subscribe = self._on_subscribe
        deadline = time.monotonic() + CONNECT_S
        while not self._subscribed and time.monotonic() < deadline:
            self.step(_STEP_S)

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Delivery], str | None]:
        self._acknowledge()
        deadline = time.monotonic() + timeout_s
        while not self._arrived and (wait_s := deadline - time.monotonic()) > 0 and self.error is None:
            self.step(wait_s)
        known = -1
        while known < len(self._arrived) < messages_max and self.ready:
            known = len(self._arrived)
            self.step(0)
        self._returned, self._arrived = self._arrived[:messages_max], self._arrived[messages_max:]
        messages = self._returned
        if self._wildcard:
            messages = [message for message in messages if message.topic in self._wanted]
        return [_delivery(message) for message in messages], self.take_error()

    def changes(self) -> list[SubscriptionChange]:
        changes, self._changes = self._changes, []
        return changes

    def close(self, *, abruptly: bool = False) -> None:
        since_ns = time.monotonic_ns()
        if abruptly:
            self.drop()
        else:
            self._acknowledge()
            self._unsubscribe(since_ns)
            self.disconnect()
        self._over(self.heard_ns)

    def began(self, session_present: bool) -> None:
        """See `Connection.began`."""
        super().began(session_present)
        qos: int = self.settings.qos
        self.client.subscribe([(topic, qos) for topic in self._filters])

    def lost(self, why: str) -> None:
        """See `Connection.lost`: what was not acknowledged comes again, if anything does."""
        self._returned = []
        self._over(self.heard_ns)

    def _unsubscribe(self, since_ns: int) -> None:
        """End all subscriptions; the broker's answer proves that they were in place until then."""
        if not self._subscribed or not self.ready:
            return
        self.client.on_unsubscribe = lambda *_: self._over(since_ns)
        self.client.unsubscribe(self._filters)
        deadline = time.monotonic() + _UNSUBSCRIBE_S
        while self._subscribed and self.ready and time.monotonic() < deadline:
            self.step(_STEP_S)

    def _over(self, since_ns: int) -> None:
        if self._subscribed:
            self._subscribed = False
            self._change("unsubscribed", since_ns)

    def _change(self, kind: Any, since_ns: int) -> None:
        now = time.monotonic_ns()
        self._changes += [SubscriptionChange(kind, topic, since_ns, now) for topic in self._topics]

    def _acknowledge(self) -> None:
        """Acknowledge what the last call of `poll` returned."""
        if self.ready:
            for message in self._returned:
                self.client.ack(message.mid, message.qos)
        self._returned = []

    def _on_message(self, client: Client, userdata: Any, message: MQTTMessage) -> None:
        self._arrived.append(message)

    def _on_subscribe(
        self, client: Client, userdata: Any, mid: int, reasons: list[ReasonCode], properties: Properties | None
    ) -> None:
        refused = [reason for reason in reasons if reason.is_failure or reason.value != self.settings.qos]
        if refused:
            self.error = f"subscription refused: {refused[0].getName()}"
            return
        self._subscribed = True
        self._change("subscribed", self.asked_ns)


def _delivery(message: MQTTMessage) -> Delivery:
    return Delivery(message.topic, 0, None, bytes(message.payload), NO_POSITION, int(message.dup))
