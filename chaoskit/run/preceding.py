"""What faults put on hosts before the system starts there, such as proxies that no connection may escape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chaoskit.contract.faults.nemesis import Preceding
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.installed import nemesis
from chaoskit.contract.systems.service import Service
from chaoskit.contract.workloads.application import APPLICATION, APPLICATIONS, DATABASE
from chaoskit.scenario.plan import Plan


def preceded(plan: Plan) -> Mapping[str, frozenset[str]]:
    """Return by kind of fault the names of the hosts that its faults may concern, of kinds that come before the system.

    A role may be held by any host of the system.
    """
    cluster = plan.scenario.cluster
    system, of_application = cluster.system_hosts, {APPLICATION, APPLICATIONS}
    names_by_kind: dict[str, frozenset[str]] = {}
    for fault in plan.faults:
        if isinstance(nemesis(fault.kind), Preceding):
            named = {*fault.on, *fault.spare}
            if DATABASE in named:
                named = {*(named - {DATABASE}), cluster.database_host}
            if named & of_application:
                named = {*(named - of_application), *cluster.application_hosts}
            names = named if named <= {*cluster.host_names} else {*system, *(named & {*cluster.host_names})}
            names_by_kind[fault.kind] = names_by_kind.get(fault.kind, frozenset()) | names
    return names_by_kind


def precede(wanted: Mapping[str, frozenset[str]], service: Service, hosts: Sequence[ServiceHost]) -> None:
    """Put on the hosts what the faults need there; the system is installed, and not started."""
    for kind, names in wanted.items():
        preceding = nemesis(kind)
        assert isinstance(preceding, Preceding)
        preceding.precede(service, [host for host in hosts if host.name in names])
