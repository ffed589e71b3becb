"""The queues and streams of a trial, and what the nodes tell about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from chaoskit.contract.systems.service import Placed, ServiceError
from chaoskit.model.place import Place
from clusters.rabbitmq.deploy.management import Management
from clusters.rabbitmq.queues import QUORUM, STREAM, Declaration, lacks, leader_of, online_of

_TAKES_PART = ("leader", "follower")
"""Raft states of a member that takes part in new writes."""


class StoredQueues:
    """What a trial stores in RabbitMQ.

    Args:
        management: the management API.
        named: returns the name of the host of an Erlang node.

    Attributes:
        places: the partition that each queue or stream stores.
    """

    def __init__(self, management: Management, named: Callable[[str], str]) -> None:
        self._named = named
        self.places: dict[str, Place] = {}
        self._management = management

    def declare(self, declared: Declaration, nodes: Sequence[str]) -> None:
        """Declare a queue or stream; the Erlang nodes take turns in leading one.

        Raises:
            Refused: the system refuses it.
        """
        self._management.declare(declared.name, nodes[len(self.places) % len(nodes)], declared.arguments)
        self.places[declared.name] = declared.place

    def delete(self) -> None:
        """Delete all queues and streams."""
        for name in self.places:
            self._management.delete(name)
        self.places = {}

    def in_effect(self) -> dict[str, Mapping[str, Any]]:
        """Return what a node tells about each of them, as `chaoskit.contract.systems.service.Reporting` wants it."""
        return {f"queue {name}": self.told(name) for name in self.places}

    def told(self, name: str) -> Mapping[str, Any]:
        """Return what a node tells about a queue or stream; empty if it does not exist."""
        info = self._management.queue(name) or {}
        if info.get("type") == QUORUM and set(info.get("online", ())) != set(info.get("members", ())):
            # The statistics of a former leader are merged with those of the new one, and may say for minutes that it
            # is alone.
            states = self._management.raft_states(name)
            if states:
                info["online"] = [node for node, state in states.items() if state in _TAKES_PART]
        return info

    def of(self, place: Place | None) -> str:
        """Return the name of the first queue or stream that stores a partition.

        Raises:
            ServiceError: there is none.
        """
        if place is None:
            raise ServiceError("the workload has no queue")
        for name, stored in self.places.items():
            if stored == place:
                return name
        raise ServiceError(f"no queue stores {place[0]}/{place[1]}")

    def placed(self, name: str) -> Placed | None:
        """Return where a queue or stream is stored; None if it does not exist."""
        info = self.told(name)
        if not info:
            return None
        led = leader_of(info)
        leader = self._named(led) if led else ""
        members = info.get("members") or [info["node"], *info.get("slave_nodes", ())]
        return Placed(self.places[name], leader, self._hosts(members), self._hosts(online_of(info)))

    def _hosts(self, nodes: Iterable[str]) -> tuple[str, ...]:
        return tuple(self._named(node) for node in nodes)

    def placements(self) -> list[Placed]:
        """Return where all of them are stored, without those that do not exist."""
        return [placed for name in self.places if (placed := self.placed(name)) is not None]

    def missing(self, nodes: Mapping[str, str]) -> str:
        """Return what the cluster lacks: a node, by its host's name, or a member; empty if it is whole."""
        try:
            running = self._management.running()
            if absent := [host for host, node in nodes.items() if node not in running]:
                return f"{', '.join(absent)} not part of the cluster"
            return next((why for name in self.places if (why := self._lacks(name))), "")
        except ServiceError as error:
            return str(error)

    def _lacks(self, name: str) -> str:
        """Return what a queue lacks; nothing, if a cluster whose nodes are all there does not have it any more: it does
        not come back. Its state is part of the statistics, which an idle queue whose leader has changed may not have
        for minutes; then that of its record counts."""
        info = dict(self.told(name))
        if not info:
            return ""
        if info.get("type") not in (QUORUM, STREAM) and "state" not in info:
            info["state"] = self._management.recorded_state(name)
        return lacks(name, info)
