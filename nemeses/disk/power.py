"""Power cuts, single or repeated during recovery."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from chaoskit.base.parallel import on_each
from chaoskit.base.quantities import MILLISECOND, Duration
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import Nemesis, NemesisError, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.guarantees.act import Act, Damage
from chaoskit.contract.hosts.host import NothingToLose, PowerSwitch, ServiceHost, SyncWatch
from chaoskit.contract.power import optional
from nemeses.beside import others
from nemeses.disk.mending import restore
from nemeses.disk.proof import prove_cut
from nemeses.services import answers_again


class Cuts(BaseModel):
    """Power cuts of one fault.

    Attributes:
        reboots: number of further cuts while the system recovers.
        between: time from each boot to the next cut.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    reboots: Annotated[int, Field(ge=0, le=20)] = 0
    between: Duration = 500 * MILLISECOND


@dataclass(slots=True)
class _Cutting:
    """How far the cuts of one fault are.

    Attributes:
        left: number of cuts that are still to come.
        holding: by host, the fault that held on its disk when the first cut came, in words; empty if none did.
        proofs: evidence of the cuts before the last one.
        proved: evidence of each cut, by the host and how often it had booted.
    """

    left: int = 0
    holding: dict[str, str] = field(default_factory=dict)
    proofs: list[str] = field(default_factory=list)
    proved: dict[tuple[str, int], str] = field(default_factory=dict)


class PowerCut(Nemesis):
    """Cuts network, disk and processes at the same instant; unflushed data is lost. Healing boots the host."""

    summary = "cut the power of hosts and their data disks, which loses unsynced data; boot them afterwards"
    family = "disk"
    does = Act.ENDS | Act.VANISHES
    parameters = Cuts
    host_powers = (PowerSwitch,)

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return {HostPart.POWER}

    def damage(self, parameters: Any) -> Damage:
        return Damage.FORGETS

    def inject(self, strike: Strike) -> None:
        cutting = strike.kept(_Cutting)
        cutting.left = strike.parameters.reboots
        cutting.holding = {host.name: others(strike, host, HostPart.DISK) for host in strike.hosts}
        _cut(strike)

    def verify(self, strike: Strike) -> Evidence:
        return Evidence(check_dark(strike))

    def heal(self, strike: Strike) -> None:
        on_each(strike.hosts, lambda host: restore(host, strike))
        cutting = strike.kept(_Cutting)
        while cutting.left:
            cutting.left -= 1
            time.sleep(strike.parameters.between / 1e9)
            cutting.proofs += [_proof(strike, host) for host in strike.hosts]
            _cut(strike)
            on_each(strike.hosts, lambda host: restore(host, strike))

    def verify_healed(self, strike: Strike) -> Evidence:
        proofs = [_proof(strike, host) for host in strike.hosts]
        return Evidence("; ".join([*strike.kept(_Cutting).proofs, *proofs, answers_again(strike)]))


def _cut(strike: Strike) -> None:
    """Cut the power of all targets at once, while there is something to lose."""
    for host in strike.hosts:
        if (watch := optional(host, SyncWatch)) is not None:
            watch.await_unsynced()
    on_each(strike.hosts, lambda host: host.power(PowerSwitch).power_cut())


def _proof(strike: Strike, host: ServiceHost) -> str:
    """Return evidence of the last cut; that the host had no power, where another fault left the disk nothing to lose.

    Raises:
        HostError: the disk does not prove it.
    """
    switch = host.power(PowerSwitch)
    cutting, key = strike.kept(_Cutting), (host.name, switch.boots)
    if key in cutting.proved:
        return cutting.proved[key]
    try:
        cutting.proved[key] = prove_cut(host, strike)
    except NothingToLose as error:
        if not (holding := cutting.holding.get(host.name)):
            raise
        cutting.proved[key] = (
            f"{host.name}: it had no power; the disk has no further proof, since {holding} held on it ({error})"
        )
    return cutting.proved[key]


def check_dark(strike: Strike) -> str:
    """Return evidence that no target answers.

    Raises:
        NemesisError: one does.
    """
    answering = [host.name for host in strike.hosts if host.reachable(timeout_s=0.1)]
    if answering:
        raise NemesisError(f"answering despite the power cut: {', '.join(answering)}")
    return f"no answer from {strike.names}"
