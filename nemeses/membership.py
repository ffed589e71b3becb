"""Operators' work as faults: elections, reassignments, removing and adding replicas, brokers and stores."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from chaoskit.base.waiting import wait_while
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import Nemesis, NemesisError, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.hosts.host import ServiceHost, ServiceState
from chaoskit.contract.systems.installation import Installation
from chaoskit.contract.systems.operating import Decommissioning, Leadership, LogDirectories, Reassignment
from nemeses.operated import Operated
from nemeses.services import (
    answers_again,
    await_answers,
    start_services,
    states,
    stop_in_order,
)

_KNOWN_WITHIN_S = 5
"""How long brokers may take to report a newly elected leader."""

_POLL_S = 0.05


@dataclass(slots=True)
class _Led:
    """The partitions that each target led before, by host."""

    before: dict[str, Sequence[str]] = field(default_factory=dict)


@dataclass(slots=True)
class _Stored:
    """The replicas, or logs, that each target stored before, by host; the hosts that were decommissioned."""

    before: dict[str, Sequence[str]] = field(default_factory=dict)
    gone: list[ServiceHost] = field(default_factory=list)


@dataclass(slots=True)
class _Directories:
    """The log directory of each replica before, by host and partition."""

    before: dict[str, dict[str, str]] = field(default_factory=dict)


class ElectLeader(Operated):
    """Elects other in-sync replicas as leaders of all partitions that the targets lead, without any failure."""

    summary = "elect other leaders for all partitions that the hosts lead"
    does = Act.MOVES
    moves = True
    lasts = False
    service_powers = (Leadership,)

    def inject(self, strike: Strike) -> None:
        strike.kept(_Led).before = {host.name: strike.service.power(Leadership).led_by(host) for host in strike.hosts}
        for host in strike.hosts:
            strike.service.power(Leadership).give_up_leadership(host)

    def verify(self, strike: Strike) -> Evidence:
        changes = []
        for host in strike.hosts:
            led = strike.kept(_Led).before[host.name]
            if not led:
                raise NemesisError(f"{host.name} did not lead any partition")
            if left := wait_while(partial(_still_led, strike, host, led), _KNOWN_WITHIN_S, every_s=_POLL_S):
                raise NemesisError(f"{host.name} still leads {left}")
            changes.append(f"{host.name} no longer leads {', '.join(led)}")
        return Evidence("; ".join(changes))

    def heal(self, strike: Strike) -> None:
        """Do nothing: an election is instantaneous."""

    def verify_healed(self, strike: Strike) -> Evidence:
        return Evidence(answers_again(strike))


def _still_led(strike: Strike, host: ServiceHost, before: Collection[str]) -> str:
    """Return which of some partitions a host leads now."""
    return ", ".join(sorted(set(strike.service.power(Leadership).led_by(host)) & set(before)))


class Reassign(Operated):
    """Moves all replicas to other brokers, under load; healing moves them back.

    Attributes:
        taken, returned: what evidence says of the replicas, before the hosts' names.
    """

    summary = "move all replicas off the hosts to other brokers; move them back afterwards"
    does = Act.MOVES
    moves = True
    service_powers: tuple[type, ...] = (Reassignment,)
    taken: ClassVar[str] = "moved off"
    returned: ClassVar[str] = "moved back to"

    def take(self, reassignment: Reassignment, host: ServiceHost) -> None:
        """Take all replicas off a host."""
        reassignment.drain(host)

    def inject(self, strike: Strike) -> None:
        reassignment = strike.service.power(Reassignment)
        strike.kept(_Stored).before = {host.name: reassignment.replicas_on(host) for host in strike.hosts}
        for host in strike.hosts:
            self.take(reassignment, host)

    def verify(self, strike: Strike) -> Evidence:
        for host in strike.hosts:
            if left := strike.service.power(Reassignment).replicas_on(host):
                raise NemesisError(f"{host.name} still has {', '.join(left)}")
        moved = {name: len(replicas) for name, replicas in strike.kept(_Stored).before.items()}
        if not any(moved.values()):
            raise NemesisError(f"there were no replicas to move on {strike.names}")
        return Evidence(
            "; ".join(f"{count} replicas {self.taken} {name}" for name, count in moved.items()),
            {name: {"replicas": count} for name, count in moved.items()},
        )

    def heal(self, strike: Strike) -> None:
        for host in reversed(strike.hosts):
            strike.service.power(Reassignment).refill(host)

    def verify_healed(self, strike: Strike) -> Evidence:
        for host in strike.hosts:
            kept = set(strike.service.power(Reassignment).replicas_on(host))
            missing = set(strike.kept(_Stored).before.get(host.name, ())) - kept
            if missing:
                raise NemesisError(f"not {self.returned} {host.name}: {', '.join(sorted(missing))}")
        return Evidence(f"replicas {self.returned} {strike.names}")


class ReduceReplicas(Reassign):
    """Removes the replicas on the hosts without replacement, under load; healing adds them again, which copy all."""

    summary = "lower the replication factor: remove the hosts' replicas without replacement; add them again afterwards"
    taken = "removed from"
    returned = "added again on"

    def take(self, reassignment: Reassignment, host: ServiceHost) -> None:
        reassignment.shed(host)


class MoveLogDirs(Operated):
    """Moves all replicas of the hosts to their next log directories, under load, without moving them to others."""

    summary = "move all replicas of the hosts to other log directories of theirs (JBOD)"
    does = Act.NONE
    delays = False
    lasts = False
    service_powers = (LogDirectories,)

    def inject(self, strike: Strike) -> None:
        power = strike.service.power(LogDirectories)
        strike.kept(_Directories).before = {host.name: power.directories_on(host) for host in strike.hosts}
        for host in strike.hosts:
            power.move_between_directories(host)

    def verify(self, strike: Strike) -> Evidence:
        moves = []
        for host in strike.hosts:
            before = strike.kept(_Directories).before[host.name]
            after = strike.service.power(LogDirectories).directories_on(host)
            if stayed := [name for name, directory in before.items() if after.get(name) in (directory, None)]:
                raise NemesisError(f"not moved to another log directory of {host.name}: {', '.join(stayed)}")
            if not before:
                raise NemesisError(f"there were no replicas on {host.name}")
            moves.append(f"{len(before)} replicas moved to other log directories of {host.name}")
        return Evidence("; ".join(moves))

    def heal(self, strike: Strike) -> None:
        """Do nothing: where they are is as good."""

    def verify_healed(self, strike: Strike) -> Evidence:
        return Evidence(answers_again(strike))


class RemoveBroker(Reassign):
    """Removes brokers gracefully: moves their replicas, then stops them; healing adds the brokers again."""

    does = Act.MOVES | Act.STOPS
    summary = "remove brokers gracefully (move their replicas, stop them); add them again afterwards"
    service_powers = (Installation, Reassignment)

    def inject(self, strike: Strike) -> None:
        super().inject(strike)
        for host in strike.hosts:
            stop_in_order(host, strike.service)

    def verify(self, strike: Strike) -> Evidence:
        moved = super().verify(strike)
        for host in strike.hosts:
            if states(host, strike.service) != {ServiceState.GONE}:
                raise NemesisError(f"the system is still running on {host.name}")
        return Evidence(f"{moved}; stopped there")

    def heal(self, strike: Strike) -> None:
        for host in strike.hosts:
            start_services(strike, host)
        await_answers(strike.hosts, strike.service)
        super().heal(strike)


class Decommission(Nemesis):
    """Copies a node's data elsewhere, under load, and removes the node; healing adds it as a new, empty one."""

    summary = "decommission storage nodes and copy their data elsewhere; add them as new ones afterwards"
    family = "membership"
    does = Act.MOVES | Act.STOPS
    moves = True
    renews = False
    service_powers = (
        Installation,
        Decommissioning,
    )

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return {HostPart.PROCESSES, HostPart.DISK}

    def inject(self, strike: Strike) -> None:
        power, stored = strike.service.power(Decommissioning), strike.kept(_Stored)
        stored.before = {host.name: power.kept_by(host) for host in strike.hosts}
        for host in strike.hosts:
            power.decommission(host)
            stored.gone.append(host)

    def verify(self, strike: Strike) -> Evidence:
        for host in strike.hosts:
            if left := strike.service.power(Decommissioning).kept_by(host):
                raise NemesisError(f"the cluster still lists {', '.join(left)} on {host.name}")
        kept = strike.kept(_Stored).before
        if not any(kept.values()):
            raise NemesisError(f"there was no data on {strike.names}")
        return Evidence(
            "; ".join(f"{name} had {', '.join(logs) or 'nothing'}, now stored on others" for name, logs in kept.items())
        )

    def heal(self, strike: Strike) -> None:
        for host in strike.kept(_Stored).gone:
            strike.service.power(Decommissioning).recommission(host)
        for host in strike.hosts:
            start_services(strike, host)

    def verify_healed(self, strike: Strike) -> Evidence:
        return Evidence(answers_again(strike))
