"""One consumer of a Pulsar subscription of any type, with individual or cumulative acknowledgement.

pulsar-client has no receipts for acknowledgements: an acknowledgement that it accepts is `info`, one that it rejects is
`fail`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulsar

from chaoskit.contract.clients.client import Settlement
from chaoskit.model.message import Delivery
from chaoskit.model.outcome import FAIL, INFO, Outcome
from clusters.pulsar.clients.consumer import NO_RECEIPT, Partition, PulsarConsumer, Source, group_settings
from clusters.pulsar.connection import close_soon, full_name, name_of

TYPES = {
    "exclusive": pulsar.ConsumerType.Exclusive,
    "failover": pulsar.ConsumerType.Failover,
    "shared": pulsar.ConsumerType.Shared,
    "key-shared": pulsar.ConsumerType.KeyShared,
}
SUBSCRIBER_DEFAULTS = {"negative_ack_redelivery_delay_ms": 1000}
"""Defaults that differ from pulsar-client's: redelivery after a negative acknowledgement must happen within a run (the
library waits one minute)."""


class PulsarSubscriber(PulsarConsumer):
    """See `chaoskit.contract.clients.client.Subscriber`."""

    def __init__(self, connection: Mapping[str, Any], settings: Mapping[str, Any], kind: str) -> None:
        super().__init__(connection, settings)
        self._grouped, self._open = True, self._join
        self._kind = TYPES[kind]
        self._held: dict[tuple[str, int, int], pulsar.Message] = {}

    def join(self, partitions: Sequence[Partition]) -> None:
        self._sources = dict.fromkeys(partitions)

    def settle(self, deliveries: Sequence[Delivery], how: Settlement) -> tuple[Outcome, str | None]:
        for topic, partition, _, _, position, _ in deliveries:
            message = self._held.get((topic, partition, position))
            if message is None:
                continue  # it was delivered twice and has already been settled once
            covered = [(topic, partition, position)]
            if how == "ack-cumulative":
                covered = [at for at in self._held if at[:2] == (topic, partition) and at[2] <= position]
            for at in covered:
                del self._held[at]
            source: Any = self._sources[topic, partition]
            settle = {"ack": source.acknowledge, "nack": source.negative_acknowledge}
            try:
                settle.get(how, source.acknowledge_cumulative)(message)
            except pulsar.PulsarException as error:
                return FAIL, name_of(error)
        return INFO, NO_RECEIPT

    def close(self, *, abruptly: bool = False) -> None:
        if abruptly:
            close_soon(self._client)
        else:
            super().close()

    def _join(self, where: Partition) -> Source:
        settings = group_settings({**SUBSCRIBER_DEFAULTS, **self._settings}) | {"consumer_type": self._kind}
        earliest = pulsar.InitialPosition.Earliest
        return self._client.subscribe(full_name(*where), self._subscription, initial_position=earliest, **settings)

    def _delivery(self, where: Partition, message: pulsar.Message) -> Delivery:
        delivery = super()._delivery(where, message)
        self._held[(*where, delivery.position)] = message
        return delivery
