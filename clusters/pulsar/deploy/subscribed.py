"""Who consumes a partition, as a broker's statistics tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

_SHARING = ("Shared", "Key_Shared")
"""Types of subscriptions whose consumers share the messages of a partition."""


class WatchedSubscription(NamedTuple):
    """Who consumes a partition in a subscription.

    Attributes:
        consumers: how many.
        member: address of the one that gets the messages; empty if there are several, or none.
        held: of a subscription whose consumers share the messages, how many each address was sent and has not
            acknowledged.
    """

    consumers: int
    member: str
    held: Mapping[str, int] = MappingProxyType({})


def subscribed_in(stats: Mapping[str, Any]) -> WatchedSubscription:
    """Return who consumes, from the statistics of a subscription.

    >>> active, other = {"consumerName": "a", "address": "/10.0.0.4:50"}, {"consumerName": "b"}
    >>> subscribed_in({"activeConsumerName": "a", "consumers": [active, other]})
    WatchedSubscription(consumers=2, member='10.0.0.4', held={})
    >>> subscribed_in({"type": "Shared", "consumers": [{**active, "unackedMessages": 3}]}).held
    {'10.0.0.4': 3}
    """
    consumers = stats.get("consumers") or []
    active = [consumer for consumer in consumers if consumer.get("consumerName") == stats.get("activeConsumerName")]
    chosen = active if len(active) == 1 else consumers
    member = _address(chosen[0]) if len(chosen) == 1 else ""
    held: Counter[str] = Counter()
    for consumer in consumers if stats.get("type") in _SHARING else ():
        held[_address(consumer)] += int(consumer.get("unackedMessages", 0))
    return WatchedSubscription(len(consumers), member, dict(held))


def _address(consumer: Mapping[str, Any]) -> str:
    return str(consumer.get("address", "")).lstrip("/").rpartition(":")[0]
