"""Who consumes a partition, as a broker's statistics tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class WatchedSubscription(NamedTuple):
    """Who consumes a partition in a subscription.

    Attributes:
        consumers: how many.
        member: address of the one that gets the messages; empty if there are several, or none.
    """

    consumers: int
    member: str


def subscribed_in(stats: Mapping[str, Any]) -> WatchedSubscription:
    """Return who consumes, from the statistics of a subscription.

    >>> active, other = {"consumerName": "a", "address": "/10.0.0.4:50"}, {"consumerName": "b"}
    >>> subscribed_in({"activeConsumerName": "a", "consumers": [active, other]})
    WatchedSubscription(consumers=2, member='10.0.0.4')
    """
    consumers = stats.get("consumers") or []
    active = [consumer for consumer in consumers if consumer.get("consumerName") == stats.get("activeConsumerName")]
    chosen = active if len(active) == 1 else consumers
    address = str(chosen[0].get("address", "")) if len(chosen) == 1 else ""
    return WatchedSubscription(len(consumers), address.lstrip("/").rpartition(":")[0])
