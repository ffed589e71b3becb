"""Quotas that an operator sets for clients under load, and removes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from chaoskit.base.quantities import Size, format_size
from chaoskit.base.waiting import wait_while
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import Nemesis, NemesisError, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.systems.operating import ClientQuotas

_THROTTLED_WITHIN_S = 15
"""A broker counts over some ten seconds; a client that waits for others sends less than it could."""

_FREE_WITHIN_S = 30
"""What it sent before still counts for some ten seconds, where another quota is left."""


class ClientRate(BaseModel):
    """Parameters. `action`: what is limited: what clients `send`, or `receive`. `rate`: bytes per second and broker."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    action: Literal["send", "receive"]
    rate: Annotated[Size, Field(ge=1)]


class ClientQuota(Nemesis):
    """Limits how much clients may send or receive; who exceeds it is held back. Healing removes the limit."""

    summary = "limit by a quota how much clients may send or receive; remove it afterwards"
    family = "client"
    hits = "clients"
    does = Act.SLOWS
    parameters = ClientRate
    service_powers = (ClientQuotas,)

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return ()

    def inject(self, strike: Strike) -> None:
        for client in strike.clients:
            strike.service.power(ClientQuotas).limit(client.name, strike.parameters.action, strike.parameters.rate)

    def verify(self, strike: Strike) -> Evidence:
        waits = [_await(strike, client.name, throttled=True) for client in strike.clients]
        return Evidence.of_all(waits)

    def heal(self, strike: Strike) -> None:
        for client in strike.clients:
            strike.service.power(ClientQuotas).limit(client.name, strike.parameters.action, None)

    def verify_healed(self, strike: Strike) -> Evidence:
        return Evidence.of_all([_await(strike, client.name, throttled=False) for client in strike.clients])


def _await(strike: Strike, client: str, *, throttled: bool) -> str:
    """Wait until a broker holds a client back, or none does; return by how much, in words.

    Raises:
        NemesisError: it does not become so.
    """
    action, rate = strike.parameters.action, strike.parameters.rate
    held: dict[str, int] = {}

    def otherwise() -> bool:
        held.update(strike.service.power(ClientQuotas).throttled(client, action))
        return any(held.values()) is not throttled

    if wait_while(otherwise, _THROTTLED_WITHIN_S if throttled else _FREE_WITHIN_S, every_s=0.2):
        if not throttled:
            raise NemesisError(f"{client} is still held back: {_in_words(held)}")
        raise NemesisError(
            f"no broker holds {client} back: it does not {action} {format_size(rate)} per second, or has another "
            "client.id"
        )
    return f"{client} is held back by {_in_words(held)}" if throttled else f"no broker holds {client} back"


def _in_words(held: dict[str, int]) -> str:
    return ", ".join(f"{host} for {ms:,} ms" for host, ms in sorted(held.items()) if ms)
