"""A full data disk."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from functools import partial
from typing import Any

from chaoskit.base.parallel import on_each
from chaoskit.base.quantities import Size, format_size
from chaoskit.base.waiting import wait_until
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import Nemesis, NemesisError, OnDisk, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.hosts.host import CommandResult, ServiceHost
from chaoskit.contract.hosts.shell import bash
from chaoskit.contract.systems.installation import Installation
from nemeses.disk.chosen import chosen
from nemeses.holding import check_held, hold, release
from nemeses.services import answers_again, start_services

_FREED_S = 10
"""How long the space of a deleted file may take to become free."""

_FILLINGS = 5
"""ext4 allocates up to 8 MiB ahead for each file that grows, which `df` counts as used, and gives that up only when a
write needs it: after such a write there is more to fill."""

_NO_SPACE = "No space left on device"
_TOLERANCE = 2**20
"""Bytes that the file system may reserve in addition to the space left free."""

_AVAILABLE = 'df --output=avail -B1 "$1" | tail -n1'
_FILL = f"""
folder=$1/.chaoskit
mkdir -p "$folder"
for spared in 0 0 65536 131072 262144 524288; do
    size=$(( $({_AVAILABLE}) - $2 - spared ))
    [ "$size" -gt 0 ] || break
    had=$(stat -c %b "$folder/ballast" 2> /dev/null || echo 0)
    fallocate -l $(( had * 512 + size )) "$folder/ballast" 2> /dev/null
done
true
"""
"""What is free becomes less in the meantime, and then a file system may give nothing at all."""

_REFILL = f"""
[ -e "$1/.chaoskit/ballast" ] || exit 0
{_FILL}"""
_LEAVE = '[ ! -d "$1/.chaoskit" ] || rmdir --ignore-fail-on-non-empty "$1/.chaoskit"'
_EMPTY = f'rm -f "$1/.chaoskit/ballast" "$1/.chaoskit/probe"; {_LEAVE}'
_WRITE = f"""
mkdir -p "$1/.chaoskit"
large=$(( $2 - {_TOLERANCE} )) probe=$1/.chaoskit/probe
[ $large -le 0 ] || fallocate -l $large "$probe" 2> /dev/null || head -c $large /dev/zero > "$probe"
head -c {3 * _TOLERANCE} /dev/zero >> "$probe"; status=$?
rm -f "$probe"; {_LEAVE}
exit $status
"""
"""Allocates most of what is left, and writes a little more than the rest: to write all would keep the disk busy."""


class Fill(OnDisk):
    """How full the disk gets.

    Attributes:
        leave: space that is left free.
    """

    leave: Size = 0


class DiskFull(Nemesis):
    """A file takes up the free space: writes fail with ENOSPC. Healing deletes it and restarts services that exited."""

    summary = "fill the data disk so that writes fail with ENOSPC; free the space afterwards"
    family = "disk"
    does = Act.SILENCES | Act.ENDS
    abrupt = True
    held = True
    tools = ("fallocate",)
    service_powers = (Installation,)
    parameters = Fill

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return {HostPart.DISK}

    def inject(self, strike: Strike) -> None:
        def act(host: ServiceHost) -> None:
            folder = shlex.quote(chosen(host, strike).path)
            hold(strike, host, f"set -- {folder} {strike.parameters.leave}\n{_FILL}", f"set -- {folder}\n{_EMPTY}")

        on_each(strike.hosts, act)

    def verify(self, strike: Strike) -> Evidence:
        return Evidence("; ".join(_proved_full(host, strike) for host in strike.hosts))

    def heal(self, strike: Strike) -> None:
        def act(host: ServiceHost) -> None:
            bash(host, _EMPTY, chosen(host, strike).path)
            start_services(strike, host)

        release(strike)
        on_each(strike.hosts, act)

    def verify_healed(self, strike: Strike) -> Evidence:
        wanted = strike.parameters.leave + 2 * _TOLERANCE
        seen = []
        for host in strike.hosts:
            # XFS frees the blocks of a deleted file in the background.
            has_room = wait_until(partial(_has_room, host, strike, wanted), _FREED_S)
            available = _available(host, strike)
            if not has_room or _written(host, strike).status != 0:
                raise NemesisError(f"{host.name} has only {available} bytes free after healing")
            seen.append(f"{host.name}: {format_size(available >> 20 << 20)} free")
        answers = answers_again(strike)
        check_held(strike)
        return Evidence("; ".join([*seen, answers]))


def _proved_full(host: ServiceHost, strike: Strike) -> str:
    """Prove that a write fails that is larger than what is left; fill up what became free meanwhile, a few times."""
    path, leave = chosen(host, strike).path, strike.parameters.leave
    for _ in range(_FILLINGS):
        available = _available(host, strike)
        probe = _written(host, strike)
        if available <= leave + _TOLERANCE and _NO_SPACE in probe.err:
            return f"{host.name}: {available} bytes free, {_NO_SPACE}"
        bash(host, _REFILL, path, str(leave))
    raise NemesisError(
        f"{host.name} has {available} bytes free, but should have {leave}; error of a larger write: "
        f"{probe.err.strip() or 'none'}"
    )


def _written(host: ServiceHost, strike: Strike) -> CommandResult:
    """Try to write a little more than what is to be left."""
    return bash(host, _WRITE, chosen(host, strike).path, str(strike.parameters.leave), check=False)


def _has_room(host: ServiceHost, strike: Strike, wanted: int) -> bool:
    return _available(host, strike) >= wanted


def _available(host: ServiceHost, strike: Strike) -> int:
    return int(bash(host, _AVAILABLE, chosen(host, strike).path).out)
