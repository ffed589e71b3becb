"""Which transactions are open, as the leaders of partitions and the coordinators of transactions tell."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from contextlib import suppress

from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.service import OpenTransaction, Placed
from chaoskit.model.place import Place
from clusters.kafka import roles
from clusters.kafka.deploy.probe import open_since
from clusters.kafka.settings import BROKER_PORT

_ANSWER_TIMEOUT_S = 0.2
"""A running broker answers in milliseconds; a paused one must not hold up the others."""


class KafkaTransactionLooks:
    """The power `TransactionLooks` of `chaoskit.contract.systems.service`, from Kafka 3.0 on.

    A transaction is named by its transactional id; by the id of its producer if no coordinator knows that any more, as
    of one that hangs.

    Args:
        brokers: the broker hosts.
    """

    def __init__(self, brokers: Sequence[ServiceHost]) -> None:
        self._brokers = brokers

    def open_transactions(self, placements: Sequence[Placed]) -> list[OpenTransaction]:
        led: dict[str, list[Place]] = {}
        for placed in placements:
            led.setdefault(placed.leader, []).append(placed.place)
        since = []
        for host in self._brokers:
            if host.name in led:
                with suppress(OSError, struct.error):
                    since += open_since(host.address, BROKER_PORT, led[host.name], _ANSWER_TIMEOUT_S)
        if not since:
            return []
        names = {latest.producer: name for name, latest in roles.transactions(self._brokers).items()}
        return [
            OpenTransaction(place, position, names.get(producer, f"producer {producer}"))
            for place, producer, position in since
        ]
