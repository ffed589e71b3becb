"""`chaoskit doctor --hosts`: what each host of an inventory can do."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from functools import partial

from chaoskit.base.clocks import compared
from chaoskit.base.errors import BadInput
from chaoskit.base.parallel import on_each
from chaoskit.contract.hosts.capability import Capability
from chaoskit.contract.hosts.host import ServiceState
from chaoskit.contract.hosts.switch import TOOLS
from clusters.hosts.remote.driver import survey_drivers
from clusters.hosts.remote.host import RemoteHost
from clusters.hosts.remote.inventory import Inventory
from clusters.hosts.remote.reach import address_of, disconnect, lacking, obstacle_to, run_script

_CLOCK_TRIES = 5
_CLOCK_OFF_S = 1.0
_FREE = 'df --output=avail -BM "$1" | tail -n1'


def survey(inventory: Inventory, tools: Mapping[str, Collection[str]]) -> list[Capability]:
    """Return what each host can do, found out by trying it.

    Args:
        inventory: the inventory.
        tools: the programs that each kind of fault needs.
    """
    capabilities: list[Capability] = []
    hosts = []
    for name, spec in inventory.hosts.items():
        try:
            hosts.append(RemoteHost(name, address_of(name, spec.address or name), spec))
        except BadInput as error:
            capabilities.append(Capability(f"{name}: address", False, str(error), "write its address"))
    for of_host in on_each(hosts, partial(_survey, tools=tools)):
        capabilities += of_host
    disconnect(hosts)
    return capabilities + survey_drivers(inventory)


def _survey(host: RemoteHost, tools: Mapping[str, Collection[str]]) -> list[Capability]:
    if (obstacle := obstacle_to(host)) is not None:
        return [Capability(f"{host.name}: root over SSH", False, obstacle.what, obstacle.remedy)]
    return [
        Capability(f"{host.name}: root over SSH", True, host.access()),
        *(_service(host, name) for name in host.services),
        *_faults(host, tools),
        *([_data(host)] if host.disks else []),
        _clock(host),
    ]


def _service(host: RemoteHost, name: str) -> Capability:
    state = host.state(name)
    remedy = "" if state is not ServiceState.GONE else "start it, or correct how the inventory finds it"
    return Capability(f"{host.name}: {name}", not remedy, state.value, remedy)


def _faults(host: RemoteHost, tools: Mapping[str, Collection[str]]) -> list[Capability]:
    """Return the faults that its tools allow, and each tool that is missing."""
    missing = set(lacking(host, {*TOOLS, *host.tools, *(tool for programs in tools.values() for tool in programs)}))
    for_all = missing & {*TOOLS, *host.tools}
    possible = [] if for_all else sorted(kind for kind, programs in tools.items() if not missing & set(programs))
    capabilities = [Capability(f"{host.name}: faults", bool(possible), ", ".join(possible) or "none", "see below")]
    for tool in sorted(missing):
        users = ["all"] if tool in for_all else sorted(kind for kind, programs in tools.items() if tool in programs)
        needed = f"{', '.join(users)} cannot be injected"
        capabilities.append(Capability(f"{host.name}: {tool}", False, needed, "install it", required=tool in for_all))
    return capabilities


def _data(host: RemoteHost) -> Capability:
    seen = host.run(["sh", "-c", _FREE, "free", host.data_dir], check=False)
    remedy = "" if seen.status == 0 else "correct data in the inventory"
    return Capability(f"{host.name}: {host.data_dir}", not remedy, f"{seen.out.strip()} free", remedy)


def _clock(host: RemoteHost) -> Capability:
    """Return how far its clock is ahead of this machine's."""
    offset = compared(lambda: int(run_script(host, "date +%s%N")), time.time_ns, _CLOCK_TRIES)
    off = abs(offset.ahead_ns) - offset.error_ns > _CLOCK_OFF_S * 1e9
    detail = f"{offset.ahead_ns / 1e6:+.1f} ms from this machine's, ± {offset.error_ns / 1e6:.1f} ms"
    return Capability(f"{host.name}: clock", not off, detail, "synchronise it, for example by chrony", required=False)
