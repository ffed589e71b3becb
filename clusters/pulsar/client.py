"""Pulsar's clients, made for worker processes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaoskit.contract.client import Completed
from clusters.pulsar.consumer import PulsarAuditor, PulsarConsumer
from clusters.pulsar.producer import PulsarProducer
from clusters.pulsar.sequenced import PulsarSequencedProducer
from clusters.pulsar.subscriber import PulsarSubscriber


class PulsarClients:
    """See `chaoskit.contract.client.SequencedClients` and `SubscribingClients`."""

    def __init__(self, connection: Mapping[str, Any]) -> None:
        self._connection = connection

    def producer(self, settings: Mapping[str, Any], completed: Completed) -> PulsarProducer:
        return PulsarProducer(self._connection, settings, completed)

    def sequenced_producer(
        self, settings: Mapping[str, Any], name: str, completed: Completed
    ) -> PulsarSequencedProducer:
        return PulsarSequencedProducer(self._connection, settings, name, completed)

    def consumer(self, settings: Mapping[str, Any]) -> PulsarConsumer:
        return PulsarConsumer(self._connection, settings)

    def subscriber(self, settings: Mapping[str, Any], kind: str) -> PulsarSubscriber:
        return PulsarSubscriber(self._connection, settings, kind)

    def auditor(self, settings: Mapping[str, Any]) -> PulsarAuditor:
        return PulsarAuditor(self._connection)
