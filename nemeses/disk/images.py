"""Replaces the whole data disk: with an empty one, or with an earlier snapshot."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from chaoskit.base.parallel import on_each
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import Nemesis, NemesisError, OnDisk, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.guarantees.act import Act, Damage
from chaoskit.contract.hosts.disk import ReplaceableDisk
from chaoskit.contract.hosts.host import PowerSwitch, ServiceHost
from chaoskit.contract.hosts.shell import bash
from chaoskit.contract.systems.installation import Installation
from nemeses.disk.chosen import chosen
from nemeses.disk.mending import restore
from nemeses.disk.power import check_dark
from nemeses.services import answers_again

_MARK = 'mkdir -p "$1/.chaoskit" && touch "$1/.chaoskit/$2" && sync "$1/.chaoskit/$2" "$1/.chaoskit" "$1"'
_MARKED = '[ ! -e "$1/.chaoskit/$2" ]'


@dataclass(slots=True)
class _Copies:
    """What was copied, in words, by host."""

    of: dict[str, str] = field(default_factory=dict)


class DiskWipe(Nemesis):
    """Powers off, creates a new file system on the data disk, and boots: the system must format it when it starts."""

    summary = "replace the data disk with an empty one while the power is off; boot afterwards"
    family = "disk"
    does = Act.ENDS | Act.VANISHES
    service_powers = (Installation,)
    parameters = OnDisk
    host_powers = (PowerSwitch,)
    disk_powers = (ReplaceableDisk,)

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return {HostPart.DISK, HostPart.POWER}

    def damage(self, parameters: Any) -> Damage:
        return Damage.DESTROYS

    def inject(self, strike: Strike) -> None:
        _replace(strike, lambda disk: disk.wipe())

    def verify(self, strike: Strike) -> Evidence:
        return Evidence(f"{check_dark(strike)}; their disks were replaced")

    def heal(self, strike: Strike) -> None:
        on_each(strike.hosts, lambda host: restore(host, strike))

    def verify_healed(self, strike: Strike) -> Evidence:
        marked = [
            host.name
            for host in strike.hosts
            if bash(host, _MARKED, chosen(host, strike).path, strike.name, check=False).status
        ]
        if marked:
            raise NemesisError(f"a file that was synced before is still on the data disk of {', '.join(marked)}")
        gone = f"a file synced right before is missing on {strike.names}"
        return Evidence(f"{gone}; {answers_again(strike)}")


class TimeTravel(DiskWipe):
    """Powers off, restores the last snapshot of the data disk, and boots: the host has lost everything since then."""

    summary = "restore the last snapshot of the data disk while the power is off; boot afterwards"

    def inject(self, strike: Strike) -> None:
        for host in strike.hosts:
            if not chosen(host, strike).power(ReplaceableDisk).has_snapshot():
                raise NemesisError(f"{host.name} has no snapshot of its data disk; inject snapshot before time-travel")
        _replace(strike, lambda disk: disk.restore())


class Snapshot(Nemesis):
    """Syncs, freezes and copies the data disk, as volume managers do. `time-travel` restores the copy."""

    summary = "take a snapshot of the data disk, for time-travel"
    family = "disk"
    does = Act.NONE
    renews = False
    lasts = False
    restores = False  # the copy stays
    parameters = OnDisk
    disk_powers = (ReplaceableDisk,)

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return {HostPart.DISK}

    def inject(self, strike: Strike) -> None:
        copies = strike.kept(_Copies).of
        on_each(strike.hosts, lambda host: copies.update({host.name: _snapshot(host, strike)}))

    def verify(self, strike: Strike) -> Evidence:
        missing = [host.name for host in strike.hosts if not chosen(host, strike).power(ReplaceableDisk).has_snapshot()]
        if missing:
            raise NemesisError(f"there is no snapshot of the data disk of {', '.join(missing)}")
        return Evidence("; ".join(f"{name}: copied {copy}" for name, copy in strike.kept(_Copies).of.items()))

    def heal(self, strike: Strike) -> None:
        """Do nothing: nothing was broken."""

    def verify_healed(self, strike: Strike) -> Evidence:
        return Evidence(answers_again(strike))


def _snapshot(host: ServiceHost, strike: Strike) -> str:
    return chosen(host, strike).power(ReplaceableDisk).snapshot()


def _replace(strike: Strike, replace: Callable[[ReplaceableDisk], None]) -> None:
    def act(host: ServiceHost) -> None:
        disk = chosen(host, strike)
        bash(host, _MARK, disk.path, strike.name)
        host.power(PowerSwitch).power_cut()
        replace(disk.power(ReplaceableDisk))

    on_each(strike.hosts, act)
