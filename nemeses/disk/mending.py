"""Repairs data disks and hosts, and checks whether a disk accepts writes."""

from __future__ import annotations

from chaoskit.base.parallel import on_each
from chaoskit.contract.faults.nemesis import NemesisError, Strike
from chaoskit.contract.hosts.host import PowerSwitch, ServiceHost
from chaoskit.contract.hosts.shell import bash
from nemeses.disk.chosen import chosen
from nemeses.services import start_services

_WRITE = """
folder=$1/.chaoskit
mkdir -p "$folder" && dd if=/dev/zero of="$folder/probe" bs=4k count=1 oflag=direct conv=fsync status=none
"""


def write_error(host: ServiceHost, strike: Strike) -> str:
    """Write 4 KiB to the fault's disk and fsync; return the error, or an empty string."""
    done = bash(host, _WRITE, chosen(host, strike).path, check=False)
    return "" if done.status == 0 else done.err.strip().splitlines()[-1]


def check_writable(strike: Strike) -> str:
    """Return evidence that the targets' disks accept writes.

    Raises:
        NemesisError: a disk does not.
    """
    for host in strike.hosts:
        if error := write_error(host, strike):
            raise NemesisError(f"the data disk of {host.name} still fails a write: {error}")
    return f"a write with fsync works on {strike.names}"


def mend(strike: Strike) -> None:
    """Reboot each target that has no power, or whose disk does not accept writes (with a power cut); start the
    system."""

    def act(host: ServiceHost) -> None:
        if host.reachable() and write_error(host, strike):
            host.power(PowerSwitch).power_cut()
        restore(host, strike)

    on_each(strike.hosts, act)


def restore(host: ServiceHost, strike: Strike) -> None:
    """Boot a host if it has no power, and start the system if it is not running."""
    if not host.reachable():
        host.power(PowerSwitch).power_on()
    start_services(strike, host)
