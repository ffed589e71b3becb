"""The data disk that a fault is about."""

from __future__ import annotations

from chaoskit.contract.faults.nemesis import Strike
from chaoskit.contract.hosts.disk import DataDisk, ProgrammableDisk
from chaoskit.contract.hosts.host import ServiceHost


def chosen(host: ServiceHost, strike: Strike) -> DataDisk:
    """Return the disk of a target that the fault's parameters name."""
    disk: DataDisk = host.disks[strike.parameters.disk]
    return disk


def programmable(host: ServiceHost, strike: Strike) -> ProgrammableDisk:
    """Return the same disk, which must be programmable.

    Raises:
        PowerMissing: it is not.
    """
    return chosen(host, strike).power(ProgrammableDisk)
