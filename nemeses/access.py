"""Rights of clients that are withdrawn under load, and given back."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from chaoskit.base.waiting import wait_while
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import Nemesis, NemesisError, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.systems.installation import Installation
from chaoskit.contract.systems.operating import AccessControl

_KNOWN_WITHIN_S = 10
"""How long until the brokers that are asked know of it."""


class Right(BaseModel):
    """Parameters. `action`: what clients may not do any more: `send` or `receive`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    action: Literal["send", "receive"]


class WithdrawAccess(Nemesis):
    """Forbids clients to send to the workload's topics, or to receive from them; healing allows it again."""

    summary = "forbid clients to send or to receive, by access control lists; allow it again afterwards"
    family = "membership"
    does = Act.BREAKS
    parameters = Right
    renews = False
    service_powers = (Installation, AccessControl)

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return ()

    def inject(self, strike: Strike) -> None:
        targets = {host.name for host in strike.hosts}
        if missed := [host.name for host in strike.service.power(Installation).hosts if host.name not in targets]:
            raise NemesisError(f"clients are refused everywhere, also by {', '.join(missed)}; write on: all")
        strike.service.power(AccessControl).withdraw(strike.parameters.action)

    def verify(self, strike: Strike) -> Evidence:
        return Evidence(f"clients may not {_await(strike, allowed=False)}")

    def heal(self, strike: Strike) -> None:
        strike.service.power(AccessControl).give_back(strike.parameters.action)

    def verify_healed(self, strike: Strike) -> Evidence:
        return Evidence(f"clients may {_await(strike, allowed=True)}")


def _await(strike: Strike, *, allowed: bool) -> str:
    """Wait until a client that asks may do it, or may not, with each topic; return what, in words.

    Raises:
        NemesisError: it does not become so.
    """
    action, power = strike.parameters.action, strike.service.power(AccessControl)

    def others() -> str:
        return ", ".join(topic for topic, may in power.allowed(action).items() if may is not allowed)

    if topics := wait_while(others, _KNOWN_WITHIN_S):
        raise NemesisError(f"clients may {'not ' if allowed else 'still '}{action}: {topics}")
    return f"{action}: {', '.join(power.allowed(action))}"
