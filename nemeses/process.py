"""Faults of processes: kill, pause, restart, rolling restart. They act on the system's own services."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from chaoskit.base.parallel import on_each
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import Nemesis, NemesisError, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.hosts.host import ServiceHost, ServiceState
from chaoskit.contract.power import optional
from chaoskit.contract.systems.installation import Installation
from chaoskit.contract.systems.owned import Owned
from nemeses.beside import others
from nemeses.holding import check_held, hold, release
from nemeses.services import (
    ANSWER_TIMEOUT_S,
    answers_again,
    await_state,
    check_running,
    down,
    signal_services,
    start_services,
    stop_in_order,
)


@dataclass(slots=True)
class _Restarted:
    """Where the system was down before the restart, in words; None: it was not restarted."""

    down: str | None = None


class Kill(Nemesis):
    """Sends SIGKILL to the system's services; healing starts them again."""

    summary = "kill -9 the system's processes on the hosts; restart them afterwards"
    family = "process"
    does = Act.ENDS
    abrupt = True
    held = True
    service_powers = (Installation,)

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return {HostPart.PROCESSES}

    def inject(self, strike: Strike) -> None:
        def act(host: ServiceHost) -> None:
            if (owned := optional(host, Owned)) is None:
                signal_services([host], strike.service, "KILL")
            else:
                hold(strike, host, _joined(map(owned.kill_script, owned.services)), _start_script(owned))

        check_running(strike)
        on_each(strike.hosts, act)

    def carriers(self, strike: Strike) -> Sequence[ServiceHost]:
        """Return no host: none starts the system at its boot while this fault holds."""
        return ()

    def verify(self, strike: Strike) -> Evidence:
        await_state(strike.hosts, strike.service, ServiceState.GONE)
        return Evidence(f"no process of the system is running on {strike.names}, and it does not answer")

    def heal(self, strike: Strike) -> None:
        _start_again(strike)

    def verify_healed(self, strike: Strike) -> Evidence:
        answers = answers_again(strike)
        check_held(strike)
        return Evidence(answers)


class Pause(Nemesis):
    """Sends SIGSTOP to the system's services: connections stay open, but nothing answers; healing sends SIGCONT."""

    summary = "pause the system's processes with SIGSTOP; resume them afterwards"
    family = "process"
    does = Act.SILENCES
    renews = False
    held = True
    service_powers = (Installation,)

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return {HostPart.PROCESSES}

    def inject(self, strike: Strike) -> None:
        on_each(
            strike.hosts,
            lambda host: hold(strike, host, signal_script(strike, host, "STOP"), signal_script(strike, host, "CONT")),
        )

    def verify(self, strike: Strike) -> Evidence:
        await_state(strike.hosts, strike.service, ServiceState.PAUSED)
        return Evidence(f"processes on {strike.names} are stopped (state T) and do not answer")

    def heal(self, strike: Strike) -> None:
        release(strike)

    def verify_healed(self, strike: Strike) -> Evidence:
        answers = answers_again(strike)
        check_held(strike)
        return Evidence(answers)


class Restart(Nemesis):
    """Sends SIGTERM, waits for a clean shutdown, and starts the services again; done once they are started."""

    summary = "shut the system's processes down cleanly and start them again, on all hosts simultaneously"
    family = "process"
    does = Act.STOPS
    held = True
    service_powers = (Installation,)
    lasts = False

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return {HostPart.PROCESSES}

    def inject(self, strike: Strike) -> None:
        strike.kept(_Restarted).down = _down_already(strike)
        on_each(strike.hosts, lambda host: _restart(host, strike))

    def verify(self, strike: Strike) -> Evidence:
        if (down := strike.kept(_Restarted).down) is None:
            raise NemesisError(f"{strike.names} were not restarted")
        return Evidence(f"processes on {strike.names} exited{down} and were started again")

    def heal(self, strike: Strike) -> None:
        _start_again(strike)

    def verify_healed(self, strike: Strike) -> Evidence:
        return Evidence(answers_again(strike))


class RollingRestart(Restart):
    """Restarts one host after the other, each when the previous one is ready and in sync again."""

    summary = "restart the hosts one by one, waiting for all replicas to be in sync in between"

    def inject(self, strike: Strike) -> None:
        strike.kept(_Restarted).down = _down_already(strike)
        for host in strike.hosts:
            _restart(host, strike)
            strike.service.wait_ready(ANSWER_TIMEOUT_S)


def _down_already(strike: Strike) -> str:
    """Return in words where another fault has ended the system already, so that it is only started.

    Raises:
        NemesisError: the system is not running on a target, and no other fault holds there.
    """
    ended = {host.name: others(strike, host) for host in down(strike)}
    if unexplained := [name for name, holding in ended.items() if not holding]:
        raise NemesisError(f"the system was not running on {', '.join(unexplained)}")
    causes = ", ".join(f"on {name} while {holding} held" for name, holding in ended.items())
    return f" (already before, {causes})" if causes else ""


def signal_script(strike: Strike, host: ServiceHost, signal: str) -> str:
    """Return the script that signals every running service of the system on a host."""
    if (owned := optional(host, Owned)) is not None:
        return _joined(owned.signal_script(service, signal) for service in owned.services)
    groups = " ".join(
        f"$(cat {host.pid_path(service)})" for service in strike.service.power(Installation).services(host)
    )
    return f'for group in {groups}; do kill -s {signal} -- "-$group"; done 2> /dev/null; true'


def _restart(host: ServiceHost, strike: Strike) -> None:
    if (owned := optional(host, Owned)) is not None:
        hold(strike, host, "true", _start_script(owned))
    stop_in_order(host, strike.service)
    start_services(strike, host)
    if owned is not None:
        release(strike, [host])


def _start_again(strike: Strike) -> None:
    """Start the services of all targets; of a host of others, by what undoes the fault there."""
    release(strike, [host for host in strike.hosts if optional(host, Owned)])
    on_each(strike.hosts, lambda host: start_services(strike, host))


def _start_script(owned: Owned) -> str:
    return _joined(map(owned.start_script, owned.services), "&&")


def _joined(scripts: Iterable[str], by: str = ";") -> str:
    """Join scripts, each in a shell of its own."""
    return f" {by} ".join(f"(\n{script}\n)" for script in scripts)
