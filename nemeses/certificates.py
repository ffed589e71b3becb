"""Certificates of hosts that expire under load, and are renewed."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from chaoskit.base.parallel import on_each
from chaoskit.base.waiting import wait_while
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import Nemesis, NemesisError, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.systems.operating import Certificates
from chaoskit.contract.systems.service import ServiceError

_KNOWN_WITHIN_S = 10
"""How long until hosts show the certificate that they were given."""

_EXPIRED = "expired"


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
