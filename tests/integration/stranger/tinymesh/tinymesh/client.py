"""The clients: `FeedClients` of `chaoskit.contract.clients.feed`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chaoskit.contract.clients.client import Completed
from chaoskit.contract.power import P, held
from chaoskit.model.observations.feed import Promise
from tinymesh.publisher import Publisher
from tinymesh.subscriber import Subscriber

RESENDS = "resends"
"""Setting of publishers: whether each message is sent until all subscribers have acknowledged it."""


class Clients:
    """See `chaoskit.contract.systems.system.System.clients`."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._mesh = settings["mesh"]

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], "tinymesh's clients")

    def promise(self, publishing: Mapping[str, Any], subscribing: Mapping[str, Any]) -> Promise:
        return Promise("at-least-once" if publishing.get(RESENDS) else "at-most-once", lasting=False)

    def feed_publisher(
        self, settings: Mapping[str, Any], name: str, topics: Sequence[str], completed: Completed
    ) -> Publisher:
        return Publisher(self._mesh, completed, resends=bool(settings.get(RESENDS)))

    def feed_subscriber(self, settings: Mapping[str, Any], name: str, topics: Sequence[str]) -> Subscriber:
        return Subscriber(self._mesh, name, topics)
