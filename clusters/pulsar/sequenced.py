"""Pulsar's producer with a lasting name and sequence ids of the application, for brokers' deduplication.

pulsar-client takes a sequence id of 0 for none at all, so that ours begin at 1. What `last_sequence_id` tells on a new
connection is the highest one that the owner has *begun* to write (`MessageDeduplication.getLastPublishedSequenceId`,
Pulsar 4.0.7), or -1 without deduplication.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pulsar

from chaoskit.client import Completed, Unreachable
from clusters.pulsar.connection import name_of
from clusters.pulsar.producer import PulsarProducer

_NAME = "producer_name"
_ABANDON_S = 0.5
"""How long a client that is given up may take to tell the broker."""


class PulsarSequencedProducer(PulsarProducer):
    """See `chaoskit.client.SequencedProducer`."""

    def __init__(
        self, connection: Mapping[str, Any], settings: Mapping[str, Any], name: str, completed: Completed
    ) -> None:
        super().__init__(connection, {_NAME: name, **settings}, completed)

    def send_as(  # noqa: PLR0917 - as the protocol
        self, topic: str, partition: int, key: bytes | None, payload: bytes, token: int, sequence: int
    ) -> bool:
        return self._hand_over((topic, partition), key, payload, token, sequence)

    def last_sequence(self, topic: str, partition: int) -> int:
        try:
            return int(self._producer((topic, partition)).last_sequence_id())
        except pulsar.PulsarException as error:
            raise Unreachable(name_of(error)) from error

    def abandon(self) -> None:
        # What is pending is failed at once. The rest of the close may take as long as an operation may. Not `shutdown`:
        # it keeps Python's lock while it waits for a thread of the client that may want it for a callback, some 30 s.
        self._closing = True
        closing = threading.Thread(target=self._close, daemon=True)
        closing.start()
        closing.join(_ABANDON_S)
        self._give_up()

    def _close(self) -> None:
        with suppress(pulsar.PulsarException):
            self._client.close()
