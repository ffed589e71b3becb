"""Silent corruption of files: inverted bits and truncated files. Nothing reports it, and nothing undoes it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from chaoskit.base.parallel import on_each
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import Nemesis, NemesisError, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.guarantees.act import Act, Damage
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.hosts.shell import bash
from chaoskit.contract.power import optional
from chaoskit.contract.systems.service import DataFiles
from nemeses.disk.files import FileChoice, Place, draw_places

_TIMEOUT_S = 120

_FLIP = """
change() {
    old=$(od -An -tu1 -j "$2" -N 1 "$1") && new=$(( old ^ (1 << $2 % 8) )) || return
    printf "\\\\$(printf %03o $new)" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none && sync "$1" || return
    echo $old $(od -An -tu1 -j "$2" -N 1 "$1")
}
"""
_TRUNCATE = """
tail() { dd if="$1" bs=64K count=1 skip="$2" iflag=skip_bytes status=none | cksum; }
change() {
    old=$(stat -c %s "$1") was=$(tail "$1" "$2") && truncate -s "$2" "$1" && sync "$1" || return
    [ "$was" = "$(tail "$1" "$2")" ]; echo $old $?
}
"""
"""Prints the original size of the file, and 1 if its tail has changed or is missing. The new size would prove nothing:
a process that has the file open may continue to write at its old position."""

_EACH = 'while [ $# -gt 0 ]; do change "$1" "$2" || exit; shift 2; done'
"""All places in one command: the fault is over soon, however many there are."""


@dataclass(slots=True)
class _Changed:
    """The changes: host, place, and the two numbers that the script printed."""

    places: list[tuple[str, Place, int, int]] = field(default_factory=list)


class BitFlip(Nemesis):
    """Inverts one bit of a random byte, on the disk and in the page cache, so that readers see it."""

    summary = "invert a bit in files on the data disk"
    family = "disk"
    does = Act.NONE
    parameters = FileChoice
    lasts = False

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return {HostPart.DISK}

    def damage(self, parameters: Any) -> Damage:
        return Damage.CORRUPTS

    def inject(self, strike: Strike) -> None:
        _change(strike, _FLIP)

    def verify(self, strike: Strike) -> Evidence:
        changes = _changes(strike)
        for name, place, before, after in changes:
            if (before ^ after).bit_count() != 1:
                raise NemesisError(f"{place.path} on {name}: byte {place.offset} was {before} and is now {after}")
        return Evidence(
            "; ".join(
                f"{name}: {place.path} byte {place.offset} was 0x{before:02x}, reads 0x{after:02x}"
                for name, place, before, after in changes
            )
        )

    def heal(self, strike: Strike) -> None:
        """Do nothing: the test is how the system deals with the corruption."""

    def verify_healed(self, strike: Strike) -> Evidence:
        return Evidence("corruption is permanent; detecting and repairing it is up to the system")


class Truncate(BitFlip):
    """Truncates files at a random byte."""

    summary = "truncate files on the data disk"

    def inject(self, strike: Strike) -> None:
        _change(strike, _TRUNCATE)

    def verify(self, strike: Strike) -> Evidence:
        changes = _changes(strike)
        for name, place, before, gone in changes:
            if not gone:
                raise NemesisError(
                    f"{place.path} on {name}: the content from byte {place.offset} on, of {before}, is unchanged"
                )
        return Evidence(
            "; ".join(
                f"{name}: {place.path} had {before} bytes, was truncated to {place.offset}"
                for name, place, before, _ in changes
            )
        )


def _changes(strike: Strike) -> list[tuple[str, Place, int, int]]:
    if not (changes := strike.kept(_Changed).places):
        raise NemesisError(f"nothing was changed on {strike.names}")
    return changes


def _change(strike: Strike, script: str) -> None:
    """Change each drawn place as the script says, and store the two numbers that it prints."""
    places = draw_places(strike)
    changed = strike.kept(_Changed).places

    def act(host: ServiceHost) -> None:
        own = places[host.name]
        arguments = [argument for place in own for argument in (place.path, str(place.offset))]
        printed = bash(host, script + _EACH, *arguments, timeout_s=_TIMEOUT_S).out.splitlines()
        for place, line in zip(own, printed, strict=True):
            before, after = map(int, line.split())
            changed.append((host.name, place, before, after))

    on_each(strike.hosts, act)
    files = optional(strike.service, DataFiles)
    if files is not None:
        partitions = [files.partition_of(place.path) for _, place, _, _ in changed]
        strike.damaged = [] if None in partitions else [partition for partition in partitions if partition is not None]
