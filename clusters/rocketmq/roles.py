"""The current holders of roles in a RocketMQ cluster, as brokers and controllers tell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from chaoskit.base.parallel import on_each
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.role import Every
from chaoskit.contract.systems.service import Placed, ServiceError
from chaoskit.model.place import Place
from clusters.rocketmq.deploy import admin
from clusters.rocketmq.settings import BROKER_PORT, RocketOptions, broker_name, controllers

CONTROLLER_LEADER = "controller-leader"
ROLES = ("leader", "master", Every("slaves"), "slave", CONTROLLER_LEADER, "name-server")
"""`leader` is an alias of `master`, so that scenarios of other systems need no change."""

_TIMEOUT_S = 0.5

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class GroupState:
    """The brokers that share a name, by the names of their hosts.

    Attributes:
        master: the master; empty if there is none, or it does not answer.
        members: all of them.
        in_sync: the master and the slaves that keep up; None if nobody tells.
        epoch: the epoch of the election; None without elections.
    """

    master: str
    members: tuple[str, ...]
    in_sync: tuple[str, ...] | None
    epoch: int | None


class RocketRoles:
    """Looks up who holds a role.

    Args:
        hosts: the hosts of the cluster.
        options: as in the scenario.
    """

    def __init__(self, hosts: Sequence[ServiceHost], options: RocketOptions) -> None:
        self._hosts = hosts
        self._options = options
        self._groups = options.groups(len(hosts))
        self._names = {host.address: host.name for host in hosts}

    def find(self, role: str, place: Place | None) -> tuple[str, ...]:
        """See `chaoskit.contract.systems.service.Placing`."""
        if role == "name-server":
            return tuple(host.name for host in self._hosts)
        if role == CONTROLLER_LEADER:
            return (self._controller_leader(),)
        if place is None:
            raise ServiceError(f"{role} is a role of a partition, but the workload has no partitions")
        state = self.state_of(place[1])
        if role in ("slave", "slaves"):
            return tuple(name for name in state.members if name != state.master)
        if not state.master:
            raise ServiceError(f"{place[0]}/{place[1]} has no master at the moment")
        return (state.master,)

    def placed(self, places: Sequence[Place]) -> list[Placed]:
        """Return where partitions are stored."""
        states = [self._state(group) for group in range(len(self._groups))]
        return [
            Placed(place, state.master, state.members, state.in_sync, state.epoch)
            for place in places
            for state in [states[place[1] % len(states)]]
        ]

    def state_of(self, partition: int) -> GroupState:
        """Return the state of the brokers that have a partition: they take turns."""
        return self._state(partition % len(self._groups))

    def host_of(self, name: str) -> ServiceHost:
        """Return the host of this name."""
        return next(host for host in self._hosts if host.name == name)

    def _state(self, group: int) -> GroupState:
        members = [self._hosts[index] for index in self._groups[group]]
        names = tuple(host.name for host in members)
        if not self._options.elects:
            copying = _tried(lambda: admin.copying((members[0].address, BROKER_PORT), _TIMEOUT_S))
            if copying is None:
                return GroupState("", names, None, None)
            return GroupState(names[0], names, (names[0], *self._named(copying.in_sync)), None)
        answers = self._controllers_say(lambda controller: admin.elected(controller, broker_name(group), _TIMEOUT_S))
        if not answers:
            return GroupState("", names, None, None)
        newest = max(answers, key=lambda answer: answer.epoch)
        return GroupState(self._names.get(newest.master, ""), names, self._named(newest.in_sync), newest.epoch)

    def _controller_leader(self) -> str:
        leaders = self._controllers_say(lambda controller: admin.leading_controller(controller, _TIMEOUT_S))
        named = [self._names[address] for address in leaders if address in self._names]
        if not named:
            raise ServiceError("no controller knows a leader")
        return max(set(named), key=named.count)

    def _controllers_say(self, ask: Callable[[admin.Server], Answer | None]) -> list[Answer]:
        addresses = [host.address for host in self._hosts]
        answers = on_each(controllers(self._options, addresses), lambda controller: _tried(partial(ask, controller)))
        return [answer for answer in answers if answer is not None]

    def _named(self, addresses: Sequence[str]) -> tuple[str, ...]:
        return tuple(self._names[address] for address in addresses if address in self._names)


def _tried(ask: Callable[[], Answer]) -> Answer | None:
    """Return an answer; None if there is none."""
    try:
        return ask()
    except (OSError, ServiceError):
        return None
