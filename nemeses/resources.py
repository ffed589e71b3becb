"""Resource faults: shortage of CPU, memory or file descriptors."""

from __future__ import annotations

import shlex
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, cast

from pydantic import BaseModel, ConfigDict, Field

from chaoskit.base.parallel import on_each
from chaoskit.base.quantities import Size
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import Nemesis, NemesisError, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.hosts.host import HostError, ResourceLimits, ServiceHost
from chaoskit.contract.hosts.shell import bash
from chaoskit.contract.systems.installation import Installation
from nemeses.holding import check_held, hold, release
from nemeses.services import answers_again, start_services

_BUSY_S = 2
_BURN = """
loop() { timeout "$1" bash -c 'while :; do :; done'; }
loop "$1" & loop "$1" & wait; times
"""
"""Two loops, so that they demand more than one core even on a busy machine."""
_CROWD = """
dd if=/dev/zero of=/data/.chaoskit-crowd bs=1M count={mebibytes} status=none
cat /data/.chaoskit-crowd > /dev/null
rm -f /data/.chaoskit-crowd
"""
_RESTORE_FILES = """
[ -e {note} ] || exit 0
while read -r pid soft hard; do
    if [ -e /proc/$pid ]; then {prlimit} --pid $pid --nofile=$soft:$hard || exit; fi
done < {note}
rm -f {note}
"""
_LIMIT_FILES = """
for group in {groups}; do
    for pid in $(ps -o pid= -g $group); do
        echo $pid $({prlimit} --pid $pid --nofile --noheadings --raw --output SOFT,HARD) >> {note} || exit
        open=$(ls /proc/$pid/fd | sort -n | tail -1)
        {prlimit} --pid $pid --nofile=$((open + 1 + {leave})): || exit
    done
done
"""


def _limits(host: ServiceHost) -> ResourceLimits:
    return cast(ResourceLimits, host)


@dataclass(slots=True)
class _Limited:
    """What is limited, by host: the memory in bytes; the file that tells the former limits of files."""

    memory: dict[str, int] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)


class CpuParameters(BaseModel):
    """Limits the host's CPU time to `cores` in each 100 ms."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cores: Annotated[float, Field(ge=0.05, le=64)] = 0.1


class CpuStarve(Nemesis):
    """When its quota is used up, the whole host, including its SSH server, is stopped for the rest of each 100 ms."""

    summary = "limit hosts to a fraction of a CPU core"
    family = "process"
    does = Act.SLOWS
    parameters = CpuParameters
    host_powers = (ResourceLimits,)

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return {HostPart.RESOURCES}

    def inject(self, strike: Strike) -> None:
        on_each(strike.hosts, lambda host: _limits(host).limit_cpu(strike.parameters.cores))

    def verify(self, strike: Strike) -> Evidence:
        asked: CpuParameters = strike.parameters

        def judge(host: ServiceHost) -> Evidence:
            before = _limits(host).throttled()
            used = _burn(host)
            times = _limits(host).throttled() - before
            if not times or used > 1.5 * asked.cores + 0.05:
                raise NemesisError(f"busy loops on {host.name} got {used:.2f} cores, throttled {times} times")
            return Evidence(
                f"busy loops on {host.name} got {used:.2f} cores (limit {asked.cores}), throttled {times} times",
                {host.name: {"cores": used, "throttled": times}},
            )

        return Evidence.of_all(on_each(strike.hosts, judge))

    def heal(self, strike: Strike) -> None:
        on_each(strike.hosts, lambda host: _limits(host).limit_cpu(None))

    def verify_healed(self, strike: Strike) -> Evidence:
        def judge(host: ServiceHost) -> str:
            before = _limits(host).throttled()
            used = _burn(host)
            if times := _limits(host).throttled() - before:
                raise NemesisError(f"{host.name} is still throttled: {times} times in {_BUSY_S} s")
            return f"busy loops on {host.name} got {used:.2f} cores and were not throttled"

        return Evidence("; ".join([*on_each(strike.hosts, judge), answers_again(strike)]))


class MemoryParameters(BaseModel):
    """Limits the host's memory to what its processes hold plus `leave`, including the page cache."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    leave: Annotated[Size, Field(ge=8 * 2**20)] = 32 * 2**20


class MemoryPressure(Nemesis):
    """Leaves almost no page cache, so every allocation must reclaim; what needs more than `leave` is killed."""

    summary = "limit hosts' memory to slightly more than what their processes hold"
    family = "process"
    does = Act.SLOWS | Act.ENDS
    abrupt = True
    service_powers = (Installation,)
    parameters = MemoryParameters
    host_powers = (ResourceLimits,)

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return {HostPart.RESOURCES, HostPart.DISK}

    def inject(self, strike: Strike) -> None:
        def act(host: ServiceHost) -> None:
            limit = _limits(host).memory_used() + strike.parameters.leave
            strike.kept(_Limited).memory[host.name] = limit
            _limits(host).limit_memory(limit)

        on_each(strike.hosts, act)

    def renew(self, strike: Strike, booted: Sequence[ServiceHost]) -> None:
        on_each(booted, lambda host: _limits(host).limit_memory(strike.kept(_Limited).memory[host.name]))

    def verify(self, strike: Strike) -> Evidence:
        def judge(host: ServiceHost) -> Evidence:
            if not (times := _crowd(host, strike.parameters.leave)):
                raise NemesisError(f"{host.name} did not reclaim memory while it wrote and read a file")
            sentence = f"{host.name} reclaimed memory {times} times while it wrote and read a file"
            return Evidence(sentence, {host.name: {"reclaimed": times}})

        return Evidence.of_all(on_each(strike.hosts, judge))

    def heal(self, strike: Strike) -> None:
        on_each(strike.hosts, lambda host: _limits(host).limit_memory(None))
        on_each(strike.hosts, lambda host: start_services(strike, host))

    def verify_healed(self, strike: Strike) -> Evidence:
        for host in strike.hosts:
            if times := _crowd(host, strike.parameters.leave):
                raise NemesisError(f"{host.name} still reclaims memory: {times} times")
        return Evidence(f"no memory is reclaimed; {answers_again(strike)}")


class FilesParameters(BaseModel):
    """`leave`: how many more files and connections each process may open."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    leave: Annotated[int, Field(ge=0)] = 0


class FileExhaustion(Nemesis):
    """The system's processes run out of file descriptors (EMFILE): new connections and new files fail."""

    summary = "prevent the system's processes from opening more files and connections"
    family = "process"
    does = Act.SILENCES | Act.BREAKS | Act.ENDS
    renews = False
    abrupt = True
    service_powers = (Installation,)
    parameters = FilesParameters

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return {HostPart.RESOURCES, HostPart.PROCESSES}

    def inject(self, strike: Strike) -> None:
        def act(host: ServiceHost) -> None:
            note = f"/run/chaoskit/{strike.name}.files"
            services = strike.service.power(Installation).services(host)
            groups = " ".join(f"$(cat {host.pid_path(service)})" for service in services)
            prlimit = shlex.join(_prlimit(host))
            limit = _LIMIT_FILES.format(groups=groups, note=note, leave=strike.parameters.leave, prlimit=prlimit)
            strike.kept(_Limited).files[host.name] = note
            hold(strike, host, limit, _RESTORE_FILES.format(note=note, prlimit=prlimit))

        on_each(strike.hosts, act)

    def verify(self, strike: Strike) -> Evidence:
        def judge(host: ServiceHost) -> Evidence:
            kept = host.run(["cat", strike.kept(_Limited).files[host.name]], check=False).out.splitlines()
            tight = [line.split()[0] for line in kept if _soft_limit(host, line.split()[0]) < int(line.split()[1])]
            if not tight:
                raise NemesisError(f"no process of the system on {host.name} is limited")
            deadline = time.monotonic() + 2
            while strike.parameters.leave == 0 and strike.service.power(Installation).answers(host, 0.2):
                if time.monotonic() > deadline:
                    raise NemesisError(f"{host.name} still accepts new connections")
            sentence = f"{len(tight)} processes on {host.name} may open {strike.parameters.leave} more files"
            return Evidence(sentence, {host.name: {"processes": len(tight)}})

        return Evidence.of_all(on_each(strike.hosts, judge))

    def heal(self, strike: Strike) -> None:
        release(strike)
        on_each(strike.hosts, lambda host: start_services(strike, host))

    def verify_healed(self, strike: Strike) -> Evidence:
        answers = answers_again(strike)
        check_held(strike)
        return Evidence(f"limits restored; {answers}")


def _burn(host: ServiceHost) -> float:
    """Return the number of cores that two busy loops on the host got."""
    user, system = bash(host, _BURN, str(_BUSY_S), timeout_s=120).out.split()[-2:]
    return sum(float(part.split("m")[1].rstrip("s")) for part in (user, system)) / _BUSY_S


def _crowd(host: ServiceHost, leave: int) -> int:
    """Write and read four times the memory that is left; return how often the kernel reclaimed memory."""
    before = _limits(host).memory_refused()
    try:
        bash(host, _CROWD.format(mebibytes=4 * leave // 2**20), check=False, timeout_s=120)
    except HostError:  # the kernel may kill the connection for want of memory, too
        if _limits(host).memory_refused() == before:
            raise
    return _limits(host).memory_refused() - before


def _soft_limit(host: ServiceHost, pid: str) -> int:
    argv = [*_prlimit(host), "--pid", pid, "--nofile", "--noheadings", "--raw", "--output", "SOFT"]
    return int(host.run(argv, check=False).out or 2**62)


def _prlimit(host: ServiceHost) -> list[str]:
    """Return the command, as the user of services: root in a container may not touch the limits of another user."""
    return host.as_service(["prlimit"])
