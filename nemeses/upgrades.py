"""Upgrades and migrations as faults: hosts restart one by one into something that no healing takes back."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict

from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import Nemesis, NemesisError, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.systems.installation import Installation
from chaoskit.contract.systems.operating import Migration, Upgrade
from chaoskit.contract.systems.system import System
from nemeses.operated import fetch_tools
from nemeses.services import ANSWER_TIMEOUT_S, answers_again, start_services, stop_in_order


@dataclass(slots=True)
class _Upgraded:
    """The releases before, and what the end of the upgrade printed, if it was ended."""

    before: set[str] = field(default_factory=set)
    ended: str = ""


@dataclass(slots=True)
class _Rounds:
    """Evidence of each round of a migration."""

    ended: list[str] = field(default_factory=list)


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
        fetch_tools(system, upgraded)

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
