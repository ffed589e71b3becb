"""Hosts of others, with services under a supervisor of their owner's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.hosts.shell import bash
from chaoskit.contract.systems.installation import Installed

_START_S = 120
"""How long a supervisor of theirs may take to start a service."""


@runtime_checkable
class Owned(Protocol):
    """Optional power of a host: it belongs to somebody, whose services have a supervisor that starts them again.

    Scripts are for a shell on the host, as root.

    Attributes:
        id: id of its node in the system; empty until it is known, and then set by `chaoskit.contract.systems.attach`.
        services: names of the services.
    """

    id: str

    @property
    def services(self) -> tuple[str, ...]: ...

    def start_script(self, name: str) -> str:
        """Return the script that has the supervisor start a service; it does nothing if it runs."""
        ...

    def kill_script(self, name: str) -> str:
        """Return the script that kills a service, and keeps its supervisor from starting it until `start_script`."""
        ...

    def signal_script(self, name: str, signal: str) -> str:
        """Return the script that sends a signal to every process of a service."""
        ...


def owned_installation(hosts: Sequence[ServiceHost], answers: Callable[..., bool]) -> Installed:
    """Return the installation on hosts that are all `Owned`."""
    return Installed(hosts, answers, _start, lambda host: host.power(Owned).services)


def _start(host: ServiceHost) -> None:
    owned = host.power(Owned)
    for name in owned.services:
        bash(host, owned.start_script(name), timeout_s=_START_S)
