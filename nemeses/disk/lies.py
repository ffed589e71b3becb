"""A data disk that acknowledges flushes without performing them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from chaoskit.base.parallel import on_each
from chaoskit.base.waiting import wait_while
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import Nemesis, NemesisError, OnDisk, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.guarantees.act import Act, Damage
from chaoskit.contract.hosts.disk import ProgrammableDisk
from chaoskit.contract.hosts.host import PowerSwitch, ServiceHost
from chaoskit.contract.systems.installation import Installation
from nemeses.disk.chosen import chosen, programmable
from nemeses.disk.mending import check_writable, restore, write_error
from nemeses.disk.proof import prove_cut
from nemeses.services import answers_again

_FLUSHED_S = 10


class Lie(OnDisk):
    """How the fault ends.

    Attributes:
        cut: with a power cut, so that acknowledged data is lost; otherwise the disk persists the data.
    """

    cut: bool = True


@dataclass(slots=True)
class _Lying:
    """Whether the disks lie now, and whether their power was cut at the end."""

    now: bool = False
    cut: bool = False


class FsyncLies(Nemesis):
    """Flushes are acknowledged but nothing is persisted, up to the size of the disk's cache (`cluster.disk.cache`)."""

    summary = "make the data disk acknowledge flushes without performing them; cut the power at the end"
    family = "disk"
    does = Act.ENDS | Act.VANISHES
    damages_until_healed = True
    service_powers = (Installation,)
    parameters = Lie
    host_powers = (PowerSwitch,)
    disk_powers = (ProgrammableDisk,)

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return {HostPart.DISK, HostPart.POWER}

    def damage(self, parameters: Any) -> Damage:
        return Damage.DESTROYS

    def inject(self, strike: Strike) -> None:
        strike.kept(_Lying).now = True
        on_each(strike.hosts, lambda host: programmable(host, strike).program({"flush_lies": True}))

    def verify(self, strike: Strike) -> Evidence:
        return Evidence.of_all(_check_lies(host, strike) for host in strike.hosts)

    def heal(self, strike: Strike) -> None:
        lying = strike.kept(_Lying)
        cut, lying.now = strike.parameters.cut and lying.now, False

        def act(host: ServiceHost) -> None:
            if cut and host.reachable():
                host.power(PowerSwitch).power_cut()
            programmable(host, strike).reset(["flush_lies"])
            restore(host, strike)
            host.run(["sync", "--file-system", chosen(host, strike).path])

        on_each(strike.hosts, act)
        if cut:
            lying.cut = True

    def verify_healed(self, strike: Strike) -> Evidence:
        proofs = [_check_lost(host, strike) for host in strike.hosts] if strike.kept(_Lying).cut else []
        writable = check_writable(strike)
        for host in strike.hosts:
            _check_flushes(host, strike)
        return Evidence("; ".join([*proofs, writable, answers_again(strike)]))


def _check_lies(host: ServiceHost, strike: Strike) -> Evidence:
    disk = programmable(host, strike)
    before = disk.counters()["lies"]
    if error := write_error(host, strike):
        raise NemesisError(f"a write with fsync on {host.name} should be acknowledged: {error}")
    counters = disk.counters()
    lies, waiting = counters["lies"] - before, counters["unflushed_sectors"]
    if lies == 0 or waiting == 0:
        raise NemesisError(f"the disk of {host.name} should lie: {lies} lies, {waiting} sectors not persistent")
    sentence = f"{host.name}: an fsync was acknowledged with {lies} lies, {waiting} sectors are not persistent"
    return Evidence(sentence, {host.name: {"lies": lies, "unflushed_sectors": waiting}})


def _check_flushes(host: ServiceHost, strike: Strike) -> None:
    """Raise if data is not flushed by a sync; what a service writes in between is flushed by the next one."""

    def waiting() -> int:
        host.run(["sync", "--file-system", chosen(host, strike).path])
        return programmable(host, strike).counters()["unflushed_sectors"]

    if left := wait_while(waiting, _FLUSHED_S):
        raise NemesisError(f"{left} sectors of {host.name} are still unflushed after a sync")


def _check_lost(host: ServiceHost, strike: Strike) -> str:
    cut = programmable(host, strike).last_cut()
    if not cut.get("lies") or not cut["sectors"]:
        raise NemesisError(
            f"{host.name}: the power was cut while its disk lied, but no acknowledged data was lost: {cut}"
        )
    return f"{cut['lies']} acknowledged flushes were lies; {prove_cut(host, strike)}"
