"""Pulsar's producer with a persistent name and application-defined sequence ids, for deduplication by brokers.

pulsar-client treats a sequence id of 0 as unset, so sequence ids start at 1. On a new connection, `last_sequence_id`
is the highest one that the owner has *begun* to write (`MessageDeduplication.getLastPublishedSequenceId`, Pulsar
4.0.7), or -1 without deduplication.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulsar

from chaoskit.contract.clients.client import Completed, Unreachable
from clusters.pulsar.clients.producer import PulsarProducer
from clusters.pulsar.connection import close_soon, name_of

_NAME = "producer_name"
_CONNECT_S = 2
"""Time limit for connecting to an unreachable owner; the producer then retries."""


class PulsarSequencedProducer(PulsarProducer):
    """See `chaoskit.contract.clients.client.SequencedProducer`."""

    def __init__(
        self, connection: Mapping[str, Any], settings: Mapping[str, Any], name: str, completed: Completed
    ) -> None:
        super().__init__(connection, {_NAME: name, **settings}, completed, operation_timeout_seconds=_CONNECT_S)

    def send_as(  # noqa: PLR0917 - as the protocol
        self, topic: str, partition: int, key: bytes | None, payload: bytes, token: int, sequence: int
    ) -> bool:
        return self._hand_over((topic, partition), key, payload, token, sequence_id=sequence)

    def last_sequence(self, topic: str, partition: int) -> int:
        try:
            return int(self._producer((topic, partition)).last_sequence_id())
        except pulsar.PulsarException as error:
            raise Unreachable(name_of(error)) from error

    def abandon(self) -> None:
        self._closing = True
        close_soon(self._client)
        self._give_up()
