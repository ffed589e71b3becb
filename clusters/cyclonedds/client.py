"""The clients of a domain: `FeedClients` of `chaoskit.contract.feed`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chaoskit.contract.client import Completed
from chaoskit.contract.feed import Promise
from chaoskit.contract.power import P, held
from clusters.cyclonedds.publisher import CyclonePublisher
from clusters.cyclonedds.settings import LEASE_NS, reader_settings, writer_settings
from clusters.cyclonedds.subscriber import CycloneSubscriber

_ALL = 2**31
"""More than a writer keeps."""


class CycloneClients:
    """The power `FeedClients` of `chaoskit.contract.feed`."""

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


def promise(lease_ns: int, publishing: Mapping[str, Any], subscribing: Mapping[str, Any]) -> Promise:
    """Return what readers are promised.

    A reliable reader gets each sample of a reliable writer once, in order, as far as the writer keeps it. One that
    keeps the last ones only may lack any that it had not taken.

    Args:
        lease_ns: after how long a participant that is not heard counts as gone.
        publishing, subscribing: settings of producers and consumers.
    """
    writer, reader = writer_settings(publishing), reader_settings(subscribing)
    reliable = writer.qos == reader.qos == "reliable" and reader.history == "keep-all"
    keeps = writer.depth if writer.history == "keep-last" else None
    given = reliable and writer.durability == reader.durability == "transient-local"
    kept = keeps or (_ALL if writer.durability_service == "history" else 1)
    replays = kept if given else 0
    alive_ns = min(lease_ns, writer.liveliness_lease or lease_ns)
    deadline_ns = reader.deadline or 0
    return Promise(
        "exactly-once" if reliable else "at-most-once",
        lasting=False,
        keeps=keeps,
        replays=replays,
        liveliness_ns=alive_ns,
        deadline_ns=deadline_ns if deadline_ns < alive_ns else 0,
        exclusive=writer.ownership == "exclusive",
    )
