"""A slow data disk."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import model_validator

from chaoskit.base.parallel import on_each
from chaoskit.base.quantities import SECOND
from chaoskit.base.waiting import wait_until
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import Nemesis, NemesisError, OnDisk, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.hosts.disk import DiskLimits, SlowDisk
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.hosts.shell import bash
from nemeses.disk.chosen import chosen
from nemeses.services import answers_again

_PROBE_S = 1.0
"""Duration of a probe at the limit."""

_TOLERANCE = 1.3
"""Factor by which a probe may exceed a limit, because the kernel accounts in time slices."""

_FASTER = 2.0
"""Factor by which a healed disk must be faster than the slow one; it must also be faster than the limit allows."""

_BUSY_S = 20.0
"""How long a healed disk is measured until it is faster: others may keep the machine busy."""

_BLOCK = 4096
_CHUNK = 65536

_BOUND_S = 15
"""A probe that takes longer has shown that the disk is slower than its limit: what the system has written before, and
the kernel still has to, goes first."""

_PROBE = r"""
write() { mkdir -p "$1/.chaoskit" && dd if=/dev/zero of="$1/.chaoskit/probe" bs=$2 count=$3 oflag=direct status=none; }
read_() { dd if="$1/.chaoskit/probe" of=/dev/null bs=$2 iflag=direct status=none; }
probe() {
    [ "$4" = write ] || write "$@" || return
    date +%s%N
    if [ "$4" = write ]; then write "$@"; else read_ "$@"; fi && date +%s%N
}
told=$(mktemp)
probe "$@" >"$told" 2>"$told.error" </dev/null & pid=$!
deadline=$((SECONDS + $5))
while kill -0 $pid 2>/dev/null && [ $SECONDS -lt $deadline ]; do sleep 0.02; done
kill -0 $pid 2>/dev/null || wait $pid || { cat "$told.error" >&2; rm -f "$told" "$told.error"; exit 1; }
cat "$told"
rm -f "$told" "$told.error"
"""
"""Prints when the probe began and ended, ns; only when it began, if it has not ended in time. A request that the disk
has is finished by nobody else, so it then ends by itself later."""


class Limits(OnDisk, DiskLimits):
    """At least one limit: bytes or requests per second."""

    @model_validator(mode="after")
    def _limits_something(self) -> Limits:
        if not any(getattr(self, name) for name in DiskLimits.model_fields):
            raise ValueError(f"specify at least one of: {', '.join(DiskLimits.model_fields)}")
        return self


@dataclass(frozen=True, slots=True)
class _Probe:
    """Direct requests that take about `_PROBE_S` at one limit."""

    reads: bool
    block: int
    count: int
    units: int

    def rate(self, host: ServiceHost, path: str) -> float:
        """Measure the rate of the disk that is mounted there, in units per second; if the probe does not end, return
        what it cannot exceed."""
        kind = "read" if self.reads else "write"
        arguments = path, str(self.block), str(self.count), kind, str(_BOUND_S)
        times = [int(time_ns) for time_ns in bash(host, _PROBE, *arguments, timeout_s=_BOUND_S + 60).out.split()]
        if not times:
            raise NemesisError(f"{host.name}: a file to read could not be written within {_BOUND_S} s")
        lasted_ns = times[1] - times[0] if len(times) > 1 else _BOUND_S * SECOND
        return self.units / max(1e-9, lasted_ns / SECOND)


Rates = Mapping[tuple[str, str], float]
"""Measured rates by host and limit, in bytes or requests per second."""


@dataclass(slots=True)
class _Slowed:
    """The rates that were measured while the limit held."""

    rates: Rates = field(default_factory=dict)


class DiskSlow(Nemesis):
    """Limits the data disk to a number of bytes or requests per second."""

    summary = "limit the bytes or requests per second of the data disk"
    family = "disk"
    does = Act.SLOWS
    parameters = Limits
    disk_powers = (SlowDisk,)

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return {HostPart.DISK, HostPart.RESOURCES}

    def inject(self, strike: Strike) -> None:
        on_each(strike.hosts, lambda host: chosen(host, strike).power(SlowDisk).limit(_limits(strike)))

    def verify(self, strike: Strike) -> Evidence:
        measured = strike.kept(_Slowed).rates = _measure(strike)
        for (name, quantity), rate in measured.items():
            limit = getattr(strike.parameters, quantity)
            if rate > limit * _TOLERANCE:
                raise NemesisError(f"{name}: {quantity} should be at most {limit:,}, but is {rate:,.0f}")
        return Evidence(
            "; ".join(
                f"{name}: {_words(quantity, rate)} (limit {_amount(quantity, getattr(strike.parameters, quantity))})"
                for (name, quantity), rate in measured.items()
            )
        )

    def heal(self, strike: Strike) -> None:
        on_each(strike.hosts, lambda host: chosen(host, strike).power(SlowDisk).limit(DiskLimits()))

    def verify_healed(self, strike: Strike) -> Evidence:
        slow, best = strike.kept(_Slowed).rates, dict[tuple[str, str], float]()
        needed = {
            (name, quantity): max(rate * _FASTER, getattr(strike.parameters, quantity) * _TOLERANCE)
            for (name, quantity), rate in slow.items()
        }

        def is_faster() -> bool:
            for key, rate in _measure(strike).items():
                best[key] = max(rate, best.get(key, 0.0))
            return all(best[key] >= rate for key, rate in needed.items())

        if not wait_until(is_faster, _BUSY_S):
            name, quantity = next(key for key, rate in needed.items() if best[key] < rate)
            raise NemesisError(
                f"{name}: {quantity} is at most {best[name, quantity]:,.0f} without the limit and was "
                f"{slow[name, quantity]:,.0f} with it: the limit was not removed, or it exceeds the speed of the disk"
            )
        return Evidence(f"{_healed_words(best, slow)}; {answers_again(strike)}")


def _limits(strike: Strike) -> DiskLimits:
    return DiskLimits(**strike.parameters.model_dump(exclude={"disk"}))


def _measure(strike: Strike) -> Rates:
    limits = strike.parameters.model_fields_set
    return {
        (host.name, quantity): _probe(quantity, getattr(strike.parameters, quantity)).rate(
            host, chosen(host, strike).path
        )
        for host in strike.hosts
        for quantity in DiskLimits.model_fields
        if quantity in limits
    }


def _probe(quantity: str, limit: int) -> _Probe:
    reads = quantity.startswith("read")
    if quantity.endswith("iops"):
        count = max(2, round(limit * _PROBE_S))
        return _Probe(reads, _BLOCK, count, count)
    block = _CHUNK if limit * _PROBE_S >= 4 * _CHUNK else _BLOCK
    count = max(2, round(limit * _PROBE_S / block))
    return _Probe(reads, block, count, count * block)


def _healed_words(measured: Rates, slow: Rates) -> str:
    return "; ".join(
        f"{name}: {_words(quantity, rate)} without the limit"
        + (f", {_amount(quantity, slow[name, quantity])} with it" if (name, quantity) in slow else "")
        for (name, quantity), rate in measured.items()
    )


def _words(quantity: str, rate: float) -> str:
    """Return a rate in words, such as `write bandwidth 142 kB/s`.

    >>> _words("write_bandwidth", 141_748), _words("read_iops", 99.6)
    ('write bandwidth 142 kB/s', 'read requests 100/s')
    """
    return f"{quantity.replace('iops', 'requests').replace('_', ' ')} {_amount(quantity, rate)}"


def _amount(quantity: str, rate: float) -> str:
    if quantity.endswith("iops"):
        return f"{rate:,.0f}/s"
    return f"{rate / 1e6:,.1f} MB/s" if rate >= 1e6 else f"{rate / 1e3:,.0f} kB/s"
