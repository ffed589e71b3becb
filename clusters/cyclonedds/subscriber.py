"""The subscriber: a reader for each topic."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from cyclonedds.core import DDSException, InstanceState, Policy, ReadCondition, SampleState, ViewState, WaitSet
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic

from chaoskit.base.quantities import SECOND
from chaoskit.contract.clients.feed import SubscriptionChange
from chaoskit.model.message import NO_POSITION, Delivery
from clusters.common.guarantees.stays import Stays
from clusters.common.matching import settle
from clusters.cyclonedds.alarms import Alarms
from clusters.cyclonedds.matching import known
from clusters.cyclonedds.message import CycloneMessage
from clusters.cyclonedds.participant import participant, qos_of
from clusters.cyclonedds.settings import LEASE_NS, EndpointSettings

_ANY = SampleState.Any | ViewState.Any | InstanceState.Any


class CycloneSubscriber:
    """See `chaoskit.contract.clients.feed.FeedSubscriber`.

    Args:
        connection: what clients are told.
        settings: the quality of service.
        topics: the topics to subscribe to.
    """

    def __init__(self, connection: Mapping[str, Any], settings: EndpointSettings, topics: Sequence[str]) -> None:
        domain, qos = participant(connection), qos_of(settings)
        since_ns = time.monotonic_ns()
        self._alarms = Alarms(self._writer)
        self._readers = {
            topic: DataReader(
                domain, Topic(domain, topic, CycloneMessage), qos=qos, listener=self._alarms.listener(topic)
            )
            for topic in topics
        }
        self._waits = WaitSet(domain)
        self._conditions = [ReadCondition(reader, _ANY) for reader in self._readers.values()]
        for condition in self._conditions:
            self._waits.attach(condition)
        settle(lambda: sum(len(known(reader.get_matched_publications)) for reader in self._readers.values()))
        self._stays = Stays(topics, connection[LEASE_NS])
        self._stays.begin(since_ns, lambda topic: _matched(self._readers[topic]))

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Delivery], str | None]:
        self._look()
        deliveries: list[Delivery] = []
        try:
            self._waits.wait(round(timeout_s * SECOND))
            for topic, reader in self._readers.items():
                if (left := messages_max - len(deliveries)) > 0:
                    samples = (sample for sample in reader.take(left) if isinstance(sample, CycloneMessage))
                    deliveries += [Delivery(topic, 0, None, sample.payload, NO_POSITION, None) for sample in samples]
        except DDSException as error:
            return deliveries, str(error)
        return deliveries, None

    def changes(self) -> list[SubscriptionChange]:
        return [*self._alarms.take(), *self._stays.take()]

    def close(self, *, abruptly: bool = False) -> None:
        self._stays.end()
        del self._waits
        self._conditions.clear()
        self._readers.clear()

    def _look(self) -> None:
        """Take note of writers that are back: what they wrote meanwhile was written for nobody."""
        for topic, reader in self._readers.items():
            status: Any = reader.get_subscription_matched_status()  # type: ignore[no-untyped-call]
            if status.current_count_change:
                self._stays.look(topic, _matched(reader))

    def _writer(self, topic: str, handle: int) -> str:
        """Return the name that a matched writer carries; empty if it is not matched any more."""
        reader = self._readers.get(topic)
        publication = reader.get_matched_publication_data(handle) if reader else None
        return _name(publication.qos) if publication else ""


def _matched(reader: DataReader[CycloneMessage]) -> list[str]:
    """Return the writers, each by the name that it carries and its key."""
    data = (reader.get_matched_publication_data(handle) for handle in known(reader.get_matched_publications))
    return [f"{_name(publication.qos)}/{publication.key}" for publication in data if publication is not None]


def _name(qos: Any) -> str:
    carried = qos[Policy.Userdata]
    return carried.data.decode(errors="replace") if carried else ""
