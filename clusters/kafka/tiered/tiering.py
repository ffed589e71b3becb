"""Up to which position partitions are in the object store, as their leaders tell."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from contextlib import suppress

from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.service import Placed
from chaoskit.model.place import Place
from clusters.kafka.deploy.probe import ANSWER_TIMEOUT_S, tiered_until
from clusters.kafka.deploy.requests import Refused
from clusters.kafka.settings import BROKER_PORT


class KafkaTiering:
    """The power `Tiering` of `chaoskit.contract.systems.service`.

    Args:
        brokers: the broker hosts.
    """

    def __init__(self, brokers: Sequence[ServiceHost]) -> None:
        self._addresses = {host.name: host.address for host in brokers}

    def tiered(self, placements: Sequence[Placed]) -> dict[Place, int]:
        until: dict[Place, int] = {}
        for placed in placements:
            if placed.leader in self._addresses:
                with suppress(OSError, struct.error, Refused):
                    address = self._addresses[placed.leader]
                    until[placed.place] = tiered_until(address, BROKER_PORT, placed.place, ANSWER_TIMEOUT_S)
        return until
