"""Rights of clients that are withdrawn under load, certificates that expire; both are given back."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from chaoskit.base.parallel import on_each
from chaoskit.base.waiting import wait_while
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import Nemesis, NemesisError, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.systems.installation import Installation
from chaoskit.contract.systems.operating import AccessControl, Certificates
from chaoskit.contract.systems.service import ServiceError

_KNOWN_WITHIN_S = 10
"""How long until the hosts that are asked know of it."""

_EXPIRED = "expired"


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


class ExpireCertificates(Nemesis):
    """Gives the hosts certificates that have expired: connections stay, and no new one is made; healing renews them."""

    summary = "have the certificates that hosts show to clients expire; renew them afterwards"
    family = "membership"
    does = Act.NONE
    renews = False
    service_powers = (Certificates,)

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return ()

    def inject(self, strike: Strike) -> None:
        for host in strike.hosts:
            strike.service.power(Certificates).expire(host)

    def verify(self, strike: Strike) -> Evidence:
        refusals: dict[str, str] = {}

        def trusted() -> str:
            """Look once: another fault may break the connection with which it looks."""
            try:
                refusals.update(_refusals(strike))
            except ServiceError as error:
                return str(error)
            return ", ".join(name for name, refusal in refusals.items() if _EXPIRED not in refusal)

        if names := wait_while(trusted, _KNOWN_WITHIN_S):
            raise NemesisError(f"clients still trust {names}")
        return Evidence("; ".join(f"{name}: {refusal}" for name, refusal in refusals.items()))

    def heal(self, strike: Strike) -> None:
        on_each(strike.hosts, strike.service.power(Certificates).renew)

    def verify_healed(self, strike: Strike) -> Evidence:
        def refused() -> str:
            try:
                return "; ".join(f"{name}: {refusal}" for name, refusal in _refusals(strike).items() if refusal)
            except ServiceError as error:
                return str(error)

        if refusals := wait_while(refused, _KNOWN_WITHIN_S):
            raise NemesisError(f"clients still refuse {refusals}")
        return Evidence(f"clients trust {strike.names}")


def _refusals(strike: Strike) -> dict[str, str]:
    """Return why clients refuse the certificate of each target; empty if they do not."""
    return {host.name: strike.service.power(Certificates).refusal(host) for host in strike.hosts}
