"""Services that exit unexpectedly: their last errors, and restarting them like a supervisor."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable

from chaoskit.base.quantities import SECOND
from chaoskit.base.waiting import wait_until
from chaoskit.contract.hosts.host import ServiceHost, ServiceState
from chaoskit.contract.systems.installation import Revival
from chaoskit.contract.systems.service import ServiceError

RUNS = "a service runs until it is stopped"
"""Why a service must not crash."""

_SILENT_S = 30
"""How long a running process may not answer before it counts as dead."""

_REVIVALS_MAX = 3
_END_S = 30
_ERRORS_MAX, _CAUSES_MAX = 3, 2
_NO_ERROR = re.compile(r"\s+at |\s*\.\.\. \d+ |.* (INFO|DEBUG) ")
"""Frames of a stack trace, and lines that only mention an error."""

_CAUSE = re.compile(r"(Caused by: )?[\w.$]+(Exception|Error)\b")
_TIME = re.compile(r"[\d:.,T-]+")


def last_errors(host: ServiceHost, service: str) -> str:
    """Return the last errors in the log of a service, with the exceptions that caused them; its end if it has none."""
    script = 'grep -E "ERROR|FATAL|Exception|Error:|Unrecognized" "$1" | tail -n 500'
    logged = host.run(["sh", "-c", script, "errors", host.log_path(service)], check=False).out
    lines = {_TIME.sub("", line): line for line in logged.splitlines() if not _NO_ERROR.match(line)}
    causes = [line for line in lines.values() if _CAUSE.match(line)][-_CAUSES_MAX:]
    errors = [line for line in lines.values() if not _CAUSE.match(line)][-_ERRORS_MAX:]
    if not lines:
        return host.run(["tail", "-n", str(_ERRORS_MAX), host.log_path(service)], check=False).out.rstrip()
    return "\n".join(line for line in lines.values() if line in causes or line in errors)


def _quiet_s(host: ServiceHost, service: str) -> float:
    """Return how long ago a service wrote to its log for the last time, which is about when it exited."""
    script = 'echo $(($(date +%s) - $(stat -c %Y "$1")))'
    output = host.run(["sh", "-c", script, "quiet", host.log_path(service)], check=False).out.strip()
    return float(output) if output.isdigit() else 0.0


class Supervisor:
    """Restarts services that exited unexpectedly or have not answered for a long time.

    A bookie that cannot register shuts down, but its process stays; a broker that loses ZooKeeper during start-up
    exits. Until the cluster is ready for the first time, a service is restarted only once: the usual cause of an exit
    is then a wrong setting.

    Args:
        spawn: starts one service of a host.
        needs: names of the hosts that no service can run without.

    Attributes:
        served: whether the cluster has been ready at least once.
        revivals: the services that were restarted since then.
    """

    def __init__(self, spawn: Callable[[ServiceHost, str], None], needs: tuple[str, ...]) -> None:
        self.served = False
        self.revivals: list[Revival] = []
        self._spawn = spawn
        self._needs = needs
        self._revived: Counter[tuple[str, str]] = Counter()
        self._silent_since: dict[tuple[ServiceHost, str], float] = {}

    def begin(self) -> None:
        """Begin to watch: what did not answer some time ago does not count."""
        self._silent_since = {}

    def look_after(self, silent: Iterable[tuple[ServiceHost, str]]) -> None:
        """Restart those of the services that do not answer which have exited or been silent for too long.

        Raises:
            ServiceError: a service exited too often; the message has its last errors.
        """
        now = time.monotonic()
        self._silent_since = {pair: self._silent_since.get(pair, now) for pair in silent}
        for host, service in list(self._silent_since):
            self._revive(host, service, silent_s=now - self._silent_since[host, service])

    def _revive(self, host: ServiceHost, service: str, silent_s: float) -> None:
        state = host.state(service)
        if state is not ServiceState.GONE and (state is not ServiceState.RUNNING or silent_s < _SILENT_S):
            return
        if self._revived[host.name, service] >= (_REVIVALS_MAX if self.served else 1):
            raise ServiceError(f"{service} on {host.name} exited unexpectedly:\n{last_errors(host, service)}")
        self._revived[host.name, service] += 1
        if self.served:
            gone = state is ServiceState.GONE
            seen = "exited" if gone else f"did not answer for {_SILENT_S} s"
            why = f"{seen}; {last_errors(host, service) or 'no error in its log'}"
            ago_s = _quiet_s(host, service) if gone else silent_s
            at_ns = time.monotonic_ns() - int(ago_s * SECOND)
            self.revivals.append(Revival(at_ns, host.name, service, self._needs, why))
        host.signal(service, "KILL")
        if not wait_until(lambda: host.state(service) is ServiceState.GONE, _END_S):
            raise ServiceError(f"{service} on {host.name} could not be killed with SIGKILL")
        del self._silent_since[host, service]
        self._spawn(host, service)
