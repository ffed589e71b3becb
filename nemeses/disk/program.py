"""The programmable disk's settings as faults: a rate of errors, or arbitrary settings."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from pydantic import model_validator

from chaoskit.base.parallel import on_each
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import Nemesis, NemesisError, OnDisk, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.guarantees.act import Act, Damage
from chaoskit.contract.hosts.disk import DiskSettings, ProgrammableDisk, Rate
from chaoskit.contract.hosts.host import PowerSwitch, ServiceHost
from chaoskit.contract.hosts.shell import bash
from chaoskit.contract.systems.installation import Installation
from nemeses.disk.chosen import chosen, programmable
from nemeses.disk.mending import check_writable, mend, write_error
from nemeses.services import answers_again

_ROUNDS = 20

_DESTROYING = {
    "flush_lies", "read_errors", "write_errors", "flush_errors", "bad_sectors", "read_flips", "write_flips",
}  # fmt: skip
"""Settings that may lose fsynced data; the others slow a disk down, or determine what a power cut keeps."""

_REQUESTS = """
mkdir -p "$1/.chaoskit"; probe=$1/.chaoskit/probe
dd if=/dev/zero of="$probe" bs=4k count=50 oflag=direct
dd if="$probe" of=/dev/null bs=4k iflag=direct
for _ in 1 2 3 4 5 6 7 8 9 10; do dd if=/dev/zero of="$probe" bs=4k count=1 conv=notrunc,fsync; done
"""


class Errors(OnDisk):
    """Fraction of requests that fail with EIO; at least one must be above 0."""

    read: Rate = 0
    write: Rate = 0
    flush: Rate = 0

    @model_validator(mode="after")
    def _fails_something(self) -> Errors:
        if not (self.read or self.write or self.flush):
            raise ValueError("specify read, write or flush as a fraction from 0 to 1")
        return self


class Program(OnDisk, DiskSettings):
    """At least one setting of the programmable disk."""

    @model_validator(mode="after")
    def _sets_something(self) -> Program:
        if self.frozen:
            raise ValueError("frozen: use the fault disk-freeze instead")
        if not self.changes:
            raise ValueError(f"specify at least one of: {', '.join(DiskSettings.model_fields)}")
        return self

    @property
    def changes(self) -> set[str]:
        """Names of the settings that it changes."""
        return self.model_fields_set & set(DiskSettings.model_fields)


@dataclass(slots=True)
class _Before:
    """Before the fault, by host: the number of requests that failed, and the settings of the disk."""

    errors: dict[str, int] = field(default_factory=dict)
    settings: dict[str, DiskSettings] = field(default_factory=dict)


class DiskErrors(Nemesis):
    """Some requests of the data disk fail with EIO. A reboot heals a file system that became read-only."""

    summary = "fail a fraction of the data disk's reads, writes or flushes with EIO"
    family = "disk"
    does = Act.SILENCES | Act.ENDS
    damages_until_healed = True
    service_powers = (Installation,)
    parameters = Errors
    host_powers = (PowerSwitch,)
    disk_powers = (ProgrammableDisk,)

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return {HostPart.DISK, HostPart.POWER}

    def damage(self, parameters: Any) -> Damage:
        return Damage.DESTROYS

    def inject(self, strike: Strike) -> None:
        changes = {f"{name}_errors": rate for name, rate in strike.parameters.model_dump(exclude={"disk"}).items()}
        strike.kept(_Before).errors = {host.name: _errors(host, strike) for host in strike.hosts}
        on_each(strike.hosts, lambda host: programmable(host, strike).program(changes))

    def verify(self, strike: Strike) -> Evidence:
        seen = []
        for host in strike.hosts:
            errors, rounds = 0, 0
            while errors == 0 and rounds < _ROUNDS:
                rounds += 1
                bash(host, _REQUESTS, chosen(host, strike).path, check=False)
                errors = _errors(host, strike) - strike.kept(_Before).errors[host.name]
            if errors == 0:
                raise NemesisError(f"no request of the data disk of {host.name} failed in {rounds} rounds")
            seen.append(Evidence(f"{host.name}: {errors} requests failed with EIO", {host.name: {"errors": errors}}))
        return Evidence.of_all(seen)

    def heal(self, strike: Strike) -> None:
        changed = ["read_errors", "write_errors", "flush_errors"]
        on_each(strike.hosts, lambda host: programmable(host, strike).reset(changed))
        mend(strike)

    def verify_healed(self, strike: Strike) -> Evidence:
        before = [_errors(host, strike) for host in strike.hosts]
        writable = check_writable(strike)
        for host, errors in zip(strike.hosts, before, strict=True):
            if _errors(host, strike) != errors:
                raise NemesisError(f"requests of the data disk of {host.name} still fail")
        return Evidence(f"{writable}; {answers_again(strike)}")


class DiskProgram(Nemesis):
    """Changes any settings of the programmable disk for the duration of the fault."""

    summary = "change settings of the programmable disk; restore them afterwards"
    family = "disk"
    does = Act.SLOWS
    damages_until_healed = True
    service_powers = (Installation,)
    parameters = Program
    host_powers = (PowerSwitch,)
    disk_powers = (ProgrammableDisk,)

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return {HostPart.DISK, HostPart.POWER}

    def damage(self, parameters: Any) -> Damage:
        destroys = any(getattr(parameters, name) for name in parameters.changes & _DESTROYING)
        return Damage.DESTROYS if destroys else Damage.NONE

    def inject(self, strike: Strike) -> None:
        changes = strike.parameters.model_dump(include=strike.parameters.changes, mode="json")
        strike.kept(_Before).settings = {host.name: programmable(host, strike).settings() for host in strike.hosts}
        on_each(strike.hosts, lambda host: programmable(host, strike).program(changes))

    def verify(self, strike: Strike) -> Evidence:
        return Evidence("; ".join(_behaviour(host, strike) for host in strike.hosts))

    def heal(self, strike: Strike) -> None:
        on_each(strike.hosts, lambda host: programmable(host, strike).reset(strike.parameters.changes))
        mend(strike)

    def verify_healed(self, strike: Strike) -> Evidence:
        for host in strike.hosts:
            settings, before = programmable(host, strike).settings(), strike.kept(_Before).settings[host.name]
            changed = [name for name in type(settings).model_fields if getattr(settings, name) != getattr(before, name)]
            if kept := strike.parameters.changes.intersection(changed):
                raise NemesisError(f"the disk of {host.name} still has the fault's {', '.join(kept)}")
        return Evidence(f"{check_writable(strike)}; {answers_again(strike)}")


def _errors(host: ServiceHost, strike: Strike) -> int:
    """Return the number of requests that the disk failed."""
    return programmable(host, strike).counters()["errors"]


def _behaviour(host: ServiceHost, strike: Strike) -> str:
    """Return the disk's reported settings, and the result of a write with fsync, as evidence.

    Raises:
        NemesisError: they do not match the parameters.
    """
    wanted: Program = strike.parameters
    settings = programmable(host, strike).settings()
    if wrong := [name for name in wanted.changes if getattr(settings, name) != getattr(wanted, name)]:
        raise NemesisError(f"the disk of {host.name} did not apply {', '.join(wrong)}")
    began = time.monotonic()
    error = write_error(host, strike)
    took_s = time.monotonic() - began
    if not error and took_s < wanted.flush / 1e9:
        raise NemesisError(f"{host.name}: a write with fsync took {took_s * 1e3:.1f} ms, less than one flush")
    shown = settings.model_dump(include=wanted.changes, mode="json")
    return f"{host.name}: {shown}; a write with fsync: {error or f'{took_s * 1e3:.1f} ms'}"
