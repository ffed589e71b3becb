"""Finds the hosts that a fault's target names: a host, `all`, or the holders of a role now."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from chaoskit.base.errors import ChaoskitError
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.power import optional
from chaoskit.contract.systems.node import Node, Nodes
from chaoskit.contract.systems.owned import Owned
from chaoskit.contract.systems.role import Every
from chaoskit.contract.systems.service import Placing, Service
from chaoskit.contract.workloads.application import APPLICATION, APPLICATIONS, BROKERS, DATABASE
from chaoskit.model.place import Place
from chaoskit.scenario.plan import Plan

_FIND_ATTEMPTS_S = 10
"""How long a role may be vacant before its fault fails."""


class Targeting:
    """Resolves the targets of a run's faults.

    Args:
        plan: the plan with the workload's topics.
        service: the running system.
        lab: all hosts of the lab.
        in_system: maps a workload topic to its name in the system.
        stop: set when no further fault may begin; a vacant role is then not waited for.
    """

    def __init__(
        self,
        plan: Plan,
        service: Service,
        lab: Sequence[ServiceHost],
        in_system: Callable[[str], str],
        stop: threading.Event,
    ) -> None:
        self._plan = plan
        self._service = service
        self._in_system = in_system
        self._stop = stop
        self._database = plan.scenario.cluster.database_host
        self._instances = plan.scenario.cluster.application_hosts
        self._of_all = {role for role in plan.system.roles if isinstance(role, Every)}
        self.hosts: dict[str, ServiceHost] = {host.name: host for host in lab}
        known = optional(service, Nodes)
        self.nodes: dict[str, Node] = {host.name: _node(host) for host in lab} or {
            node.name: node for node in (known.nodes if known else ())
        }

    def named(self, name: str, pick: float) -> list[str]:
        """Return the names of the hosts or nodes that a name, `all` or a role stands for."""
        if name == "all":
            return list(self.nodes)
        if self._instances and name in (APPLICATION, APPLICATIONS):
            return self._instances if name == APPLICATIONS else [self._instances[int(pick * len(self._instances))]]
        if self._database and name == DATABASE:
            return [self._database]
        if self._instances and name == BROKERS and name not in self._plan.system.roles:
            return self._plan.scenario.cluster.system_hosts
        return [name] if name in self.nodes else self._holders(name, pick)

    def resolve(self, name: str, pick: float) -> list[ServiceHost]:
        """Resolve a host name, `all` or a role to hosts; `pick` in [0, 1) chooses among several holders."""
        return [self.hosts[host] for host in self.named(name, pick)]

    def _holders(self, target: str, pick: float) -> list[str]:
        """Return the hosts that hold a role, such as `leader` or `leader:log-0/2`; wait while it is vacant."""
        role, _, where = target.partition(":")
        place = self._place(where)
        deadline = time.monotonic() + _FIND_ATTEMPTS_S
        while True:
            try:
                holders = self._service.power(Placing).find(role, place)
                break
            except ChaoskitError:
                if time.monotonic() > deadline or self._stop.wait(0.05):
                    raise
        if not holders:
            raise ChaoskitError(f"no host holds the role {target}")
        return list(holders) if role in self._of_all else [holders[int(pick * len(holders))]]

    def _place(self, where: str) -> Place | None:
        """Return the partition in a target, by its name in the system; by default the workload's first one."""
        if where:
            topic, slash, partition = where.rpartition("/")
            return (self._in_system(topic), int(partition)) if slash else (self._in_system(where), 0)
        topics = self._plan.declared.topics
        return (self._in_system(topics[0].name), 0) if topics else None


def _node(host: ServiceHost) -> Node:
    owned = optional(host, Owned)
    return Node(host.name, host.address, owned.id if owned else "")
