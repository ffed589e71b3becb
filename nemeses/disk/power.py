"""The power cut, once or again while the system recovers."""

from __future__ import annotations

import time
from typing import Annotated, Any, cast

from pydantic import BaseModel, ConfigDict, Field

from chaoskit.base.quantities import MILLISECOND, Duration
from chaoskit.contract.host import PowerSwitch
from chaoskit.contract.nemesis import NemesisError, Strike
from nemeses.disk.mending import restore
from nemeses.services import await_answers, on_each


class Cuts(BaseModel):
    """Power cuts of one fault.

    Attributes:
        reboots: how often the power is cut again while the system recovers.
        between: how long after each boot.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    reboots: Annotated[int, Field(ge=0, le=20)] = 0
    between: Duration = 500 * MILLISECOND


class PowerCut:
    """Cable, disk and processes are cut at one instant; un-flushed data is gone. Healing boots the host."""

    summary = "cut the power of hosts and their data disks: what was not fsynced is lost; boot them afterwards"
    family = "disk"
    hits = "hosts"
    parameters = Cuts
    lasts = True
    needs = (PowerSwitch,)

    def inject(self, strike: Strike) -> None:
        strike.notes["reboots"] = strike.parameters.reboots
        on_each(strike.targets, lambda host: host.power_cut())

    def verify(self, strike: Strike) -> str:
        return check_dark(strike)

    def heal(self, strike: Strike) -> None:
        on_each(strike.targets, lambda host: restore(host, strike.cluster))
        while strike.notes.get("reboots"):
            strike.notes["reboots"] -= 1
            time.sleep(strike.parameters.between / 1e9)
            proofs = strike.notes.setdefault("proofs", [])
            proofs += [f"{host.name}: {host.prove_cut()}" for host in strike.targets]
            on_each(strike.targets, lambda host: host.power_cut())
            on_each(strike.targets, lambda host: restore(host, strike.cluster))

    def verify_healed(self, strike: Strike) -> str:
        proofs = [f"{host.name}: {cast(PowerSwitch, host).prove_cut()}" for host in strike.targets]
        return "; ".join([*strike.notes.get("proofs", []), *proofs, await_answers(strike.targets, strike.cluster)])


def check_dark(strike: Strike) -> str:
    """Return evidence that no target answers.

    Raises:
        NemesisError: one does.
    """
    answering = [host.name for host in cast(list[Any], strike.targets) if host.reachable(timeout_s=0.1)]
    if answering:
        raise NemesisError(f"{', '.join(answering)} should have no power and still answer")
    return f"{strike.names} answer nothing"
