"""Operator actions as faults: elections, reassignments, removing and adding brokers, rolling upgrades."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict

from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import Nemesis, NemesisError, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.hosts.host import ServiceHost, ServiceState
from chaoskit.contract.systems.installation import Installation
from chaoskit.contract.systems.operating import Decommissioning, Leadership, Migration, Reassignment, Tooled, Upgrade
from chaoskit.contract.systems.system import System
from nemeses.services import (
    ANSWER_TIMEOUT_S,
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
class _Upgraded:
    """The releases before, and what the end of the upgrade printed, if it was ended."""

    before: set[str] = field(default_factory=set)
    ended: str = ""


@dataclass(slots=True)
class _Rounds:
    """Evidence of each round of a migration."""

    ended: list[str] = field(default_factory=list)


class _Operated(Nemesis):
    """Base of what operators do to all brokers with the system's own tools."""

    def prepare(self, system: System, options: Any, parameters: Any) -> None:
        """See `chaoskit.contract.faults.nemesis.Preparing`."""
        if isinstance(system, Tooled):
            system.prepare_tools(options)


class ElectLeader(_Operated):
    """Elects other in-sync replicas as leaders of all partitions that the targets lead, without any failure."""

    summary = "elect other leaders for all partitions that the hosts lead"
    family = "membership"
    does = Act.MOVES
    moves = True
    renews = False
    lasts = False
    service_powers = (Leadership,)

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return {HostPart.PROCESSES}

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
            deadline = time.monotonic() + _KNOWN_WITHIN_S
            while left := set(strike.service.power(Leadership).led_by(host)) & set(led):
                if time.monotonic() > deadline:
                    raise NemesisError(f"{host.name} still leads {', '.join(sorted(left))}")
                time.sleep(_POLL_S)
            changes.append(f"{host.name} no longer leads {', '.join(led)}")
        return Evidence("; ".join(changes))

    def heal(self, strike: Strike) -> None:
        """Do nothing: an election is instantaneous."""

    def verify_healed(self, strike: Strike) -> Evidence:
        return Evidence(answers_again(strike))


class Reassign(_Operated):
    """Moves all replicas to other brokers, under load; healing moves them back."""

    summary = "move all replicas off the hosts to other brokers; move them back afterwards"
    family = "membership"
    does = Act.MOVES
    moves = True
    renews = False
    service_powers: tuple[type, ...] = (Reassignment,)

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return {HostPart.PROCESSES}

    def inject(self, strike: Strike) -> None:
        reassignment = strike.service.power(Reassignment)
        strike.kept(_Stored).before = {host.name: reassignment.replicas_on(host) for host in strike.hosts}
        for host in strike.hosts:
            reassignment.drain(host)

    def verify(self, strike: Strike) -> Evidence:
        for host in strike.hosts:
            if left := strike.service.power(Reassignment).replicas_on(host):
                raise NemesisError(f"{host.name} still has {', '.join(left)}")
        moved = {name: len(replicas) for name, replicas in strike.kept(_Stored).before.items()}
        if not any(moved.values()):
            raise NemesisError(f"there were no replicas to move on {strike.names}")
        return Evidence(
            "; ".join(f"{count} replicas moved off {name}" for name, count in moved.items()),
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
                raise NemesisError(f"not moved back to {host.name}: {', '.join(sorted(missing))}")
        return Evidence(f"replicas moved back to {strike.names}")


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


class UpgradeOptions(BaseModel):
    """Parameters of a rolling upgrade. `version`: the release to upgrade to."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: str


class _OneByOne(Nemesis):
    """Restarts hosts one after the other into something that no healing takes back; healing starts what is stopped."""

    family = "membership"
    does = Act.MOVES | Act.STOPS
    moves = True
    renews = False
    lasts = False
    restores = False

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return {HostPart.PROCESSES}

    def heal(self, strike: Strike) -> None:
        for host in strike.hosts:
            start_services(strike, host)

    def verify_healed(self, strike: Strike) -> Evidence:
        return Evidence(answers_again(strike))


class RollingUpgrade(_OneByOne):
    """Stops hosts gracefully one after the other and starts them with another release, under load."""

    summary = "upgrade the hosts to another release one by one, waiting for all replicas to be in sync"
    parameters = UpgradeOptions
    service_powers = (
        Installation,
        Upgrade,
    )

    def prepare(self, system: System, options: Any, parameters: UpgradeOptions) -> None:
        """Download the release; see `chaoskit.contract.faults.nemesis.Preparing`."""
        upgraded = options.model_copy(update={"version": parameters.version})
        system.prepare(upgraded)
        if isinstance(system, Tooled):
            system.prepare_tools(upgraded)

    def inject(self, strike: Strike) -> None:
        upgraded = strike.kept(_Upgraded)
        upgraded.before = {strike.service.power(Upgrade).release_of(host) for host in strike.hosts}
        for host in strike.hosts:
            stop_in_order(host, strike.service)
            strike.service.power(Upgrade).install_release(host, strike.parameters.version)
            start_services(strike, host)
            strike.service.wait_ready(ANSWER_TIMEOUT_S)
        if len(strike.hosts) == len(strike.service.power(Installation).hosts):
            upgraded.ended = strike.service.power(Upgrade).finish_upgrade(strike.parameters.version)

    def verify(self, strike: Strike) -> Evidence:
        wanted = strike.parameters.version
        running = {host.name: strike.service.power(Upgrade).release_of(host) for host in strike.hosts}
        if others := {name: release for name, release in running.items() if release != wanted}:
            raise NemesisError(f"running {others} instead of {wanted}")
        upgraded = strike.kept(_Upgraded)
        sentence = f"upgraded {strike.names} from {', '.join(upgraded.before)} to {wanted}"
        return Evidence.of_all([sentence, upgraded.ended])


class MigrateMetadata(_OneByOne):
    """Moves the cluster's metadata to another service under load: hosts restart one by one, in several rounds."""

    summary = "move the cluster's metadata to another service, in rounds of restarts one by one"
    service_powers = (
        Installation,
        Migration,
    )

    def inject(self, strike: Strike) -> None:
        power, rounds = strike.service.power(Migration), strike.kept(_Rounds)
        hosts = strike.service.power(Installation).hosts
        if missed := [host.name for host in hosts if host not in strike.hosts]:
            raise NemesisError(f"all hosts migrate, but not {', '.join(missed)}; write on: all")
        for name in power.rounds:
            power.begin_round(name)
            for host in filter(power.takes_part, strike.hosts):
                stop_in_order(host, strike.service)
                power.reconfigure(host)
                start_services(strike, host)
                strike.service.wait_ready(ANSWER_TIMEOUT_S)
            rounds.ended.append(power.end_round(name))

    def verify(self, strike: Strike) -> Evidence:
        if not (ended := strike.kept(_Rounds).ended):
            raise NemesisError("no round of the migration has ended")
        return Evidence("; ".join(ended))
