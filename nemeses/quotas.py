"""Quotas that an operator sets for clients under load, and removes."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from chaoskit.base.quantities import Size, format_size
from chaoskit.base.waiting import wait_while
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import Nemesis, NemesisError, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.systems.operating import ClientQuotas
from chaoskit.contract.systems.service import ServiceError

_LOOK_S = 0.2
_THROTTLED_WITHIN_S = 15
"""A broker counts over some ten seconds; a client that waits for others sends less than it could."""

_FREE_WITHIN_S = 30
"""What it sent before still counts for some ten seconds, where another quota is left."""


@dataclass(slots=True)
class _HeldBack:
    """Until when brokers hold back what had exceeded the limit before it was removed, s of the monotonic clock."""

    until_s: float = 0


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
        return {HostPart.CLIENT}

    def inject(self, strike: Strike) -> None:
        for client in strike.clients:
            strike.service.power(ClientQuotas).limit(client.name, strike.parameters.action, strike.parameters.rate)

    def verify(self, strike: Strike) -> Evidence:
        return Evidence.of_all([_await_throttled(strike, client.name) for client in strike.clients])

    def heal(self, strike: Strike) -> None:
        back = strike.kept(_HeldBack)
        for client in strike.clients:
            held_ms = max(_held(strike, client.name).values(), default=0)
            strike.service.power(ClientQuotas).limit(client.name, strike.parameters.action, None)
            back.until_s = max(back.until_s, time.monotonic() + held_ms / 1000)

    def verify_healed(self, strike: Strike) -> Evidence:
        free = [_await_free(strike, client.name) for client in strike.clients]
        # A connection that is held back stays so for as long as its broker had said before the limit was removed.
        time.sleep(max(strike.kept(_HeldBack).until_s - time.monotonic(), 0))
        return Evidence.of_all(free)


def _await_throttled(strike: Strike, client: str) -> str:
    """Wait until a broker holds a client back; return by how much, in words.

    Raises:
        NemesisError: none does.
    """
    held: dict[str, int] = {}

    def is_free() -> bool:
        held.update(_held(strike, client))
        return not any(held.values())

    if wait_while(is_free, _THROTTLED_WITHIN_S, every_s=_LOOK_S):
        raise NemesisError(
            f"no broker holds {client} back: it does not {strike.parameters.action} "
            f"{format_size(strike.parameters.rate)} per second, or has another client.id"
        )
    return f"{client} is held back by {_in_words(held)}"


def _await_free(strike: Strike, client: str) -> str:
    """Wait until no broker holds a client back, of those that answer; return that in words.

    Raises:
        NemesisError: one does, or none answers.
    """

    def is_held() -> str:
        held = _held(strike, client)
        return _in_words(held) if held else "no broker tells"

    if why := wait_while(is_held, _FREE_WITHIN_S, every_s=_LOOK_S):
        raise NemesisError(f"{client} may still be held back: {why}")
    return f"no broker holds {client} back"


def _held(strike: Strike, client: str) -> dict[str, int]:
    """Return for how long each broker that answers holds a client back, ms; another fault may hold brokers."""
    try:
        return strike.service.power(ClientQuotas).throttled(client, strike.parameters.action)
    except ServiceError:
        return {}


def _in_words(held: dict[str, int]) -> str:
    return ", ".join(f"{host} for {ms:,} ms" for host, ms in sorted(held.items()) if ms)
