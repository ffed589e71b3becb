"""Zenoh's clients: `FeedClients` of `chaoskit.contract.clients.feed`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chaoskit.contract.clients.client import Completed
from chaoskit.contract.power import P, held
from chaoskit.model.observations.feed import Promise
from clusters.zenoh.guarantees.promise import promise
from clusters.zenoh.publisher import ZenohPublisher
from clusters.zenoh.settings import LEASE_NS, LINK, ROUTERS, publisher_settings, subscriber_settings
from clusters.zenoh.subscriber import ZenohSubscriber


class ZenohClients:
    """The power `FeedClients` of `chaoskit.contract.clients.feed`. Publishers try the routers in order, subscribers
    from the last one on, so that with two routers messages go through both."""

    def __init__(self, connection: Mapping[str, Any]) -> None:
        self._connection = connection
        self._routers: list[str] = connection[ROUTERS]

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], "Zenoh")

    def promise(self, publishing: Mapping[str, Any], subscribing: Mapping[str, Any]) -> Promise:
        return promise(self._connection[LINK], publishing, subscribing, self._connection[LEASE_NS])

    def feed_publisher(
        self, settings: Mapping[str, Any], name: str, topics: Sequence[str], completed: Completed
    ) -> ZenohPublisher:
        return ZenohPublisher(
            self._connection, self._routers, publisher_settings(settings), topics, completed, name=name
        )

    def feed_subscriber(self, settings: Mapping[str, Any], name: str, topics: Sequence[str]) -> ZenohSubscriber:
        return ZenohSubscriber(self._connection, self._routers[::-1], subscriber_settings(settings), topics, name=name)
