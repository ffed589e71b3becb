"""Quotas of clients: what they may send to, and receive from, each broker.

Sources: Kafka documentation, "Quotas"; KIP-13 and KIP-219 (a broker answers at once how long it holds a client back).
Layouts: Kafka protocol guide, AlterClientQuotas 1, Produce 3, Fetch 4.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from contextlib import suppress

from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.service import ServiceError
from clusters.kafka.deploy.requests import NO_TAGS, Refused, Response, check, compact, flexible, request, several, text
from clusters.kafka.settings import BROKER_PORT

_ALTER, _PRODUCE, _FETCH = (49, 1), (0, 3), (1, 4)
_KEYS = {"send": "producer_byte_rate", "receive": "consumer_byte_rate"}
_TIMEOUT_S = 3

_NOTHING_SENT = struct.pack(">hhii", -1, 1, 1000, 0)
"""A request to produce: no transaction, acks=1, a second, no topics."""

_NOTHING_READ = struct.pack(">iiii", -1, 0, 0, 1) + b"\0" + struct.pack(">i", 0)
"""A request to fetch: no replica, no wait, at most a byte, read uncommitted, no topics."""


class KafkaQuotas:
    """The power `ClientQuotas` of `chaoskit.contract.systems.operating`, by client ids.

    Args:
        brokers: the broker hosts.
    """

    def __init__(self, brokers: Sequence[ServiceHost]) -> None:
        self._brokers = brokers

    def limit(self, client: str, action: str, rate: int | None) -> None:
        refusals = []
        for host in self._brokers:
            refusal = self._altered(host, client, action, rate)
            if not refusal:
                return
            refusals.append(refusal)
        raise ServiceError(f"quota of {client}: {'; '.join(refusals)}")

    def throttled(self, client: str, action: str) -> dict[str, int]:
        held: dict[str, int] = {}
        for host in self._brokers:
            with suppress(OSError, struct.error):
                held[host.name] = _throttled_ms(host.address, client, action)
        if not held:
            raise ServiceError(f"quota of {client}: no broker tells")
        return held

    def _altered(self, host: ServiceHost, client: str, action: str, rate: int | None) -> str:
        """Ask a broker to have the controller set a quota; return why it did not, or empty."""
        entity = several(compact("client-id") + compact(client) + NO_TAGS)
        change = compact(_KEYS[action]) + struct.pack(">d?", rate or 0, rate is None) + NO_TAGS
        for_good = b"\0"
        asked = several(entity + several(change) + NO_TAGS) + for_good + NO_TAGS
        try:
            response = flexible(host.address, BROKER_PORT, _ALTER, asked, _TIMEOUT_S)
            response.skip(4)  # throttle time
            response.varint()  # one entry
            check(response.integer("h"))
        except (OSError, struct.error, Refused) as error:
            return f"{host.name}: {error or type(error).__name__}"
        return ""


def _throttled_ms(address: str, client: str, action: str) -> int:
    """Return for how long a broker holds a client back, as it says to a request of the same name for nothing."""
    api, body = (_PRODUCE, _NOTHING_SENT) if action == "send" else (_FETCH, _NOTHING_READ)
    response = Response(request(address, BROKER_PORT, api, body, _TIMEOUT_S, client=text(client)))
    if action == "send":
        response.skip(4)  # no topics
    return response.integer("i")
