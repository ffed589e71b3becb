"""Up to which position partitions are in the object store, as their leaders tell."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.model.place import Place
from clusters.kafka.deploy.probe import PartitionState, tiered_until
from clusters.kafka.deploy.requests import Refused
from clusters.kafka.settings import BROKER_PORT

_ANSWER_TIMEOUT_S = 0.2
"""A running broker answers in milliseconds; a paused one must not hold up the others."""


class KafkaTiering:
    """The power `Tiering` of `chaoskit.contract.systems.service`.

    Args:
        brokers: the broker hosts; the id of a broker counts from 1.
        states: returns the state of each partition of the trial.
    """

    def __init__(self, brokers: Sequence[ServiceHost], states: Callable[[], Mapping[Place, PartitionState]]) -> None:
        self._brokers = brokers
        self._states = states

    def tiered(self) -> dict[Place, int]:
        until: dict[Place, int] = {}
        for place, state in self._states().items():
            if 0 < state.leader <= len(self._brokers):
                address = self._brokers[state.leader - 1].address
                with suppress(OSError, struct.error, Refused):
                    until[place] = tiered_until(address, BROKER_PORT, place, _ANSWER_TIMEOUT_S)
        return until
