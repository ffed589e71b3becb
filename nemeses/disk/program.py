"""The programmable disk's settings as faults: a rate of errors, or arbitrary settings."""

from __future__ import annotations

import time
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from chaoskit.contract.cluster import Processes
from chaoskit.contract.disk import DiskSettings, ProgrammableDisk, Rate
from chaoskit.contract.guarantee import Damage
from chaoskit.contract.host import PowerSwitch, ServiceHost
from chaoskit.contract.nemesis import Nemesis, NemesisError, Strike
from nemeses.disk.mending import check_writable, mend, write_error
from nemeses.services import await_answers, on_each
from nemeses.shell import bash

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


class Errors(BaseModel):
    """Fraction of requests that fail with EIO; at least one must be above 0."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    read: Rate = 0
    write: Rate = 0
    flush: Rate = 0

    @model_validator(mode="after")
    def _fails_something(self) -> Errors:
        if not (self.read or self.write or self.flush):
            raise ValueError("specify read, write or flush as a fraction from 0 to 1")
        return self


class Program(DiskSettings):
    """At least one setting of the programmable disk."""

    @model_validator(mode="after")
    def _sets_something(self) -> Program:
        if self.frozen:
            raise ValueError("frozen: use the fault disk-freeze instead")
        if not self.model_fields_set:
            raise ValueError(f"specify at least one of: {', '.join(type(self).model_fields)}")
        return self


class DiskErrors(Nemesis):
    """Some requests of the data disk fail with EIO. A reboot heals a file system that became read-only."""

    summary = "fail a fraction of the data disk's reads, writes or flushes with EIO"
    family = "disk"
    cluster_powers = (Processes,)
    parameters = Errors
    host_powers = (PowerSwitch, ProgrammableDisk)

    def damage(self, parameters: Any) -> Damage:
        return Damage.DESTROYS

    def inject(self, strike: Strike) -> None:
        changes = {f"{name}_errors": rate for name, rate in strike.parameters.model_dump().items()}
        strike.notes["before"] = {host.name: _errors(host) for host in strike.hosts}
        on_each(strike.hosts, lambda host: host.power(ProgrammableDisk).program_disk(changes))

    def verify(self, strike: Strike) -> str:
        seen = []
        for host in strike.hosts:
            errors, rounds = 0, 0
            while errors == 0 and rounds < _ROUNDS:
                rounds += 1
                bash(host, _REQUESTS, host.data_dir, check=False)
                errors = _errors(host) - strike.notes["before"][host.name]
            if errors == 0:
                raise NemesisError(f"no request of the data disk of {host.name} failed in {rounds} rounds")
            seen.append(f"{host.name}: {errors} requests failed with EIO")
        return "; ".join(seen)

    def heal(self, strike: Strike) -> None:
        changed = ["read_errors", "write_errors", "flush_errors"]
        on_each(strike.hosts, lambda host: host.power(ProgrammableDisk).reset_disk(changed))
        mend(strike.hosts, strike.cluster)

    def verify_healed(self, strike: Strike) -> str:
        before = [_errors(host) for host in strike.hosts]
        writable = check_writable(strike.hosts)
        for host, errors in zip(strike.hosts, before, strict=True):
            if _errors(host) != errors:
                raise NemesisError(f"requests of the data disk of {host.name} still fail")
        return f"{writable}; {await_answers(strike.hosts, strike.cluster)}"


class DiskProgram(Nemesis):
    """Changes any settings of the programmable disk for the duration of the fault."""

    summary = "change settings of the programmable disk; restore them afterwards"
    family = "disk"
    cluster_powers = (Processes,)
    parameters = Program
    host_powers = (PowerSwitch, ProgrammableDisk)

    def damage(self, parameters: Any) -> Damage:
        destroys = any(getattr(parameters, name) for name in parameters.model_fields_set & _DESTROYING)
        return Damage.DESTROYS if destroys else Damage.NONE

    def inject(self, strike: Strike) -> None:
        changes = strike.parameters.model_dump(include=strike.parameters.model_fields_set, mode="json")
        strike.notes["settings"] = {host.name: host.power(ProgrammableDisk).disk_settings() for host in strike.hosts}
        on_each(strike.hosts, lambda host: host.power(ProgrammableDisk).program_disk(changes))

    def verify(self, strike: Strike) -> str:
        return "; ".join(_behaviour(host, strike) for host in strike.hosts)

    def heal(self, strike: Strike) -> None:
        on_each(strike.hosts, lambda host: host.power(ProgrammableDisk).reset_disk(strike.parameters.model_fields_set))
        mend(strike.hosts, strike.cluster)

    def verify_healed(self, strike: Strike) -> str:
        for host in strike.hosts:
            settings, before = host.power(ProgrammableDisk).disk_settings(), strike.notes["settings"][host.name]
            changed = [name for name in type(settings).model_fields if getattr(settings, name) != getattr(before, name)]
            if kept := strike.parameters.model_fields_set.intersection(changed):
                raise NemesisError(f"the disk of {host.name} still has the fault's {', '.join(kept)}")
        return f"{check_writable(strike.hosts)}; {await_answers(strike.hosts, strike.cluster)}"


def _errors(host: ServiceHost) -> int:
    """Return the number of requests that the disk failed."""
    return host.power(ProgrammableDisk).disk_counters()["errors"]


def _behaviour(host: ServiceHost, strike: Strike) -> str:
    """Return the disk's reported settings, and the result of a write with fsync, as evidence.

    Raises:
        NemesisError: they do not match the parameters.
    """
    wanted: DiskSettings = strike.parameters
    settings = host.power(ProgrammableDisk).disk_settings()
    if wrong := [name for name in wanted.model_fields_set if getattr(settings, name) != getattr(wanted, name)]:
        raise NemesisError(f"the disk of {host.name} did not apply {', '.join(wrong)}")
    began = time.monotonic()
    error = write_error(host)
    took_s = time.monotonic() - began
    if not error and took_s < wanted.flush / 1e9:
        raise NemesisError(f"{host.name}: a write with fsync took {took_s * 1e3:.1f} ms, less than one flush")
    shown = settings.model_dump(include=wanted.model_fields_set, mode="json")
    return f"{host.name}: {shown}; a write with fsync: {error or f'{took_s * 1e3:.1f} ms'}"
