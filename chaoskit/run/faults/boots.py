"""Boots of hosts under a fault: one that another fault causes removes what the fault has in the host's memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from chaoskit.base.errors import ChaoskitError
from chaoskit.contract.faults.nemesis import Strike
from chaoskit.contract.hosts.host import PowerSwitch, ServiceHost
from chaoskit.contract.power import optional

T = TypeVar("T")

_POLL_S = 0.05
_ANSWER_S = 0.1


class Boots:
    """The hosts of one fault, and how often each had booted when it was looked at for the last time.

    Args:
        strike: the fault.
        hosts: the hosts that may carry it.
        say: called with a sentence each time that power was missing.
    """

    def __init__(self, strike: Strike, hosts: Iterable[ServiceHost], say: Callable[[str], None]) -> None:
        self._strike = strike
        self._say = say
        self._hosts = [host for host in hosts if optional(host, PowerSwitch)]
        self._seen = self._boots()

    def booted(self) -> list[ServiceHost]:
        """Return the hosts that have booted since the last call, and answer; the others are returned later."""
        booted = []
        for host, boots in self._boots().items():
            if boots != self._seen[host] and host.reachable(_ANSWER_S):
                self._seen[host] = boots
                booted.append(host)
        return booted

    def powered(self, carriers: Callable[[], Sequence[ServiceHost]], act: Callable[[], T], again: Callable[[], T]) -> T:
        """Do something once all carriers have power; do it again if one loses its power meanwhile.

        Args:
            carriers: returns the hosts that it is done on.
            act: does it.
            again: does it after a first attempt that may have done a part of it.

        Raises:
            ChaoskitError: it failed on hosts that kept their power.
        """
        while True:
            self._await_power(carriers())
            before = self._boots()
            try:
                done = act()
            except ChaoskitError:
                if self._boots() == before and not dark(self._strike, carriers()):
                    raise
                act = again
            else:
                self._seen |= {host: before[host] for host in carriers() if host in before}
                return done

    def _await_power(self, carriers: Sequence[ServiceHost]) -> None:
        if names := dark(self._strike, carriers):
            while dark(self._strike, carriers):
                time.sleep(_POLL_S)
            self._say(f"{', '.join(names)} had no power; continued after the boot")

    def _boots(self) -> dict[ServiceHost, int]:
        return {host: host.power(PowerSwitch).boots for host in self._hosts}


def dark(strike: Strike, hosts: Iterable[ServiceHost]) -> list[str]:
    """Return the names of the hosts that another fault keeps without power."""
    return [host.name for host in hosts if strike.is_dark(host)]
