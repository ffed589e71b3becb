"""Other faults that hold on a host at the same time, and that a proof must not be fooled by."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from chaoskit.contract.faults.nemesis import NemesisError, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.hosts.host import ServiceHost


def others(strike: Strike, host: ServiceHost, *parts: HostPart) -> str:
    """Return the other faults that occupy one of the parts, or any, of a host now, in words; empty if there is none."""
    beside = strike.beside(host).items()
    return ", ".join(fault for fault, occupied in beside if not parts or set(parts) & set(occupied))


def prove_healed(strike: Strike, hosts: Iterable[ServiceHost], prove: Callable[[], str]) -> str:
    """Return evidence of the healing; if another fault on one of the hosts prevents it, prove it once no fault holds.

    Raises:
        NemesisError: it is not healed, and no other fault holds on these hosts.
    """
    try:
        return prove()
    except NemesisError as error:
        holding = dict.fromkeys(other for host in hosts for other in strike.beside(host))
        if not holding:
            raise
        strike.owed.append(prove)
        return f"not proved while {', '.join(holding)} holds: {error}"
