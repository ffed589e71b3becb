"""The clients of a domain: `FeedClients` of `chaoskit.contract.clients.feed`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chaoskit.contract.clients.client import Completed
from chaoskit.contract.power import P, held
from chaoskit.model.observations.feed import Promise
from clusters.cyclonedds.guarantees.promise import promise
from clusters.cyclonedds.publisher import CyclonePublisher
from clusters.cyclonedds.settings import LEASE_NS, reader_settings, writer_settings
from clusters.cyclonedds.subscriber import CycloneSubscriber


class CycloneClients:
    """The power `FeedClients` of `chaoskit.contract.clients.feed`."""

    def __init__(self, connection: Mapping[str, Any]) -> None:
        self._connection = connection

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], "Cyclone DDS")

    def promise(self, publishing: Mapping[str, Any], subscribing: Mapping[str, Any]) -> Promise:
        return promise(self._connection[LEASE_NS], publishing, subscribing)

    def feed_publisher(
        self, settings: Mapping[str, Any], name: str, topics: Sequence[str], completed: Completed
    ) -> CyclonePublisher:
        return CyclonePublisher(self._connection, name, writer_settings(settings), topics, completed)

    def feed_subscriber(self, settings: Mapping[str, Any], name: str, topics: Sequence[str]) -> CycloneSubscriber:
        return CycloneSubscriber(self._connection, reader_settings(settings), topics)
