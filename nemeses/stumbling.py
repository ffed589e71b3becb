"""Intermittent process faults: zombie leaders, crash loops, stalls."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from chaoskit.base.errors import ChaoskitError
from chaoskit.base.parallel import on_each
from chaoskit.base.quantities import MILLISECOND, SECOND, Duration, format_duration
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import HostNames, Nemesis, NemesisError, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.hosts.host import ServiceHost, ServiceState
from chaoskit.contract.hosts.shell import bash
from chaoskit.contract.systems.installation import Installation
from nemeses.holding import check_held, hold, release
from nemeses.process import Pause, signal_script
from nemeses.services import answers_again, await_state, signal_services, start_services, states

_POLL_S = 0.05
_JOIN_S = 30
_CRASHES = 2


class ZombieParameters(BaseModel):
    """The fault's duration starts when no target holds `role` any more; the targets must lose it `within` this time."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    role: Annotated[str, HostNames()] = "leader"
    within: Duration = 60 * SECOND


class Zombie(Pause):
    """Pauses a leader and resumes it after the system has replaced it; it is unaware of the takeover."""

    summary = "pause processes until others have taken over their role; resume them afterwards, unaware of it"
    parameters = ZombieParameters

    def inject(self, strike: Strike) -> None:
        if not _holders(strike) & {host.name for host in strike.hosts}:
            raise NemesisError(f"no target ({strike.names}) holds {strike.parameters.role}; set the key role")
        super().inject(strike)

    def verify(self, strike: Strike) -> Evidence:
        asked: ZombieParameters = strike.parameters
        evidence = super().verify(strike)
        began = time.monotonic()
        targets = {host.name for host in strike.hosts}
        while not (holders := _holders(strike)) or holders & targets:
            if time.monotonic() - began > asked.within / 1e9:
                holder = ", ".join(holders) or "no host"
                raise NemesisError(f"{asked.role} is still {holder} {format_duration(asked.within)} after the pause")
            time.sleep(_POLL_S)
        took_s = time.monotonic() - began
        return Evidence(f"{evidence}; {', '.join(sorted(holders))} took over {asked.role} after {took_s:.1f} s")


class CrashLoopParameters(BaseModel):
    """`interval`: time from a start of the system to the next kill."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    interval: Annotated[Duration, Field(ge=100 * MILLISECOND)] = 2 * SECOND


@dataclass(slots=True)
class _Loop:
    """The thread that kills and starts, what ends it, and how far it has come."""

    over: threading.Event = field(default_factory=threading.Event)
    crashes: int = 0
    thread: threading.Thread | None = None
    error: ChaoskitError | None = None


class CrashLoop(Nemesis):
    """Kills and starts repeatedly, like a supervisor with a process that crashes during start-up."""

    summary = "repeatedly kill -9 and start the system's processes"
    family = "process"
    does = Act.ENDS
    renews = False
    abrupt = True
    service_powers = (Installation,)
    parameters = CrashLoopParameters

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return {HostPart.PROCESSES}

    def inject(self, strike: Strike) -> None:
        signal_services(strike.hosts, strike.service, "KILL")
        await_state(strike.hosts, strike.service, ServiceState.GONE)
        loop = strike.kept(_Loop)
        loop.thread = threading.Thread(target=_crash_again, args=(strike, loop), name=strike.name, daemon=True)
        loop.thread.start()

    def verify(self, strike: Strike) -> Evidence:
        loop = strike.kept(_Loop)
        deadline = time.monotonic() + _CRASHES * (strike.parameters.interval / 1e9 + _JOIN_S)
        while loop.crashes < _CRASHES:
            if time.monotonic() > deadline or loop.thread is None or not loop.thread.is_alive():
                raise NemesisError(f"{strike.names}: crashed only {loop.crashes} times: {loop.error}")
            time.sleep(_POLL_S)
        return Evidence(
            f"{strike.names}: started and observed dead {_CRASHES} times",
            {host.name: {"crashes": loop.crashes} for host in strike.hosts},
        )

    def heal(self, strike: Strike) -> None:
        loop = strike.kept(_Loop)
        if loop.thread is not None:
            loop.over.set()
            loop.thread.join(_JOIN_S)
        on_each(strike.hosts, lambda host: start_services(strike, host))

    def verify_healed(self, strike: Strike) -> Evidence:
        answers = answers_again(strike)
        time.sleep(strike.parameters.interval / 1e9)
        if dead := [host.name for host in strike.hosts if ServiceState.GONE in states(host, strike.service)]:
            raise NemesisError(f"crashed once more: {', '.join(dead)}")
        lived = format_duration(strike.parameters.interval)
        return Evidence(f"{answers}; alive for {lived}; crashes: {strike.kept(_Loop).crashes}")


class StallParameters(BaseModel):
    """The processes are stopped for `pause` at the beginning of each `interval`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pause: Annotated[Duration, Field(ge=10 * MILLISECOND)] = 200 * MILLISECOND
    interval: Duration = SECOND

    @model_validator(mode="after")
    def _runs_in_between(self) -> StallParameters:
        if self.interval < self.pause + 10 * MILLISECOND:
            raise ValueError("interval must be at least 10ms longer than pause")
        return self


class Stall(Nemesis):
    """Sends SIGSTOP and SIGCONT repeatedly from a loop on the host, similar to long garbage collections."""

    summary = "repeatedly pause the system's processes for a moment, similar to garbage collection"
    family = "process"
    does = Act.SILENCES
    renews = False
    service_powers = (Installation,)
    parameters = StallParameters

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return {HostPart.PROCESSES}

    def inject(self, strike: Strike) -> None:
        def act(host: ServiceHost) -> None:
            loop = f"/run/chaoskit/{strike.name}.loop"
            stop, go = signal_script(strike, host, "STOP"), signal_script(strike, host, "CONT")
            asked: StallParameters = strike.parameters
            script = (
                f"while [ -e {loop} ]; do {stop}; sleep {asked.pause / 1e9:.3f}; {go}; "
                f"sleep {(asked.interval - asked.pause) / 1e9:.3f}; done; {go}"
            )
            hold(
                strike,
                host,
                f": > {loop}; setsid bash -c '{script}' < /dev/null > /dev/null 2>&1 &",
                f"rm -f {loop}\n{go}",
            )

        on_each(strike.hosts, act)

    def verify(self, strike: Strike) -> Evidence:
        asked: StallParameters = strike.parameters
        share = asked.pause / asked.interval
        evidence = []
        for host, (stopped, samples) in zip(
            strike.hosts, on_each(strike.hosts, lambda h: _sample(strike, h)), strict=True
        ):
            evidence.append(f"{host.name} stopped in {stopped} of {samples} samples ({share:.0%} expected)")
            if not 0.4 * share < stopped / samples < min(1, 2.5 * share):
                raise NemesisError(evidence[-1])
        return Evidence("; ".join(evidence))

    def heal(self, strike: Strike) -> None:
        release(strike)

    def verify_healed(self, strike: Strike) -> Evidence:
        answers = answers_again(strike)
        for host, (stopped, samples) in zip(
            strike.hosts, on_each(strike.hosts, lambda h: _sample(strike, h)), strict=True
        ):
            if stopped:
                raise NemesisError(f"{host.name} is still stopped in {stopped} of {samples} samples")
        check_held(strike)
        return Evidence(f"{answers}; stopped in no sample")


def _holders(strike: Strike) -> set[str]:
    try:
        return {host.name for host in strike.resolve(strike.parameters.role)}
    except ChaoskitError:
        return set()


def _crash_again(strike: Strike, loop: _Loop) -> None:
    """Start and kill until the fault ends; a start counts as a crash if the system was observed dead after it."""
    try:
        while True:
            on_each(strike.hosts, lambda host: start_services(strike, host))
            if loop.over.wait(strike.parameters.interval / 1e9):
                return
            signal_services(strike.hosts, strike.service, "KILL")
            while any(states(host, strike.service) != {ServiceState.GONE} for host in strike.hosts):
                if loop.over.wait(_POLL_S / 5):
                    return
            loop.crashes += 1
    except ChaoskitError as error:
        loop.error = error


def _sample(strike: Strike, host: ServiceHost) -> tuple[int, int]:
    """Sample over two intervals whether the first service is stopped; return the numbers of stopped and all samples."""
    path = host.pid_path(strike.service.power(Installation).services(host)[0])
    gap_s = 2 * strike.parameters.interval / 1e9 / 100
    script = f'pid=$(cat {path}); for i in {{1..100}}; do cut -d")" -f2 /proc/$pid/stat; sleep {gap_s:.4f}; done'
    seen = re.findall(r"^ (\w)", bash(host, script, timeout_s=60).out, re.MULTILINE)
    if not seen:
        raise NemesisError(f"the system on {host.name} is not running")
    return sum(state in "Tt" for state in seen), len(seen)
