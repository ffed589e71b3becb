"""The subscriber."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Any

import zenoh
from zenoh import ext

from chaoskit.base.quantities import SECOND
from chaoskit.contract.feed import SubscriptionChange
from chaoskit.contract.recording import NO_POSITION, Delivery
from clusters.common.matching import QUIET_S, Peers, settle
from clusters.zenoh.presence import PUBLISHER, SUBSCRIBER, Presence
from clusters.zenoh.session import opened
from clusters.zenoh.settings import LEASE_NS, SubscriberSettings

_AGAIN_S = 0.2
_OPEN_S = 3.0


class ZenohSubscriber:
    """See `chaoskit.contract.feed.FeedSubscriber`.

    Args:
        connection: what clients are told.
        routers: addresses of the routers, in the order in which they are tried.
        settings: the quality of service.
        topics: the topics to subscribe to.
    """

    def __init__(
        self, connection: Mapping[str, Any], routers: Sequence[str], settings: SubscriberSettings, topics: Sequence[str]
    ) -> None:
        self._connection = connection
        self._routers = routers
        self._settings = settings
        self._topics = topics
        self._arrived: SimpleQueue[zenoh.Sample] = SimpleQueue()
        self._subscribers: list[zenoh.Subscriber[None] | ext.AdvancedSubscriber[None]] = []
        self._presence: Presence | None = None
        self._peers = {topic: Peers(connection[LEASE_NS]) for topic in topics}
        self._changes: list[SubscriptionChange] = []
        deadline = time.monotonic() + _OPEN_S
        while not self._open() and time.monotonic() < deadline:
            time.sleep(_AGAIN_S)

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Delivery], str | None]:
        if self._presence is None and not self._open():
            time.sleep(min(timeout_s, _AGAIN_S))
            return [], "no router answers"
        self._look()
        found: list[Delivery] = []
        try:
            found.append(_delivery(self._arrived.get(timeout=timeout_s)))
            while len(found) < messages_max:
                found.append(_delivery(self._arrived.get_nowait()))
        except Empty:
            pass
        return found, None

    def changes(self) -> list[SubscriptionChange]:
        now_ns = time.monotonic_ns()
        told = [each for each in self._changes if each.until_ns <= now_ns]
        self._changes = [each for each in self._changes if each.until_ns > now_ns]
        return told

    def close(self, *, abruptly: bool = False) -> None:
        now_ns = time.monotonic_ns()
        if self._presence:
            self._changes += [SubscriptionChange("unsubscribed", topic, now_ns, now_ns) for topic in self._topics]
            self._presence.close()
        for each in self._subscribers:
            each.undeclare()  # type: ignore[no-untyped-call]
        self._subscribers.clear()

    def _open(self) -> bool:
        """Open the session, subscribe, and wait until all publishers are known; return whether that was possible."""
        since_ns = time.monotonic_ns()
        try:
            session = opened(self._connection, self._routers)
        except zenoh.ZError:
            return False
        self._subscribers = [self._declared(session, topic) for topic in self._topics]
        presence = self._presence = Presence(session, self._topics, SUBSCRIBER, PUBLISHER)
        settle(presence.count)
        for topic, peers in self._peers.items():
            peers.look(presence.of(topic))
        now_ns = time.monotonic_ns()
        self._changes += [SubscriptionChange("subscribed", topic, since_ns, now_ns) for topic in self._topics]
        return True

    def _declared(self, session: zenoh.Session, topic: str) -> zenoh.Subscriber[None] | ext.AdvancedSubscriber[None]:
        settings = self._settings
        if not settings.recovery and not settings.history:
            return session.declare_subscriber(topic, self._arrived.put)
        recovery = ext.RecoveryConfig(periodic_queries=None, heartbeat=True) if settings.recovery else None
        history = ext.HistoryConfig(max_samples=settings.history) if settings.history else None
        return ext.declare_advanced_subscriber(session, topic, self._arrived.put, recovery=recovery, history=history)

    def _look(self) -> None:
        """Take note of publishers that are back: what they published meanwhile was published for nobody."""
        if self._presence is None:
            return
        for topic, peers in self._peers.items():
            if (since_ns := peers.look(self._presence.of(topic))) is not None:
                now_ns = time.monotonic_ns()
                again_ns = now_ns + round(QUIET_S * SECOND)
                self._changes.append(SubscriptionChange("unsubscribed", topic, since_ns, now_ns))
                self._changes.append(SubscriptionChange("subscribed", topic, now_ns, again_ns))


def _delivery(sample: zenoh.Sample) -> Delivery:
    return Delivery(str(sample.key_expr), 0, None, sample.payload.to_bytes(), NO_POSITION, None)
