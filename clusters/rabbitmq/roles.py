"""The current holders of roles in a RabbitMQ cluster."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from chaoskit.contract.systems.service import ServiceError
from chaoskit.model.place import Place
from clusters.rabbitmq.deploy.control import RabbitControl
from clusters.rabbitmq.deploy.management import Management
from clusters.rabbitmq.deploy.stored import StoredQueues
from clusters.rabbitmq.releases import KHEPRI
from clusters.rabbitmq.settings import host_name

_RAFT_CLUSTERS = {"coordinator": "rabbitmq_metadata", "stream-coordinator": "rabbit_stream_coordinator"}
"""The Raft cluster whose leader has the role."""

_NODE = re.compile(r"rabbit@[\w.-]+")


class Coordinators:
    """Finds the leaders of the Raft clusters that nodes have for themselves.

    Args:
        control: the command line tools.
        metadata: where the cluster stores its metadata.
    """

    def __init__(self, control: RabbitControl, metadata: str) -> None:
        self._control = control
        self._metadata = metadata

    def find(self, role: str) -> str:
        """Return the name of the leader's host.

        Raises:
            ServiceError: there is none.
        """
        if role == "coordinator" and self._metadata != KHEPRI:
            raise ServiceError("Mnesia has no coordinator; set cluster.metadata: khepri")
        output = self._control.evaluate(f"ra_leaderboard:lookup_leader({_RAFT_CLUSTERS[role]}).")
        match = _NODE.search(output)
        if match is None:
            raise ServiceError(f"{_RAFT_CLUSTERS[role]} has no leader at the moment")
        return host_name(match[0])


class RabbitRoles:
    """Finds the holders of roles.

    Args:
        stored: the queues and streams of the trial.
        management: the management API.
        named: returns the name of the host of an Erlang node.
        coordinators: finds the leaders of the nodes' own Raft clusters; None where that cannot be asked.
    """

    def __init__(
        self,
        stored: StoredQueues,
        management: Management,
        named: Callable[[str], str],
        coordinators: Coordinators | None = None,
    ) -> None:
        self._stored = stored
        self._management = management
        self._named = named
        self._coordinators = coordinators

    def find(self, role: str, place: Place | None) -> tuple[str, ...]:
        """See `chaoskit.contract.systems.service.Service.find`."""
        if role in _RAFT_CLUSTERS:
            assert self._coordinators is not None
            return (self._coordinators.find(role),)
        if role == "connected":
            return self._connected()
        if role == "active-consumer":
            return (self._active_consumer(self._stored.of(place)),)
        name = self._stored.of(place)
        placed = self._stored.placed(name)
        if placed is None or not placed.leader:
            raise ServiceError(f"{name} has no leader at the moment")
        if role == "leader":
            return (placed.leader,)
        if role == "members":
            return placed.holders
        return tuple(holder for holder in placed.holders if holder != placed.leader)

    def _connected(self) -> tuple[str, ...]:
        """Return the hosts that clients are connected to, those with most connections first."""
        nodes = Counter(connection["node"] for connection in self._management.connections() if "node" in connection)
        if not nodes:
            raise ServiceError("no client is connected")
        return tuple(self._named(node) for node, _ in nodes.most_common())

    def _active_consumer(self, name: str) -> str:
        """Return the host whose node the queue's only active consumer is connected to."""
        consumers = self._stored.told(name).get("consumer_details", ())
        active = [consumer for consumer in consumers if consumer.get("activity_status") in ("single_active", "up")]
        active = [consumer for consumer in active if consumer.get("active", True)]
        if not active:
            raise ServiceError(f"{name} has no active consumer at the moment")
        return self._named(active[0]["channel_details"]["node"])
