"""When the subscriptions of a client began and ended, as far as those that it is matched with tell."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence

from chaoskit.base.quantities import SECOND
from chaoskit.contract.clients.feed import SubscriptionChange
from clusters.common.matching import QUIET_S, MatchedPeers


class Stays:
    """The subscriptions of one client.

    Args:
        topics: its topics.
        lease_ns: after so long without a word a peer is not matched any more.
    """

    def __init__(self, topics: Sequence[str], lease_ns: int) -> None:
        self._peers = {topic: MatchedPeers(lease_ns) for topic in topics}
        self._changes: list[SubscriptionChange] = []

    def begin(self, since_ns: int, matched: Callable[[str], Collection[str]]) -> None:
        """Note that all subscriptions, asked for at that time, are in place.

        Args:
            since_ns: that time, CLOCK_MONOTONIC.
            matched: returns the identifiers of the peers of a topic.
        """
        for topic, peers in self._peers.items():
            peers.look(matched(topic))
        now_ns = time.monotonic_ns()
        self._changes += [SubscriptionChange("subscribed", topic, since_ns, now_ns) for topic in self._peers]

    def look(self, topic: str, matched: Collection[str]) -> None:
        """Take note of peers that are gone, and of those that are back: what they sent meanwhile was sent for nobody.

        Args:
            topic: the topic.
            matched: the identifiers of its peers: the name of the client and what is unique, with a slash between.
        """
        peers, now_ns = self._peers[topic], time.monotonic_ns()
        seen = peers.look(matched)
        for who in (peer.partition("/")[0] for peer in seen.gone):
            self._changes.append(SubscriptionChange("parted", topic, peers.given_up_ns(now_ns), now_ns, who))
        if (since_ns := seen.back_since_ns) is not None:
            again_ns = now_ns + round(QUIET_S * SECOND)
            self._changes.append(SubscriptionChange("unsubscribed", topic, since_ns, now_ns))
            self._changes.append(SubscriptionChange("subscribed", topic, now_ns, again_ns))

    def end(self) -> None:
        """Note that all subscriptions end now."""
        now_ns = time.monotonic_ns()
        self._changes += [SubscriptionChange("unsubscribed", topic, now_ns, now_ns) for topic in self._peers]

    def take(self) -> list[SubscriptionChange]:
        """Return which changes are over, each once; see `chaoskit.contract.clients.feed.FeedSubscriber.changes`."""
        now_ns = time.monotonic_ns()
        over = [change for change in self._changes if change.until_ns <= now_ns]
        self._changes = [change for change in self._changes if change.until_ns > now_ns]
        return over
