"""Clock faults: the wall clock seen by the system's processes is offset, jumps, drifts or strobes.

Monotonic clocks and timeouts are not affected, as when an operator or NTP sets a machine's clock.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, model_validator

from chaoskit.base.parallel import on_each
from chaoskit.base.quantities import MILLISECOND, Duration, format_duration, parse_duration
from chaoskit.base.waiting import wait_until
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import Nemesis, NemesisError, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.hosts.clock import SettableClock
from chaoskit.contract.hosts.host import ServiceHost, ServiceState
from chaoskit.contract.power import optional
from chaoskit.contract.systems.installation import Installation
from nemeses.services import answers_again

_TOLERANCE_NS = 20 * MILLISECOND
"""Accuracy of reading a clock by starting a process."""

_LEAST_NS = 50 * MILLISECOND
_ATTEMPTS = 10
_STARTS_S = 2
"""How long a service may take to load the clock after its start."""


def _parse_signed(text: object) -> int:
    if isinstance(text, str) and text.strip()[:1] in ("-", "+"):
        sign = -1 if text.strip().startswith("-") else 1
        return sign * parse_duration(text.strip()[1:])
    return parse_duration(text)


def _format_signed(nanoseconds: int) -> str:
    return f"-{format_duration(-nanoseconds)}" if nanoseconds < 0 else format_duration(nanoseconds)


def _large_enough(nanoseconds: int) -> int:
    if abs(nanoseconds) < _LEAST_NS:
        raise ValueError(f"less than {format_duration(_LEAST_NS)} cannot be proved; increase it, for example 1s or -1s")
    return nanoseconds


Shift = Annotated[int, BeforeValidator(_parse_signed), AfterValidator(_large_enough), PlainSerializer(_format_signed)]
"""A signed duration: `-5s` is behind true time."""


class OffsetParameters(BaseModel):
    """How far the clock is ahead of true time; negative values are behind."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    offset: Shift


class JumpParameters(BaseModel):
    """How far the clock jumps from its current value; negative values jump back."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    by: Shift


class DriftParameters(BaseModel):
    """Speed of the clock: 1.5 is 50 % too fast, 0.5 is half speed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rate: Annotated[float, Field(ge=0, le=100)]

    @model_validator(mode="after")
    def _drifts(self) -> DriftParameters:
        if abs(self.rate - 1) < 0.01:
            raise ValueError(f"rate {self.rate} is too close to 1 to be proved; use at most 0.99 or at least 1.01")
        return self


class StrobeParameters(OffsetParameters):
    """An intermittent offset.

    Attributes:
        interval: how long the clock is offset, and how long it is correct.
    """

    interval: Annotated[Duration, Field(ge=_LEAST_NS)] = 200 * MILLISECOND


@dataclass(slots=True)
class _Jumped:
    """How far each clock was to be ahead after its jump, ns, by host."""

    ahead_ns: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Strobing:
    """The thread that switches the clocks, and what ends it."""

    over: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None


class ClockOffset(Nemesis):
    """The clock is off by a fixed time."""

    summary = "offset the system's wall clock; correct it afterwards"
    family = "clock"
    does = Act.NONE
    delays = False
    renews = False
    parameters: type[BaseModel] = OffsetParameters
    before_boot = True
    host_powers = (SettableClock,)

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return {HostPart.CLOCK}

    def ahead_ns(self, parameters: Any, lasted_ns: int) -> int:
        offset: int = parameters.offset
        return max(offset, 0)

    def inject(self, strike: Strike) -> None:
        on_each(strike.hosts, lambda host: host.power(SettableClock).set_clock(strike.parameters.offset))

    def verify(self, strike: Strike) -> Evidence:
        _check_services(strike)
        return self.measured(strike)

    def measured(self, strike: Strike) -> Evidence:
        """Return how wrong the clocks are, as evidence; raises NemesisError if they are not as wrong as they should."""
        return Evidence.of_all(_check_error(host, strike.parameters.offset) for host in strike.hosts)

    def heal(self, strike: Strike) -> None:
        on_each(strike.hosts, lambda host: host.power(SettableClock).set_clock(0))

    def verify_healed(self, strike: Strike) -> Evidence:
        errors = [_check_error(host, 0) for host in strike.hosts]
        return Evidence.of_all([*errors, answers_again(strike)])


class ClockJump(ClockOffset):
    """The clock jumps from its current value; jumps accumulate until it is corrected."""

    summary = "make the system's wall clock jump; correct it afterwards"
    parameters = JumpParameters

    def ahead_ns(self, parameters: Any, lasted_ns: int) -> int:
        by: int = parameters.by
        return max(by, 0)

    def inject(self, strike: Strike) -> None:
        def act(host: ServiceHost) -> None:
            shown = host.power(SettableClock).clock_error_ns() + strike.parameters.by
            strike.kept(_Jumped).ahead_ns[host.name] = shown
            host.power(SettableClock).set_clock(shown)

        on_each(strike.hosts, act)

    def measured(self, strike: Strike) -> Evidence:
        ahead_ns = strike.kept(_Jumped).ahead_ns
        return Evidence.of_all(
            _check_error(host, ahead_ns.get(host.name, strike.parameters.by)) for host in strike.hosts
        )


class ClockDrift(ClockOffset):
    """The clock runs too fast or too slow."""

    summary = "make the system's wall clock run too fast or too slow; correct it afterwards"
    parameters = DriftParameters

    def ahead_ns(self, parameters: Any, lasted_ns: int) -> int:
        return max(int((parameters.rate - 1) * lasted_ns), 0)

    def inject(self, strike: Strike) -> None:
        on_each(strike.hosts, lambda host: host.power(SettableClock).set_clock(0, strike.parameters.rate))

    def measured(self, strike: Strike) -> Evidence:
        gain = strike.parameters.rate - 1
        first = {host.name: _read(host) for host in strike.hosts}
        time.sleep(max(0.3, 4 * _TOLERANCE_NS / 1e9 / abs(gain)))
        return Evidence.of_all(_check_gain(host, first[host.name], gain) for host in strike.hosts)


class ClockStrobe(ClockOffset):
    """The clock alternates between an offset and the true time, switched by the harness."""

    summary = "alternate the system's wall clock between an offset and the true time"
    parameters = StrobeParameters

    def inject(self, strike: Strike) -> None:
        strobing = strike.kept(_Strobing)
        super().inject(strike)
        strobing.thread = threading.Thread(target=_strobe, args=(strike, strobing.over), daemon=True)
        strobing.thread.start()

    def measured(self, strike: Strike) -> Evidence:
        seen = {}
        for host in strike.hosts:
            errors = [_sampled(host, strike, attempt) for attempt in range(_ATTEMPTS)]
            off = [error for error in errors if abs(error - strike.parameters.offset) < _TOLERANCE_NS]
            true = [error for error in errors if abs(error) < _TOLERANCE_NS]
            if not off or not true:
                raise NemesisError(f"the clock of {host.name} should strobe, but was off by {_listed(errors)}")
            offset = _format_signed(strike.parameters.offset)
            seen[host.name] = f"{len(off)} times off by {offset}, {len(true)} times correct"
        return Evidence("; ".join(f"{name}: {words}" for name, words in seen.items()))

    def heal(self, strike: Strike) -> None:
        strobing = strike.kept(_Strobing)
        strobing.over.set()
        if strobing.thread is not None:
            strobing.thread.join()
        super().heal(strike)


@dataclass(frozen=True, slots=True)
class _Reading:
    """How far a clock was off, and between which times that was measured."""

    begun_ns: int
    ended_ns: int
    error_ns: int


def _read(host: ServiceHost) -> _Reading:
    begun_ns = time.monotonic_ns()
    error_ns = host.power(SettableClock).clock_error_ns()
    return _Reading(begun_ns, time.monotonic_ns(), error_ns)


def _check_gain(host: ServiceHost, first: _Reading, gain: float) -> Evidence:
    """Return how much a clock gained since a reading, as evidence; one that takes long on a busy machine is repeated.

    Raises:
        NemesisError: it did not gain what it should have.
    """
    for _ in range(_ATTEMPTS):
        now = _read(host)
        gained = now.error_ns - first.error_ns
        elapsed = now.begun_ns - first.ended_ns, now.ended_ns - first.begun_ns
        least, most = sorted((gain * elapsed[0], gain * elapsed[1]))
        slack = abs(gain) * elapsed[0] / 2
        said = f"gained {gained / 1e6:.0f} ms in {elapsed[0] / 1e6:.0f} to {elapsed[1] / 1e6:.0f} ms"
        if least - slack <= gained <= most + slack:
            return Evidence(f"{host.name}: {said}", {host.name: {"gained_ms": gained / 1e6, "in_ms": elapsed[0] / 1e6}})
    raise NemesisError(
        f"the clock of {host.name} {said}, but should have gained {least / 1e6:.0f} to {most / 1e6:.0f} ms"
    )


def _check_services(strike: Strike) -> None:
    """Raise if a running service does not read the clock that was set; one that just starts may read it soon."""
    processes = optional(strike.service, Installation)
    for host in strike.hosts:
        for service in processes.services(host) if processes else ():
            if not wait_until(lambda: _follows(host, service), _STARTS_S):  # noqa: B023  # called at once
                raise NemesisError(f"{service} on {host.name} does not read the clock that was set")


def _follows(host: ServiceHost, service: str) -> bool:
    """Return whether a service reads the clock, or does not run."""
    return host.power(SettableClock).shows_clock(service) or host.state(service) is ServiceState.GONE


def _strobe(strike: Strike, over: threading.Event) -> None:
    off = True
    while not over.wait(strike.parameters.interval / 1e9):
        off = not off
        on_each(strike.hosts, lambda host: host.power(SettableClock).set_clock(strike.parameters.offset * off))  # noqa: B023


def _sampled(host: ServiceHost, strike: Strike, attempt: int) -> int:
    """Read a clock after a pause that is not a multiple of the strobe's period."""
    time.sleep(strike.parameters.interval / 1e9 * (0.3 + 0.07 * attempt))
    error: int = host.power(SettableClock).clock_error_ns()
    return error


def _check_error(host: ServiceHost, wanted_ns: int) -> Evidence:
    """Return how far a clock is off, as evidence.

    Raises:
        NemesisError: it is not off by the expected time.
    """
    errors = []
    for _ in range(_ATTEMPTS):
        errors.append(host.power(SettableClock).clock_error_ns())
        if abs(errors[-1] - wanted_ns) <= _TOLERANCE_NS:
            off_ms = errors[-1] / 1e6
            return Evidence(f"{host.name}: {off_ms:+,.1f} ms off", {host.name: {"off_ms": off_ms}})
    raise NemesisError(
        f"the clock of {host.name} should be off by {wanted_ns / 1e6:+,.1f} ms, but is off by {_listed(errors)}"
    )


def _listed(errors: list[int]) -> str:
    return ", ".join(f"{error / 1e6:+,.1f}" for error in errors) + " ms"
