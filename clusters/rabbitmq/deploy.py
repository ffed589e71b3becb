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
from chaoskit.contract.vocabulary import Place
from clusters.rabbitmq import probe
from clusters.rabbitmq.connection import ADDRESSES, LAB, ROUTES
from clusters.rabbitmq.control import Control
from clusters.rabbitmq.management import Management, Refused
from clusters.rabbitmq.nodes import Nodes
from clusters.rabbitmq.operator import Operator
from clusters.rabbitmq.queues import declarations, mirroring
from clusters.rabbitmq.releases import metadata_of
from clusters.rabbitmq.roles import Coordinators, Roles
from clusters.rabbitmq.routing import Route, binding, route
from clusters.rabbitmq.settings import MANAGEMENT_PORT, RabbitOptions, host_name, node_name
from clusters.rabbitmq.stored import Stored

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
        self._routes: dict[str, Route] = {}
        self._names = {host.name: node_name(host.name) for host in hosts}
        self._management = Management([f"http://{host.address}:{MANAGEMENT_PORT}" for host in hosts], LAB)
        self._stored = Stored(self._management, host_name)
        control = Control(hosts, options.version)
        self._nodes = Nodes(hosts, options, control)
        self._operator = Operator(hosts, self._stored, control)
        metadata = metadata_of(options.version, options.metadata)
        self._roles = Roles(self._stored, self._management, host_name, Coordinators(control, metadata))

    def power(self, kind: type[P]) -> P:
        powers = [self._nodes, self._operator, self]
        return held(kind, powers, f"this cluster of RabbitMQ {self._options.version}")

    def answers(self, host: ServiceHost, timeout_s: float = 0.5) -> bool:
        return probe.answers(host.address, timeout_s)

    def wait_ready(self, timeout_s: float) -> None:
        self._nodes.begin()
        if missing := wait_while(self._missing, timeout_s, every_s=_POLL_S):
            raise ClusterError(f"RabbitMQ was not ready within {timeout_s:g} s: {missing}")
        self._nodes.served()
        self._nodes.use_khepri()

    def find(self, role: str, place: Place | None) -> tuple[str, ...]:
        return self._roles.find(role, place)

    def placements(self) -> list[Placed]:
        return self._stored.placements()

    def settings_in_effect(self) -> dict[str, Mapping[str, Any]]:
        """See `chaoskit.contract.cluster.Reporting`."""
        return {"packages of every host": self._packages, **self._stored.in_effect()}

    def begin_trial(self, namespace: str, options: RabbitOptions) -> None:
        self._options = options

    def create_topic(self, topic: Topic) -> None:
        policy = {**mirroring(topic), **self._options.policy}
        if policy and not self._stored.places:
            self._refusing(lambda: self._management.set_policy(policy), "cluster.policy")
        declared = declarations(topic)
        for each in declared:
            self._refusing(partial(self._stored.declare, each, list(self._names.values())), f"queue {each.name}")
        if (bound := binding(topic)) is not None:
            self._management.declare_exchange(bound.exchange, topic.exchange)
            if declared:
                self._management.bind(bound.exchange, topic.name, bound.key, bound.arguments)
        self._routes[topic.name] = route(topic)
        self.wait_ready(_CREATE_TIMEOUT_S)

    def client_settings(self) -> dict[str, Any]:
        return {ADDRESSES: [host.address for host in self.hosts], ROUTES: self._routes}

    def end_trial(self) -> None:
        self._routes = {}
        self._stored.delete()

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
        return self._nodes.silent() or self._stored.missing(self._names)
