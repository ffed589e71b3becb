"""What a fault hits that has hosts of several: the system, the application under test and its database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.power import P, Powered, optional
from chaoskit.contract.systems.installation import Installation


class Together:
    """The system with the processes of others beside its own, each on its hosts; an `Installation`.

    Args:
        system: has all other powers.
        beside: the others.
    """

    def __init__(self, system: Any, beside: Sequence[Powered]) -> None:
        self._system = system
        known = (optional(part, Installation) for part in (system, *beside))
        self._of = {host: part for part in known if part is not None for host in part.hosts}
        self.hosts: Sequence[ServiceHost] = list(self._of)

    def power(self, kind: type[P]) -> P:
        return self if isinstance(self, kind) else self._system.power(kind)

    def wait_ready(self, timeout_s: float) -> None:
        """See `chaoskit.contract.systems.service.Service`."""
        self._system.wait_ready(timeout_s)

    def answers(self, host: ServiceHost, timeout_s: float = 0.5) -> bool:
        """See `chaoskit.contract.systems.installation.Installation`."""
        return self._of[host].answers(host, timeout_s)

    def start(self, host: ServiceHost) -> None:
        """See `chaoskit.contract.systems.installation.Installation`."""
        self._of[host].start(host)

    def services(self, host: ServiceHost) -> tuple[str, ...]:
        """See `chaoskit.contract.systems.installation.Installation`."""
        return self._of[host].services(host)
