"""Faults of disks: the power cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from chaoskit.cluster import Cluster
from chaoskit.host import PowerSwitch, ServiceHost
from chaoskit.nemesis import NemesisError, NoParameters
from nemeses.process import await_answers, names, on_each


class PowerCut:
    """Cable, disk and processes are cut at one instant; un-synced data is gone. Healing boots the host."""

    summary = "cut the power of hosts and their data disks: what was not fsynced is lost; boot them afterwards"
    parameters = NoParameters
    lasts = True
    needs = (PowerSwitch,)

    def inject(self, targets: Sequence[ServiceHost], cluster: Cluster, parameters: Any) -> None:
        on_each(targets, lambda host: host.power_cut())

    def verify(self, targets: Sequence[ServiceHost], cluster: Cluster, parameters: Any) -> str:
        answering = [host.name for host in targets if host.reachable(timeout_s=0.1)]
        if answering:
            raise NemesisError(f"{', '.join(answering)} should have no power and still answer")
        return f"{names(targets)} answer nothing"

    def heal(self, targets: Sequence[ServiceHost], cluster: Cluster, parameters: Any) -> None:
        def restore(host: Any) -> None:
            if not host.reachable():
                host.power_on()
            cluster.start(host)

        on_each(targets, restore)

    def verify_healed(self, targets: Sequence[ServiceHost], cluster: Cluster, parameters: Any) -> str:
        proofs = [f"{host.name}: {cast(PowerSwitch, host).prove_cut()}" for host in targets]
        return "; ".join([*proofs, await_answers(targets, cluster)])
