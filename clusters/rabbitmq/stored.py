"""The queues and streams of a trial, and what the nodes tell about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from chaoskit.contract.cluster import ClusterError, Placed
from chaoskit.history.audits import Place
from clusters.rabbitmq.management import Management
from clusters.rabbitmq.queues import lacks, leader_of


class Stored:
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

    def told(self, name: str) -> Mapping[str, Any]:
        """Return what a node tells about a queue or stream; empty if it does not exist."""
        return self._management.queue(name) or {}

    def of(self, place: Place | None) -> str:
        """Return the name of the first queue or stream that stores a partition.

        Raises:
            ClusterError: there is none.
        """
        if place is None:
            raise ClusterError("the workload has no queue")
        for name, stored in self.places.items():
            if stored == place:
                return name
        raise ClusterError(f"no queue stores {place[0]}/{place[1]}")

    def placed(self, name: str) -> Placed | None:
        """Return where a queue or stream is stored; None if it does not exist."""
        told = self.told(name)
        if not told:
            return None
        led = leader_of(told)
        leader = self._named(led) if led else ""
        members = told.get("members") or [told["node"], *told.get("slave_nodes", ())]
        return Placed(self.places[name], leader, tuple(self._named(each) for each in members))

    def placements(self) -> list[Placed]:
        """Return where all of them are stored, without those that do not exist."""
        return [placed for name in self.places if (placed := self.placed(name)) is not None]

    def missing(self) -> str:
        """Return what the first queue or stream that is not whole lacks; empty if all are whole."""
        return next((why for name in self.places if (why := lacks(name, self._management.queue(name)))), "")
