"""Faults that operators make: elections, reassignments, brokers removed and added, rolling upgrades."""

from __future__ import annotations

import time
from typing import Any

from pydantic import BaseModel, ConfigDict

from chaoskit.contract.cluster import Decommissioning, Leadership, Reassignment, System, Upgrade
from chaoskit.contract.host import ServiceState
from chaoskit.contract.nemesis import NemesisError, NoParameters, Strike
from nemeses.services import ANSWER_TIMEOUT_S, await_answers, states, stop_in_order

_KNOWN_WITHIN_S = 5
"""How long brokers may take to tell of a new leader that is already elected."""

_POLL_S = 0.05


class ElectLeader:
    """Other in-sync replicas are elected for all that the targets lead, without any failure."""

    summary = "have other leaders elected for all partitions that the hosts lead"
    family = "membership"
    hits = "hosts"
    parameters = NoParameters
    lasts = False
    needs = (Leadership,)

    def inject(self, strike: Strike) -> None:
        strike.notes["led"] = {host.name: strike.cluster.led_by(host) for host in strike.targets}
        for host in strike.targets:
            strike.cluster.give_up_leadership(host)

    def verify(self, strike: Strike) -> str:
        told = []
        for host in strike.targets:
            led = strike.notes["led"][host.name]
            if not led:
                raise NemesisError(f"{host.name} led no partition")
            deadline = time.monotonic() + _KNOWN_WITHIN_S
            while left := set(strike.cluster.led_by(host)) & set(led):
                if time.monotonic() > deadline:
                    raise NemesisError(f"{host.name} still leads {', '.join(sorted(left))}")
                time.sleep(_POLL_S)
            told.append(f"{host.name} no longer leads {', '.join(led)}")
        return "; ".join(told)

    def heal(self, strike: Strike) -> None:
        """Nothing: an election is over at once."""

    def verify_healed(self, strike: Strike) -> str:
        return await_answers(strike.targets, strike.cluster)


class Reassign:
    """All replicas move to other brokers, under load; healing moves them back."""

    summary = "move all replicas off the hosts to other brokers; move them back afterwards"
    family = "membership"
    hits = "hosts"
    parameters = NoParameters
    lasts = True
    needs = (Reassignment,)

    def inject(self, strike: Strike) -> None:
        strike.notes["kept"] = {host.name: strike.cluster.replicas_on(host) for host in strike.targets}
        for host in strike.targets:
            strike.cluster.drain(host)

    def verify(self, strike: Strike) -> str:
        for host in strike.targets:
            if left := strike.cluster.replicas_on(host):
                raise NemesisError(f"{host.name} still keeps {', '.join(left)}")
        moved = {name: len(kept) for name, kept in strike.notes["kept"].items()}
        if not any(moved.values()):
            raise NemesisError(f"{strike.names} kept no replica that could move")
        return "; ".join(f"{count} replicas moved off {name}" for name, count in moved.items())

    def heal(self, strike: Strike) -> None:
        for host in reversed(strike.targets):
            strike.cluster.refill(host)

    def verify_healed(self, strike: Strike) -> str:
        for host in strike.targets:
            missing = set(strike.notes.get("kept", {}).get(host.name, ())) - set(strike.cluster.replicas_on(host))
            if missing:
                raise NemesisError(f"{host.name} has not got {', '.join(sorted(missing))} back")
        return f"{strike.names} keep their replicas again"


class RemoveBroker(Reassign):
    """An orderly removal: replicas move off, then the system ends there; healing adds the broker again."""

    summary = "remove brokers in order (move their replicas, end them); add them again afterwards"

    def inject(self, strike: Strike) -> None:
        super().inject(strike)
        for host in strike.targets:
            stop_in_order(host, strike.cluster)

    def verify(self, strike: Strike) -> str:
        moved = super().verify(strike)
        for host in strike.targets:
            if states(host, strike.cluster) != {ServiceState.GONE}:
                raise NemesisError(f"the system still runs on {host.name}")
        return f"{moved}; ended there"

    def heal(self, strike: Strike) -> None:
        for host in strike.targets:
            strike.cluster.start(host)
        await_answers(strike.targets, strike.cluster)
        super().heal(strike)


class Decommission:
    """What a node keeps is copied elsewhere while the load goes on; healing adds the node as a new one."""

    summary = "end what keeps data on hosts and have it copied elsewhere (bookies); add them as new ones afterwards"
    family = "membership"
    hits = "hosts"
    parameters = NoParameters
    lasts = True
    needs = (Decommissioning,)

    def inject(self, strike: Strike) -> None:
        strike.notes["kept"] = {host.name: strike.cluster.kept_by(host) for host in strike.targets}
        strike.notes["gone"] = []
        for host in strike.targets:
            strike.cluster.decommission(host)
            strike.notes["gone"].append(host)

    def verify(self, strike: Strike) -> str:
        for host in strike.targets:
            if left := strike.cluster.kept_by(host):
                raise NemesisError(f"{host.name} is still said to keep {', '.join(left)}")
        kept = strike.notes["kept"]
        if not any(kept.values()):
            raise NemesisError(f"{strike.names} kept nothing")
        return "; ".join(
            f"{name} kept {', '.join(logs) or 'nothing'}, which others keep now" for name, logs in kept.items()
        )

    def heal(self, strike: Strike) -> None:
        for host in strike.notes.get("gone", ()):
            strike.cluster.recommission(host)
        for host in strike.targets:
            strike.cluster.start(host)

    def verify_healed(self, strike: Strike) -> str:
        return await_answers(strike.targets, strike.cluster)


class UpgradeOptions(BaseModel):
    """The parameters of a rolling upgrade. `version`: the release to upgrade to."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: str


class RollingUpgrade:
    """One host after the other is stopped in order and started with another release, under load."""

    summary = "upgrade the hosts to another release one after the other, waiting until all replicas are in sync"
    family = "membership"
    hits = "hosts"
    parameters = UpgradeOptions
    lasts = False
    needs = (Upgrade,)

    def prepare(self, system: System, options: Any, parameters: UpgradeOptions) -> None:
        """Fetch the release; see `chaoskit.contract.nemesis.Preparing`."""
        system.prepare(options.model_copy(update={"version": parameters.version}))

    def inject(self, strike: Strike) -> None:
        strike.notes["before"] = {strike.cluster.release_of(host) for host in strike.targets}
        for host in strike.targets:
            stop_in_order(host, strike.cluster)
            strike.cluster.install_release(host, strike.parameters.version)
            strike.cluster.start(host)
            strike.cluster.wait_ready(ANSWER_TIMEOUT_S)
        strike.notes["final"] = ""
        if len(strike.targets) == len(strike.cluster.hosts):
            strike.notes["final"] = f"; {strike.cluster.finish_upgrade(strike.parameters.version)}"

    def verify(self, strike: Strike) -> str:
        wanted = strike.parameters.version
        running = {host.name: strike.cluster.release_of(host) for host in strike.targets}
        if others := {name: release for name, release in running.items() if release != wanted}:
            raise NemesisError(f"{others} instead of {wanted}")
        return f"{strike.names} went from {', '.join(strike.notes['before'])} to {wanted}{strike.notes['final']}"

    def heal(self, strike: Strike) -> None:
        for host in strike.targets:
            strike.cluster.start(host)

    def verify_healed(self, strike: Strike) -> str:
        return await_answers(strike.targets, strike.cluster)
