"""Data disks that fail, or become read-only. A reboot heals both."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from chaoskit.base.parallel import on_each
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import Nemesis, NemesisError, OnDisk, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.guarantees.act import Act, Damage
from chaoskit.contract.hosts.disk import BreakableDisk
from chaoskit.contract.hosts.host import PowerSwitch, ServiceHost
from chaoskit.contract.hosts.shell import bash
from chaoskit.contract.systems.installation import Installation
from nemeses.disk.chosen import chosen
from nemeses.disk.mending import check_writable, mend, write_error
from nemeses.services import answers_again

_ABORT = '[ "$(stat -f -c %T "$1")" = ext2/ext3 ] || exit 95; exec mount -o remount,abort "$1"'
_UNSUPPORTED = 95


class DiskDead(Nemesis):
    """Every write and flush of the data disk fails with EIO; unsynced data is lost. A reboot restores the disk."""

    summary = "fail every request of the data disk with EIO; power off, boot and start the system afterwards"
    family = "disk"
    does = Act.SILENCES | Act.ENDS | Act.VANISHES
    damages_until_healed = True
    service_powers = (Installation,)
    parameters = OnDisk
    host_powers = (PowerSwitch,)
    disk_powers: tuple[type, ...] = (BreakableDisk,)

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return {HostPart.DISK, HostPart.POWER}

    def damage(self, parameters: Any) -> Damage:
        return Damage.FORGETS

    def inject(self, strike: Strike) -> None:
        on_each(strike.hosts, lambda host: chosen(host, strike).power(BreakableDisk).fail())

    def verify(self, strike: Strike) -> Evidence:
        return Evidence(_check_fails(strike, "Input/output error"))

    def heal(self, strike: Strike) -> None:
        mend(strike)

    def verify_healed(self, strike: Strike) -> Evidence:
        return Evidence(f"{check_writable(strike)}; {answers_again(strike)}")


class DiskReadOnly(DiskDead):
    """Aborts the ext4 journal, as after an error: reads work, writes fail with EROFS."""

    summary = "make the data disk's file system read-only (ext4); power off, boot and start the system afterwards"
    disk_powers = ()

    def inject(self, strike: Strike) -> None:
        def act(host: ServiceHost) -> None:
            done = bash(host, _ABORT, chosen(host, strike).path, check=False)
            if done.status == _UNSUPPORTED:
                raise NemesisError(
                    f"{host.name}: only ext4 can become read-only while files are open; set "
                    "cluster.disk.filesystem: ext4"
                )
            if done.status != 0:
                raise NemesisError(f"{host.name}: {done.err.strip()}")

        on_each(strike.hosts, act)

    def verify(self, strike: Strike) -> Evidence:
        return Evidence(_check_fails(strike, "Read-only file system"))


def _check_fails(strike: Strike, words: str) -> str:
    """Return the errors of a write on each target.

    Raises:
        NemesisError: a write succeeds, or fails with another error.
    """
    errors = {host.name: write_error(host, strike) for host in strike.hosts}
    for name, error in errors.items():
        if words not in error:
            raise NemesisError(
                f"a write to the data disk of {name} should fail with {words!r}: {error or 'it succeeds'}"
            )
    return "; ".join(f"{name}: {error}" for name, error in errors.items())
