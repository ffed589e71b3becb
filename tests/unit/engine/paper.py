"""Hosts and a cluster on paper: states of services in memory, for the real nemeses to act upon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chaoskit.contract.hosts.host import CommandResult, HostError, ServiceState
from chaoskit.contract.power import P, held
from chaoskit.contract.systems.service import ServiceError
from chaoskit.model.place import Place

_AFTER = {"KILL": ServiceState.GONE, "STOP": ServiceState.PAUSED, "CONT": ServiceState.RUNNING}


class PaperHost:
    """A host with one service; `signals` are those that it got, and `broken` those that it cannot get."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.address = "192.0.2.1"
        self.seen = ServiceState.RUNNING
        self.signals: list[str] = []
        self.broken: set[str] = set()
        self.boots = 1
        self.lit = True
        self._held = ""

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], self.name)

    def reachable(self, timeout_s: float = 0.5) -> bool:
        return self.lit

    def power_cut(self) -> None:
        self.lit = False

    def power_on(self) -> None:
        self.lit, self.seen = True, ServiceState.GONE
        self.boots += 1

    def prove_cut(self) -> str:
        return "the power was cut"

    def signal(self, name: str, signal: str) -> None:
        if signal in self.broken:
            raise OSError("the cable is out")
        self._need_power()
        self.signals.append(signal)
        self.seen = _AFTER[signal]

    def state(self, name: str) -> ServiceState:
        self._need_power()
        return self.seen

    def _need_power(self) -> None:
        if not self.lit:
            raise HostError(f"{self.name} has no power")

    def pid_path(self, name: str) -> str:
        return f"/run/{name}.pid"

    def run(self, argv: Sequence[str], **options: Any) -> CommandResult:
        """Take the scripts of `nemeses.holding`: one that holds has what it does and what undoes it in it."""
        script, *arguments = argv[3], *argv[5:]
        if len(arguments) > 1:
            self._held = arguments[3]
            self._obey(arguments[2])
        elif "undo" in script and self._held:
            self._obey(self._held)
            self._held = ""
        return CommandResult(0, "", "")

    def _obey(self, script: str) -> None:
        sent = next(word for word in ("STOP", "CONT") if f"-s {word}" in script)
        self.signal("paper", sent)


class PaperCluster:
    """A cluster of such hosts, led by the first; `immortal` hosts answer whatever happens to them."""

    def __init__(self, count: int = 3, immortal: Sequence[str] = ()) -> None:
        self.hosts = [PaperHost(f"n{index}") for index in range(1, count + 1)]
        self.nodes: list[Any] = []
        self.immortal = immortal
        self.vacant = 0
        self.asked: list[tuple[str, Place | None]] = []

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], "a cluster on paper")

    def start(self, host: Any) -> None:
        host.state("paper")
        host.seen = ServiceState.RUNNING

    def services(self, host: Any) -> tuple[str, ...]:
        return ("paper",)

    def answers(self, host: Any, timeout_s: float = 0.5) -> bool:
        return host.name in self.immortal or (host.lit and host.seen == ServiceState.RUNNING)

    def find(self, role: str, place: Place | None) -> tuple[str, ...]:
        """Return the holders of a role, after it was vacant `vacant` times."""
        self.asked.append((role, place))
        if self.vacant:
            self.vacant -= 1
            raise ServiceError("nobody leads")
        return {"leader": ("n1",), "follower": ("n2", "n3"), "followers": ("n2", "n3")}[role]

    def placements(self) -> list[Any]:
        return []


class PaperClient:
    """A client that counts its crashes."""

    pid = 0

    def __init__(self, name: str) -> None:
        self.name = name
        self.crashes = 0
        self._runs = True

    def running(self) -> bool:
        return self._runs

    def crash(self) -> None:
        self._runs = False
        self.crashes += 1

    def restart(self) -> None:
        self._runs = True
