"""Consumers that go back once and read again, by the system's own seek: a replay that was declared is no anomaly."""

from __future__ import annotations

import time
from collections.abc import Iterable

from chaoskit.base.quantities import MILLISECOND, SECOND
from chaoskit.contract.clients.client import SeekingConsumer
from chaoskit.contract.clients.recorder import Recorder
from chaoskit.load.partitioned import ReplayOptions
from chaoskit.model import payload
from chaoskit.model.message import Delivery
from chaoskit.model.observations.log import Sought
from chaoskit.model.outcome import INFO, OK
from chaoskit.model.place import Place

_AGAIN_NS = SECOND
"""How long a partition is left alone whose seek failed."""


class Replay:
    """Has one consumer go back in each partition that it has received something of, once it is time to.

    A seek that fails is tried again: by then, the partition may have another leader.

    Args:
        recorder: records the seeks.
        consumer: the consumer.
        wanted: when, how far, and how.
        start_ns: start of the load, CLOCK_MONOTONIC.
    """

    def __init__(self, recorder: Recorder, consumer: SeekingConsumer, wanted: ReplayOptions, start_ns: int) -> None:
        self._recorder = recorder
        self._consumer = consumer
        self._wanted = wanted
        self._by_time = wanted.by == "time"
        self._due_ns = start_ns + wanted.after
        self._since_ns = self._due_ns - wanted.back
        self._at_ms = (time.time_ns() - time.monotonic_ns() + self._since_ns) // MILLISECOND
        self._sought: dict[Place, int] = {}
        self._began = False

    def heard(self, deliveries: Iterable[Delivery]) -> None:
        """Note what a poll received; go back if it is time to."""
        now_ns = time.monotonic_ns()
        if not self._began and now_ns >= self._since_ns:
            self._note(deliveries)
        if now_ns >= self._due_ns and self._sought:
            self._began = True
            self._sought = {place: at for place, at in self._sought.items() if not self._went_back(place, at)}
            self._due_ns = time.monotonic_ns() + _AGAIN_NS

    def _note(self, deliveries: Iterable[Delivery]) -> None:
        """Remember the first message of each partition that is to be there again.

        By time, one that was certainly sent since then: what the system seeks is at or before it.
        """
        for place, first in {
            (delivery.topic, delivery.partition): delivery for delivery in reversed(list(deliveries))
        }.items():
            if not self._by_time or payload.read(first.payload, self._recorder.run_id)[3] >= self._since_ns:
                self._sought.setdefault(place, first.position)

    def _went_back(self, place: Place, position: int) -> bool:
        op = self._recorder.invoke("replay")
        self._recorder.observe(op, *place, Sought(self._wanted.by, self._wanted.back, position))
        if self._by_time:
            error = self._consumer.seek_to_time(place, self._at_ms)
        else:
            error = self._consumer.seek_to(place, position)
        self._recorder.complete(op, OK if error is None else INFO, error)
        return error is None
