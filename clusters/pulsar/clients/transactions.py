"""The final read of logs with transactions, which may end with entries that brokers give to nobody."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaoskit.contract.clients.client import PositionLost
from chaoskit.contract.systems.service import ServiceError
from chaoskit.model.message import Delivery
from clusters.pulsar.clients.consumer import Partition, PulsarAuditor
from clusters.pulsar.positions import following, pack

_TIMEOUT_S = 5.0


class TransactionalAuditor(PulsarAuditor):
    """See `chaoskit.contract.clients.client.Auditor`. Where nothing comes, it asks whether anything can."""

    def __init__(self, connection: Mapping[str, Any]) -> None:
        super().__init__(connection)
        self._ends: dict[Partition, int] = {}

    def bounds(self, topic: str, partition: int, timeout_s: float) -> tuple[int, int]:
        low, end = super().bounds(topic, partition, timeout_s)
        self._ends[topic, partition] = end
        return low, end

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Delivery], list[PositionLost], str | None]:
        deliveries, lost, failure = super().poll(timeout_s, messages_max)
        if not deliveries and failure is None:
            for where, end in self._ends.items():
                if self.position(*where) < end and self._is_nothing(where, end):
                    self._passed[where] = end
        return deliveries, lost, failure

    def _is_nothing(self, where: Partition, end: int) -> bool:
        try:
            return all(
                self._admin.is_invisible(*where, ledger, entry, _TIMEOUT_S)
                for ledger, entry in following(self._admin.entries(*where, _TIMEOUT_S), self.position(*where))
                if pack(ledger, entry, 0) < end
            )
        except ServiceError:
            return False
