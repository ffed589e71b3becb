"""Which transactions are open, as the leaders of partitions and the coordinators of transactions tell."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from chaoskit.base.parallel import on_each
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.service import OpenTransaction, Placed
from chaoskit.model.place import Place
from clusters.kafka import roles
from clusters.kafka.artifacts import parse_version
from clusters.kafka.deploy.probe import ANSWER_TIMEOUT_S, open_since
from clusters.kafka.settings import BROKER_PORT, KafkaOptions

_SINCE = (3,)
"""The first release whose brokers answer both questions (KIP-664)."""


class KafkaTransactionLooks:
    """The power `TransactionLooks` of `chaoskit.contract.systems.service`.

    A transaction is named by its transactional id; by the id of its producer if no coordinator knows that any more, as
    of one that hangs.

    Args:
        brokers: the broker hosts.
    """

    def __init__(self, brokers: Sequence[ServiceHost]) -> None:
        self._brokers = brokers

    def open_transactions(self, placements: Sequence[Placed]) -> dict[Place, list[OpenTransaction]]:
        led: dict[str, list[Place]] = {}
        for placed in placements:
            led.setdefault(placed.leader, []).append(placed.place)

        def ask(host: ServiceHost) -> dict[Place, list[tuple[int, int]]]:
            try:
                return open_since(host.address, BROKER_PORT, led[host.name], ANSWER_TIMEOUT_S)
            except (OSError, struct.error):
                return {}

        leaders = [host for host in self._brokers if host.name in led]
        since = {place: own for answer in on_each(leaders, ask) for place, own in answer.items()}
        names: dict[int, str] = {}
        if any(since.values()):
            names = {latest.producer: name for name, latest in roles.transactions(self._brokers).items()}
        return {
            place: [
                OpenTransaction(begin, producer, names.get(producer, f"producer {producer}")) for producer, begin in own
            ]
            for place, own in since.items()
        }


def transaction_looks(options: KafkaOptions, brokers: Sequence[ServiceHost]) -> list[KafkaTransactionLooks]:
    """Return what tells of the transactions of a cluster: nothing where brokers ask for a login, or are too old."""
    tell = options.security is None and parse_version(options.version) >= _SINCE
    return [KafkaTransactionLooks(brokers)] if tell else []
