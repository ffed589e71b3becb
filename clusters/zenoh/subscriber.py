"""The subscriber."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Any

import zenoh
from zenoh import ext

from chaoskit.base.waiting import wait_until
from chaoskit.contract.clients.feed import SubscriptionChange
from chaoskit.model.message import NO_POSITION, Delivery
from clusters.common.guarantees.stays import Stays
from clusters.common.matching import settle
from clusters.zenoh.presence import PUBLISHER, SUBSCRIBER, Presence
from clusters.zenoh.session import AGAIN_S, OPEN_S, opened
from clusters.zenoh.settings import LEASE_NS, ZenohSubscriberSettings

_ALL_TOPICS = "*"


class ZenohSubscriber:
    """See `chaoskit.contract.clients.feed.FeedSubscriber`.

    Args:
        connection: what clients are told.
        routers: addresses of the routers, in the order in which they are tried.
        settings: the quality of service.
        topics: the topics to subscribe to.
        name: the client's name.
    """

    def __init__(
        self,
        connection: Mapping[str, Any],
        routers: Sequence[str],
        settings: ZenohSubscriberSettings,
        topics: Sequence[str],
        *,
        name: str,
    ) -> None:
        self._connection = connection
        self._routers = routers
        self._name = name
        self._settings = settings
        self._topics = topics
        self._wanted = frozenset(topics)
        self._arrived: SimpleQueue[zenoh.Sample] = SimpleQueue()
        self._subscribers: list[zenoh.Subscriber[None] | ext.AdvancedSubscriber[None]] = []
        self._presence: Presence | None = None
        self._stays = Stays(topics, connection[LEASE_NS])
        wait_until(self._open, OPEN_S, every_s=AGAIN_S)

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Delivery], str | None]:
        if self._presence is None and not self._open():
            time.sleep(min(timeout_s, AGAIN_S))
            return [], "no router answers"
        self._look()
        deliveries: list[Delivery] = []
        try:
            deliveries.append(_delivery(self._arrived.get(timeout=timeout_s)))
            while len(deliveries) < messages_max:
                deliveries.append(_delivery(self._arrived.get_nowait()))
        except Empty:
            pass
        if self._settings.wildcard:
            deliveries = [delivery for delivery in deliveries if delivery.topic in self._wanted]
        return deliveries, None

    def changes(self) -> list[SubscriptionChange]:
        return self._stays.take()

    def close(self, *, abruptly: bool = False) -> None:
        if self._presence:
            self._stays.end()
            self._presence.close()
        for subscriber in self._subscribers:
            subscriber.undeclare()  # type: ignore[no-untyped-call]
        self._subscribers.clear()

    def _open(self) -> bool:
        """Open the session, subscribe, and wait until all publishers are known; return whether that was possible."""
        since_ns = time.monotonic_ns()
        try:
            session = opened(self._connection, self._routers)
        except zenoh.ZError:
            return False
        wanted = [_ALL_TOPICS] if self._settings.wildcard else self._topics
        self._subscribers = [self._declared(session, topic) for topic in wanted]
        presence = self._presence = Presence(session, self._name, self._topics, SUBSCRIBER, PUBLISHER)
        settle(presence.count)
        self._stays.begin(since_ns, presence.of)
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
        for topic in self._topics:
            self._stays.look(topic, self._presence.of(topic))


def _delivery(sample: zenoh.Sample) -> Delivery:
    return Delivery(str(sample.key_expr), 0, None, sample.payload.to_bytes(), NO_POSITION, None)
