"""A RabbitMQ cluster: its queues, its roles, and whether it is ready."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from chaoskit.base.errors import BadInput
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.installation import Installed
from chaoskit.contract.workloads.datamodel import LOG
from chaoskit.contract.workloads.topic import Topic
from clusters.rabbitmq.connection import ADDRESSES, CLIENTS, LAB, ROUTES
from clusters.rabbitmq.deploy import probe
from clusters.rabbitmq.deploy.control import RabbitControl
from clusters.rabbitmq.deploy.management import Management, RabbitRefused
from clusters.rabbitmq.deploy.nodes import RabbitNodes
from clusters.rabbitmq.deploy.service import RabbitService
from clusters.rabbitmq.deploy.stored import StoredQueues
from clusters.rabbitmq.operate.operator import RabbitOperator
from clusters.rabbitmq.queues import declarations, mirroring
from clusters.rabbitmq.releases import has_groups_of_streams, metadata_of
from clusters.rabbitmq.roles import Coordinators, RabbitRoles
from clusters.rabbitmq.routing import binding, route
from clusters.rabbitmq.settings import (
    AMQP_PORT,
    MANAGEMENT_PORT,
    PASSWORD,
    USER,
    WIRE,
    RabbitOptions,
    host_name,
    node_name,
)
from clusters.rabbitmq.streams.names import stream_name

_POLL_S = 0.1
_CREATE_TIMEOUT_S = 30


class RabbitCluster(RabbitService):
    """A configured RabbitMQ cluster; see `chaoskit.contract.systems.service.Service`.

    Args:
        hosts: the hosts.
        options: as in the scenario.
        packages: the versions of the packages that the hosts have.
    """

    def __init__(self, hosts: Sequence[ServiceHost], options: RabbitOptions, packages: Mapping[str, str]) -> None:
        management = Management([f"http://{host.address}:{MANAGEMENT_PORT}" for host in hosts], LAB)
        stored, control = StoredQueues(management, host_name), RabbitControl(hosts, options.version)
        metadata = metadata_of(options.version, options.metadata)
        roles = RabbitRoles(stored, management, host_name, Coordinators(control, metadata))
        super().__init__(management, stored, roles, {host.name: node_name(host.name) for host in hosts})
        self.wire = WIRE
        self.owner = f"this cluster of RabbitMQ {options.version}"
        self._hosts = hosts
        self._options = options
        self._packages = packages
        self._nodes = RabbitNodes(hosts, options, control)
        installed = Installed(hosts, self.answers, self._nodes.start, self._nodes.services)
        self._holders += [installed, self._nodes, RabbitOperator(hosts, stored, control)]

    def answers(self, host: ServiceHost, timeout_s: float = 0.5) -> bool:
        return probe.answers(host.address, timeout_s)

    def wait_ready(self, timeout_s: float) -> None:
        self._nodes.begin()
        super().wait_ready(timeout_s)
        self._nodes.served()
        self._nodes.use_khepri()

    def settings_in_effect(self) -> dict[str, Mapping[str, Any]]:
        return {"packages of every host": self._packages, **super().settings_in_effect()}

    def begin_trial(self, namespace: str, options: RabbitOptions) -> None:
        self._options = options

    def create_topic(self, topic: Topic) -> None:
        policy = {**mirroring(topic), **self._options.policy}
        if policy and not self._stored.places:
            self._refusing(lambda: self._management.set_policy(policy), "cluster.policy")
        declared = declarations(topic)
        for declaration in declared:
            self._refusing(
                partial(self._stored.declare, declaration, list(self._names.values())), f"queue {declaration.name}"
            )
        if (bound := binding(topic)) is not None:
            self._management.declare_exchange(bound.exchange, topic.exchange)
            if declared:
                self._management.bind(bound.exchange, topic.name, bound.key, bound.arguments)
        if topic.model is LOG and has_groups_of_streams(self._options.version):
            self._declare_super_stream(topic)
        self._routes[topic.name] = route(topic)
        self.wait_ready(_CREATE_TIMEOUT_S)

    def _declare_super_stream(self, topic: Topic) -> None:
        """Join the streams of a topic, as nodes do themselves when a client creates a super stream
        (`rabbit_stream_manager`): so members of a group take turns in being active."""
        self._management.declare_exchange(topic.name, "direct", {"x-super-stream": True})
        for order, (name, partition) in enumerate(topic.places):
            arguments = {"x-stream-partition-order": order}
            self._management.bind(topic.name, stream_name(name, partition), str(partition), arguments)

    def client_settings(self) -> dict[str, Any]:
        addresses = [host.address for host in self._hosts]
        return {ADDRESSES: addresses, ROUTES: self._routes, CLIENTS: self._options.clients}

    def endpoints(self) -> str:
        """See `chaoskit.contract.systems.service.Endpoints`: a URL of each node, with the login."""
        return ",".join(f"amqp://{USER}:{PASSWORD}@{host.address}:{AMQP_PORT}" for host in self._hosts)

    def _refusing(self, request: Callable[[], None], key: str) -> None:
        """Carry a request out; what the system refuses is bad input."""
        try:
            request()
        except RabbitRefused as error:
            raise BadInput(f"{key}: {error}") from error

    def _missing(self) -> str:
        """Return why the cluster is not ready; empty if it is."""
        return self._nodes.silent() or self._stored.missing(self._names)
