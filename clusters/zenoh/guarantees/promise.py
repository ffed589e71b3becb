"""What subscribers are promised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaoskit.model.observations.feed import Promise
from clusters.zenoh.settings import publisher_settings, subscriber_settings


def promise(link: str, publishing: Mapping[str, Any], subscribing: Mapping[str, Any], lease_ns: int = 0) -> Promise:
    """Return what subscribers are promised.

    Nothing is lacking where links are reliable, and publishers are reliable and block, or subscribers recover what they
    lack from the publishers' caches. Over UDP the questions to a cache, and its answers, get lost as well.
    """
    publisher = publisher_settings(publishing)
    kept = publisher.qos == "reliable" and publisher.congestion == "block"
    whole = link == "tcp" and (kept or recovers(publishing, subscribing))
    replays = min(publisher.cache, subscriber_settings(subscribing).history) if link == "tcp" else 0
    delivery = "exactly-once" if whole else "at-most-once"
    return Promise(delivery, lasting=False, replays=replays, liveliness_ns=lease_ns)


def recovers(publishing: Mapping[str, Any], subscribing: Mapping[str, Any]) -> bool:
    """Return whether subscribers ask the publishers' caches for what they lack."""
    return publisher_settings(publishing).cache > 0 and subscriber_settings(subscribing).recovery
