"""Mosquitto's clients, for worker processes: paho-mqtt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chaoskit.contract.clients.client import Completed
from chaoskit.contract.power import P, held
from chaoskit.model.observations.feed import Promise
from clusters.common.client_names import index_of, session_of
from clusters.mosquitto.client_settings import promise, publisher_settings, subscriber_settings
from clusters.mosquitto.connection import BRIDGE_QOS, PUBLISHERS, SUBSCRIBERS
from clusters.mosquitto.publisher import MqttPublisher
from clusters.mosquitto.subscriber import MqttSubscriber


class MqttClients:
    """The power `FeedClients` of `chaoskit.contract.clients.feed`."""

    def __init__(self, connection: Mapping[str, Any]) -> None:
        self._connection = connection

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], "Mosquitto's client")

    def promise(self, publishing: Mapping[str, Any], subscribing: Mapping[str, Any]) -> Promise:
        return promise(publishing, subscribing, self._connection[BRIDGE_QOS])

    def feed_publisher(
        self, settings: Mapping[str, Any], name: str, topics: Sequence[str], completed: Completed
    ) -> MqttPublisher:
        session = session_of(name)
        address = own_broker(self._connection[PUBLISHERS], session)
        return MqttPublisher(publisher_settings(settings), address, session, completed)

    def feed_subscriber(self, settings: Mapping[str, Any], name: str, topics: Sequence[str]) -> MqttSubscriber:
        address = own_broker(self._connection[SUBSCRIBERS], name)
        return MqttSubscriber(subscriber_settings(settings), address, name, topics)


def own_broker(addresses: Sequence[str], name: str) -> str:
    """Return the broker that a client uses: they are taken in turn, by the number at the end of its name."""
    return addresses[(index_of(name) or 0) % len(addresses)]
