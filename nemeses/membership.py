"""Operator actions as faults: elections, reassignments, removing and adding brokers, rolling upgrades."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Any

from pydantic import BaseModel, ConfigDict

from chaoskit.contract.act import Act
from chaoskit.contract.host import ServiceState
from chaoskit.contract.installation import Installation
from chaoskit.contract.nemesis import Nemesis, NemesisError, Strike
from chaoskit.contract.operating import Decommissioning, Leadership, Migration, Reassignment, Upgrade
from chaoskit.contract.part import Part
from chaoskit.contract.system import System
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


class ElectLeader(Nemesis):
    """Elects other in-sync replicas as leaders of all partitions that the targets lead, without any failure."""

    summary = "elect other leaders for all partitions that the hosts lead"
    family = "membership"
    does = Act.MOVES
    moves = True
    renews = False
    lasts = False
    service_powers = (Leadership,)

    def occupies(self, parameters: Any) -> Collection[Part]:
        return {Part.PROCESSES}

    def inject(self, strike: Strike) -> None:
        strike.notes["led"] = {host.name: strike.service.power(Leadership).led_by(host) for host in strike.hosts}
        for host in strike.hosts:
            strike.service.power(Leadership).give_up_leadership(host)

    def verify(self, strike: Strike) -> str:
        told = []
        for host in strike.hosts:
            led = strike.notes["led"][host.name]
            if not led:
                raise NemesisError(f"{host.name} did not lead any partition")
            deadline = time.monotonic() + _KNOWN_WITHIN_S
            while left := set(strike.service.power(Leadership).led_by(host)) & set(led):
                if time.monotonic() > deadline:
                    raise NemesisError(f"{host.name} still leads {', '.join(sorted(left))}")
                time.sleep(_POLL_S)
            told.append(f"{host.name} no longer leads {', '.join(led)}")
        return "; ".join(told)

    def heal(self, strike: Strike) -> None:
        """Do nothing: an election is instantaneous."""

    def verify_healed(self, strike: Strike) -> str:
        return answers_again(strike)


class Reassign(Nemesis):
    """Moves all replicas to other brokers, under load; healing moves them back."""

    summary = "move all replicas off the hosts to other brokers; move them back afterwards"
    family = "membership"
    does = Act.MOVES
    moves = True
    renews = False
    service_powers: tuple[type, ...] = (Reassignment,)

    def occupies(self, parameters: Any) -> Collection[Part]:
        return {Part.PROCESSES}

    def inject(self, strike: Strike) -> None:
        reassignment = strike.service.power(Reassignment)
        strike.notes["kept"] = {host.name: reassignment.replicas_on(host) for host in strike.hosts}
        for host in strike.hosts:
            reassignment.drain(host)

    def verify(self, strike: Strike) -> str:
        for host in strike.hosts:
            if left := strike.service.power(Reassignment).replicas_on(host):
                raise NemesisError(f"{host.name} still has {', '.join(left)}")
        moved = {name: len(kept) for name, kept in strike.notes["kept"].items()}
        if not any(moved.values()):
            raise NemesisError(f"there were no replicas to move on {strike.names}")
        return "; ".join(f"{count} replicas moved off {name}" for name, count in moved.items())

    def heal(self, strike: Strike) -> None:
        for host in reversed(strike.hosts):
            strike.service.power(Reassignment).refill(host)

    def verify_healed(self, strike: Strike) -> str:
        for host in strike.hosts:
            kept = set(strike.service.power(Reassignment).replicas_on(host))
            missing = set(strike.notes.get("kept", {}).get(host.name, ())) - kept
            if missing:
                raise NemesisError(f"not moved back to {host.name}: {', '.join(sorted(missing))}")
        return f"replicas moved back to {strike.names}"


class RemoveBroker(Reassign):
    """Removes brokers gracefully: moves their replicas, then stops them; healing adds the brokers again."""

    does = Act.MOVES | Act.STOPS
    summary = "remove brokers gracefully (move their replicas, stop them); add them again afterwards"
    service_powers = (Installation, Reassignment)

    def inject(self, strike: Strike) -> None:
        super().inject(strike)
        for host in strike.hosts:
            stop_in_order(host, strike.service)

    def verify(self, strike: Strike) -> str:
        moved = super().verify(strike)
        for host in strike.hosts:
            if states(host, strike.service) != {ServiceState.GONE}:
                raise NemesisError(f"the system is still running on {host.name}")
        return f"{moved}; stopped there"

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

    def occupies(self, parameters: Any) -> Collection[Part]:
        return {Part.PROCESSES, Part.DISK}

    def inject(self, strike: Strike) -> None:
        strike.notes["kept"] = {host.name: strike.service.power(Decommissioning).kept_by(host) for host in strike.hosts}
        strike.notes["gone"] = []
        for host in strike.hosts:
            strike.service.power(Decommissioning).decommission(host)
            strike.notes["gone"].append(host)

    def verify(self, strike: Strike) -> str:
        for host in strike.hosts:
            if left := strike.service.power(Decommissioning).kept_by(host):
                raise NemesisError(f"the cluster still lists {', '.join(left)} on {host.name}")
        kept = strike.notes["kept"]
        if not any(kept.values()):
            raise NemesisError(f"there was no data on {strike.names}")
        return "; ".join(
            f"{name} had {', '.join(logs) or 'nothing'}, now stored on others" for name, logs in kept.items()
        )

    def heal(self, strike: Strike) -> None:
        for host in strike.notes.get("gone", ()):
            strike.service.power(Decommissioning).recommission(host)
        for host in strike.hosts:
            start_services(strike, host)

    def verify_healed(self, strike: Strike) -> str:
        return answers_again(strike)


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

    def occupies(self, parameters: Any) -> Collection[Part]:
        return {Part.PROCESSES}

    def heal(self, strike: Strike) -> None:
        for host in strike.hosts:
            start_services(strike, host)

    def verify_healed(self, strike: Strike) -> str:
        return answers_again(strike)


class RollingUpgrade(_OneByOne):
    """Stops hosts gracefully one after the other and starts them with another release, under load."""

    summary = "upgrade the hosts to another release one by one, waiting for all replicas to be in sync"
    parameters = UpgradeOptions
    service_powers = (
        Installation,
        Upgrade,
    )

    def prepare(self, system: System, options: Any, parameters: UpgradeOptions) -> None:
        """Download the release; see `chaoskit.contract.nemesis.Preparing`."""
        system.prepare(options.model_copy(update={"version": parameters.version}))

    def inject(self, strike: Strike) -> None:
        strike.notes["before"] = {strike.service.power(Upgrade).release_of(host) for host in strike.hosts}
        for host in strike.hosts:
            stop_in_order(host, strike.service)
            strike.service.power(Upgrade).install_release(host, strike.parameters.version)
            start_services(strike, host)
            strike.service.wait_ready(ANSWER_TIMEOUT_S)
        strike.notes["final"] = ""
        if len(strike.hosts) == len(strike.service.power(Installation).hosts):
            strike.notes["final"] = f"; {strike.service.power(Upgrade).finish_upgrade(strike.parameters.version)}"

    def verify(self, strike: Strike) -> str:
        wanted = strike.parameters.version
        running = {host.name: strike.service.power(Upgrade).release_of(host) for host in strike.hosts}
        if others := {name: release for name, release in running.items() if release != wanted}:
            raise NemesisError(f"running {others} instead of {wanted}")
        return f"upgraded {strike.names} from {', '.join(strike.notes['before'])} to {wanted}{strike.notes['final']}"


class MigrateMetadata(_OneByOne):
    """Moves the cluster's metadata to another service under load: hosts restart one by one, in several rounds."""

    summary = "move the cluster's metadata to another service, in rounds of restarts one by one"
    service_powers = (
        Installation,
        Migration,
    )

    def inject(self, strike: Strike) -> None:
        power, strike.notes["told"] = strike.service.power(Migration), []
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
            strike.notes["told"].append(power.end_round(name))

    def verify(self, strike: Strike) -> str:
        return "; ".join(strike.notes["told"])
