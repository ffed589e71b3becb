"""The publisher. A send is acknowledged once `put` has returned, which promises nothing about subscribers."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import zenoh
from zenoh import ext

from chaoskit.base.quantities import SECOND
from chaoskit.base.waiting import wait_until
from chaoskit.contract.clients.client import Completed
from chaoskit.model.outcome import FAIL, INFO, OK
from clusters.common.matching import settle
from clusters.zenoh.configuration import said
from clusters.zenoh.presence import PUBLISHER, SUBSCRIBER, Presence
from clusters.zenoh.session import AGAIN_S, OPEN_S, opened
from clusters.zenoh.settings import ZenohPublisherSettings

_CONGESTION = {"drop": zenoh.CongestionControl.DROP, "block": zenoh.CongestionControl.BLOCK}
_RELIABILITY = {"best-effort": zenoh.Reliability.BEST_EFFORT, "reliable": zenoh.Reliability.RELIABLE}


class ZenohPublisher:
    """See `chaoskit.contract.clients.client.Producer`.

    Args:
        connection: what clients are told.
        routers: addresses of the routers, in the order in which they are tried.
        settings: the quality of service.
        topics: the topics that it publishes to.
        completed: called once per send.
        name: the client's name.
    """

    def __init__(
        self,
        connection: Mapping[str, Any],
        routers: Sequence[str],
        settings: ZenohPublisherSettings,
        topics: Sequence[str],
        completed: Completed,
        *,
        name: str,
    ) -> None:
        self._connection = connection
        self._routers = routers
        self._name = name
        self._settings = settings
        self._topics = topics
        self._completed = completed
        self._publishers: dict[str, zenoh.Publisher | ext.AdvancedPublisher] = {}
        self._presence: Presence | None = None
        wait_until(self._open, OPEN_S, every_s=AGAIN_S)

    def send(self, topic: str, partition: int, key: bytes | None, payload: bytes, token: int) -> bool:
        if not self._publishers and not self._open():
            self._completed(token, FAIL, "no router answers", None)
            return True
        try:
            self._publishers[topic].put(payload)
        except zenoh.ZError as error:
            self._completed(token, INFO, said(error), None)
        else:
            self._completed(token, OK, None, None)
        return True

    def pending(self) -> int:
        return 0

    def poll(self, timeout_s: float) -> None:
        time.sleep(timeout_s)

    def close(self, timeout_s: float) -> None:
        if self._presence:
            self._presence.close()
        for publisher in self._publishers.values():
            publisher.undeclare()  # type: ignore[no-untyped-call]
        self._publishers.clear()

    def _open(self) -> bool:
        """Open the session, and wait until all subscribers are known; return whether a router, or a peer, is there."""
        try:
            session = opened(self._connection, self._routers)
        except zenoh.ZError:
            return False
        self._publishers = {topic: self._declared(session, topic) for topic in self._topics}
        self._presence = Presence(session, self._name, self._topics, PUBLISHER, SUBSCRIBER)
        settle(self._presence.count)
        return True

    def _declared(self, session: zenoh.Session, topic: str) -> zenoh.Publisher | ext.AdvancedPublisher:
        settings = self._settings
        quality: dict[str, Any] = {
            "congestion_control": _CONGESTION[settings.congestion],
            "priority": getattr(zenoh.Priority, settings.priority.upper().replace("-", "_")),
            "express": settings.express,
            "reliability": _RELIABILITY[settings.qos],
        }
        if not settings.cache:
            return session.declare_publisher(topic, **quality)
        beats = ext.MissDetectionConfig(heartbeat=None, sporadic_heartbeat=settings.heartbeat / SECOND)
        cache = ext.CacheConfig(settings.cache)
        return ext.declare_advanced_publisher(
            session, topic, cache=cache, sample_miss_detection=beats, publisher_detection=True, **quality
        )
