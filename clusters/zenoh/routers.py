"""Routers on hosts: configure, start, look after, and whether they are ready."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from chaoskit.base.waiting import wait_while
from chaoskit.contract.hosts.host import ServiceHost, ServiceState
from chaoskit.contract.power import P, held
from chaoskit.contract.systems.installation import Revival
from chaoskit.contract.systems.service import Placed, ServiceError
from chaoskit.contract.workloads.topic import Topic
from chaoskit.model.place import Place
from clusters.common.supervision import Supervisor
from clusters.zenoh import package, probe
from clusters.zenoh.configuration import built, connection_of, router
from clusters.zenoh.settings import ZenohOptions

SERVICE = "router"
_FOLDER = "/etc/chaoskit-zenoh"
_PROGRAM, _CONFIGURATION = f"{_FOLDER}/router.py", f"{_FOLDER}/router.json"
_PYTHON = "/usr/bin/python3"
_POLL_S = 0.05


class Routers:
    """Configured routers, of which each connects to those before it; see `chaoskit.contract.systems.service.Service`.
    They have the powers `Installation`, `Placing` and `Supervision`.

    Args:
        hosts: their hosts.
        options: as in the scenario.
    """

    def __init__(self, hosts: Sequence[ServiceHost], options: ZenohOptions) -> None:
        self.hosts = list(hosts)
        self._options = options
        self._places: list[Place] = []
        self._supervisor = Supervisor(lambda host, _: self.start(host), ())
        addresses = [host.address for host in hosts]
        self._connection = connection_of(options, [], addresses)
        self._packages: dict[str, str] = {}
        for number, host in enumerate(hosts):
            if host.run(["test", "-x", _PYTHON], check=False).status != 0:
                raise ServiceError(f"host {host.name} has no {_PYTHON}, which runs a router; install python3")
            configuration = built(router(options, host.address, addresses[:number]), options.config)
            host.put(str(configuration).encode(), _CONFIGURATION)
            host.put(Path(__file__).with_name("router.py").read_bytes(), _PROGRAM)
            self._packages[host.name] = host.install(package.folder(options.version))

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], "Zenoh's router")

    def start(self, host: ServiceHost) -> None:
        """See `chaoskit.contract.systems.installation.Installation`."""
        if host.state(SERVICE) is ServiceState.GONE:
            host.spawn(SERVICE, [_PYTHON, _PROGRAM, _CONFIGURATION], {"PYTHONPATH": self._packages[host.name]})

    def services(self, host: ServiceHost) -> tuple[str, ...]:
        """See `chaoskit.contract.systems.installation.Installation`."""
        return (SERVICE,)

    def revivals(self) -> Sequence[Revival]:
        """See `chaoskit.contract.systems.installation.Supervision`."""
        return self._supervisor.revivals

    def answers(self, host: ServiceHost, timeout_s: float = 0.5) -> bool:
        return probe.answers(self._options.link, host.address, timeout_s)

    def wait_ready(self, timeout_s: float) -> None:
        self._supervisor.begin()
        if missing := wait_while(self._missing, timeout_s, every_s=_POLL_S):
            raise ServiceError(f"Zenoh was not ready within {timeout_s:g} s: {missing}")
        self._supervisor.served = True

    def find(self, role: str, place: Place | None) -> tuple[str, ...]:
        return tuple(host.name for host in self.hosts)

    def placements(self) -> list[Placed]:
        names = self.find("router", None)
        return [Placed(place, names[0] if len(names) == 1 else "", names) for place in self._places]

    def begin_trial(self, namespace: str, options: ZenohOptions) -> None:
        """Topics have names of the trial."""

    def create_topic(self, topic: Topic) -> None:
        """Note a topic: routers know those that somebody subscribes to."""
        self._places += topic.places

    def client_settings(self) -> dict[str, Any]:
        return dict(self._connection)

    def end_trial(self) -> None:
        """Forget the topics: subscribers ended their subscriptions when they were closed."""
        self._places = []

    def close(self) -> None:
        """Do nothing: no connection is kept."""

    def _missing(self) -> str:
        silent = [host for host in self.hosts if not self.answers(host)]
        self._supervisor.look_after([(host, SERVICE) for host in silent])
        return f"no answer from {', '.join(host.name for host in silent)}" if silent else ""
