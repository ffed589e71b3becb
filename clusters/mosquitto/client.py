"""Mosquitto's clients, for worker processes: paho-mqtt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chaoskit.contract.client import Completed
from chaoskit.contract.feed import PROMISES, Promise
from chaoskit.contract.power import P, held
from clusters.mosquitto.connection import ADDRESS, publisher_settings, subscriber_settings
from clusters.mosquitto.publisher import MqttPublisher
from clusters.mosquitto.subscriber import MqttSubscriber


class MqttClients:
    """The power `FeedClients` of `chaoskit.contract.feed`."""

    def __init__(self, connection: Mapping[str, Any]) -> None:
        self._address: str = connection[ADDRESS]

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], "Mosquitto's client")

    def promise(self, publishing: Mapping[str, Any], subscribing: Mapping[str, Any]) -> Promise:
        return promise(publishing, subscribing)

    def feed_publisher(
        self, settings: Mapping[str, Any], name: str, topics: Sequence[str], completed: Completed
    ) -> MqttPublisher:
        return MqttPublisher(publisher_settings(settings), self._address, name, completed)

    def feed_subscriber(self, settings: Mapping[str, Any], name: str, topics: Sequence[str]) -> MqttSubscriber:
        return MqttSubscriber(subscriber_settings(settings), self._address, name, topics)


def promise(publishing: Mapping[str, Any], subscribing: Mapping[str, Any]) -> Promise:
    """Return what subscribers are promised: the lower quality of service of the two holds."""
    publisher, subscriber = publisher_settings(publishing), subscriber_settings(subscribing)
    qos = min(publisher.qos, subscriber.qos)
    return Promise(PROMISES[qos], not subscriber.clean_session, retained=publisher.retain and qos > 0)
