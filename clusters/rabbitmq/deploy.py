"""A RabbitMQ cluster: its queues, its roles, and whether it is ready."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from chaoskit.base.errors import BadInput
from chaoskit.base.waiting import wait_while
from chaoskit.contract.cluster import ClusterError, Placed
from chaoskit.contract.host import ServiceHost
from chaoskit.contract.power import P, held
from chaoskit.contract.topic import Topic
from chaoskit.history.audits import Place
from clusters.rabbitmq import probe
from clusters.rabbitmq.management import Management, Refused
from clusters.rabbitmq.nodes import Nodes
from clusters.rabbitmq.queues import declarations, lacks, leader_of, mirroring
from clusters.rabbitmq.routing import Route, binding, route
from clusters.rabbitmq.settings import RabbitOptions, host_name, node_name

ADDRESSES, ROUTES = "addresses", "routes"
ROLES = ("leader", "follower", "followers", "members")
_POLL_S = 0.1
_CREATE_TIMEOUT_S = 30


class RabbitCluster:
    """A configured RabbitMQ cluster; see `chaoskit.contract.cluster.Cluster`.

    Args:
        hosts: the hosts.
        options: as in the scenario.
        packages: the versions of the packages that the hosts have.
    """

    def __init__(self, hosts: Sequence[ServiceHost], options: RabbitOptions, packages: Mapping[str, str]) -> None:
        self.hosts = hosts
        self._options = options
        self._packages = packages
        self._queues: dict[str, Place] = {}
        self._routes: dict[str, Route] = {}
        self._nodes = Nodes(hosts, options)
        self._management = Management([host.address for host in hosts])

    def power(self, kind: type[P]) -> P:
        return held(kind, [self._nodes, self], f"this cluster of RabbitMQ {self._options.version}")

    def answers(self, host: ServiceHost, timeout_s: float = 0.5) -> bool:
        return probe.answers(host.address, timeout_s)

    def wait_ready(self, timeout_s: float) -> None:
        self._nodes.begin()
        if missing := wait_while(self._missing, timeout_s, every_s=_POLL_S):
            raise ClusterError(f"RabbitMQ was not ready within {timeout_s:g} s: {missing}")
        self._nodes.served()
        self._nodes.use_khepri()

    def find(self, role: str, place: Place | None) -> tuple[str, ...]:
        if place is None:
            raise ClusterError(f"{role} is a role of a queue, but the workload has none")
        names = [name for name, stored in self._queues.items() if stored == place]
        placed = self._placed(names[0]) if names else None
        if placed is None or not placed.leader:
            raise ClusterError(f"{place[0]}/{place[1]} has no leader at the moment")
        followers = tuple(name for name in placed.holders if name != placed.leader)
        if role == "leader":
            return (placed.leader,)
        return placed.holders if role == "members" else followers

    def placements(self) -> list[Placed]:
        return [placed for name in self._queues if (placed := self._placed(name)) is not None]

    def settings_in_effect(self) -> dict[str, Mapping[str, Any]]:
        """See `chaoskit.contract.cluster.Reporting`."""
        told = {f"queue {name}": self._management.queue(name) or {} for name in self._queues}
        return {"packages of every host": self._packages, **told}

    def begin_trial(self, namespace: str, options: RabbitOptions) -> None:
        self._options = options

    def create_topic(self, topic: Topic) -> None:
        policy = {**mirroring(topic), **self._options.policy}
        if policy and not self._queues:
            self._refusing(lambda: self._management.set_policy(policy), "cluster.policy")
        declared = declarations(topic)
        for each in declared:
            node = node_name(self.hosts[len(self._queues) % len(self.hosts)].name)
            self._refusing(partial(self._management.declare, each.name, node, each.arguments), f"queue {each.name}")
            self._queues[each.name] = each.place
        if (bound := binding(topic)) is not None:
            self._management.declare_exchange(bound.exchange, topic.exchange)
            if declared:
                self._management.bind(bound.exchange, topic.name, bound.key, bound.arguments)
        self._routes[topic.name] = route(topic)
        self.wait_ready(_CREATE_TIMEOUT_S)

    def client_settings(self) -> dict[str, Any]:
        return {ADDRESSES: [host.address for host in self.hosts], ROUTES: self._routes}

    def end_trial(self) -> None:
        queues, self._queues, self._routes = self._queues, {}, {}
        for name in queues:
            self._management.delete(name)

    def close(self) -> None:
        self._management.close()

    def _refusing(self, request: Callable[[], None], key: str) -> None:
        """Carry a request out; what the system refuses is bad input."""
        try:
            request()
        except Refused as error:
            raise BadInput(f"{key}: {error}") from error

    def _missing(self) -> str:
        """Return why the cluster is not ready; empty if it is."""
        if silent := self._nodes.silent():
            return silent
        try:
            running = self._management.running()
            if absent := [host.name for host in self.hosts if node_name(host.name) not in running]:
                return f"{', '.join(absent)} not part of the cluster"
            return next(
                (missing for name in self._queues if (missing := lacks(name, self._management.queue(name)))), ""
            )
        except ClusterError as error:
            return str(error)

    def _placed(self, name: str) -> Placed | None:
        told = self._management.queue(name)
        if told is None:
            return None
        leader = host_name(leader_of(told))
        members = told.get("members") or [told["node"], *told.get("slave_nodes", ())]
        return Placed(self._queues[name], leader, tuple(host_name(each) for each in members))
