"""A data disk that does not respond for a while."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Any

from chaoskit.base.parallel import on_each
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import Nemesis, NemesisError, OnDisk, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.hosts.disk import ProgrammableDisk
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.hosts.shell import bash
from chaoskit.contract.power import optional
from nemeses.disk.chosen import chosen
from nemeses.disk.mending import check_writable
from nemeses.services import answers_again

_PATIENCE_S = 0.3

_WRITE = 'mkdir -p "$1"; echo frozen > "$1/probe"; sync "$1/probe"; echo written > "$2"'
_WRITER = 'rm -f "$2"; setsid sh -c "$3" sh "$1/.chaoskit" "$2" < /dev/null > /dev/null 2>&1 &'


class DiskFreeze(Nemesis):
    """Writes hang until the fault ends, then continue. A programmable disk freezes below the file system: reads also
    hang."""

    summary = "make writes to the data disk hang, then continue"
    family = "disk"
    does = Act.SILENCES
    renews = False
    parameters = OnDisk

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return {HostPart.DISK}

    def inject(self, strike: Strike) -> None:
        def act(host: ServiceHost) -> None:
            disk = chosen(host, strike)
            if programmable := optional(disk, ProgrammableDisk):
                programmable.program({"frozen": True})
            else:
                host.run(["fsfreeze", "--freeze", disk.path])

        on_each(strike.hosts, act)

    def verify(self, strike: Strike) -> Evidence:
        on_each(strike.hosts, lambda host: bash(host, _WRITER, chosen(host, strike).path, _mark(strike), _WRITE))
        time.sleep(_PATIENCE_S)
        done = [host.name for host in strike.hosts if _written(host, strike)]
        if done:
            raise NemesisError(f"a write to the data disk should hang, but finished on {', '.join(done)}")
        return Evidence(f"a write with fsync on {strike.names} hangs for {_PATIENCE_S:g} s")

    def heal(self, strike: Strike) -> None:
        def act(host: ServiceHost) -> None:
            disk = chosen(host, strike)
            if programmable := optional(disk, ProgrammableDisk):
                programmable.reset(["frozen"])
            else:
                host.run(["fsfreeze", "--unfreeze", disk.path], check=False)

        on_each(strike.hosts, act)

    def verify_healed(self, strike: Strike) -> Evidence:
        return Evidence(f"{check_writable(strike)}; {answers_again(strike)}")


def _mark(strike: Strike) -> str:
    return f"/run/chaoskit/{strike.name}.written"


def _written(host: ServiceHost, strike: Strike) -> bool:
    return bash(host, '[ -e "$1" ]', _mark(strike), check=False).status == 0
