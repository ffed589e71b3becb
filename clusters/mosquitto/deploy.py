"""A Mosquitto broker on a host: configure, start, look after, and whether it is ready."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chaoskit.base.waiting import wait_while
from chaoskit.contract.host import ServiceHost, ServiceState
from chaoskit.contract.installation import Revival
from chaoskit.contract.power import P, held
from chaoskit.contract.service import Placed, ServiceError
from chaoskit.contract.topic import Topic
from chaoskit.contract.vocabulary import Place
from clusters.common.supervision import Supervisor
from clusters.mosquitto import probe
from clusters.mosquitto.connection import ADDRESS
from clusters.mosquitto.settings import CONF, MosquittoOptions, data_folder, in_effect, mosquitto_conf

SERVICE = "mosquitto"
ROLES = ("broker",)
_PROGRAM = "/usr/sbin/mosquitto"
_POLL_S = 0.05


class Broker:
    """A configured broker; see `chaoskit.contract.service.Service`. It has the powers `Installation`, `Supervision` and
    `Reporting`.

    Args:
        host: its host.
        options: as in the scenario.
        packages: the versions of the packages that the host has.
    """

    def __init__(self, host: ServiceHost, options: MosquittoOptions, packages: Mapping[str, str]) -> None:
        self.hosts = [host]
        self._host = host
        self._options = options
        self._packages = packages
        self._places: list[Place] = []
        self._supervisor = Supervisor(lambda host, _: self.start(host), ())
        host.put(mosquitto_conf(options, host.address, host.data_dir).encode(), CONF)
        if host.run(["test", "-x", _PROGRAM], check=False).status != 0:
            raise ServiceError(f"host {host.name} has no {_PROGRAM}")

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], f"this broker, Mosquitto {self._options.version},")

    def start(self, host: ServiceHost) -> None:
        """See `chaoskit.contract.service.Installation`."""
        if host.state(SERVICE) is not ServiceState.GONE:
            return
        host.run(host.as_service(["mkdir", "-p", data_folder(host.data_dir)]))
        host.spawn(SERVICE, [_PROGRAM, "-c", CONF], {})

    def services(self, host: ServiceHost) -> tuple[str, ...]:
        """See `chaoskit.contract.service.Installation`."""
        return (SERVICE,)

    def revivals(self) -> Sequence[Revival]:
        """See `chaoskit.contract.installation.Supervision`."""
        return self._supervisor.revivals

    def settings_in_effect(self) -> dict[str, Mapping[str, Any]]:
        """See `chaoskit.contract.service.Reporting`: the file that the broker reads, as it tells no settings."""
        host = self._host
        settings = in_effect(self._options, host.address, host.data_dir)
        return {"packages of the host": self._packages, f"mosquitto.conf of {host.name}": settings}

    def answers(self, host: ServiceHost, timeout_s: float = 0.5) -> bool:
        return probe.answers(host.address, timeout_s)

    def wait_ready(self, timeout_s: float) -> None:
        self._supervisor.begin()
        if missing := wait_while(self._missing, timeout_s, every_s=_POLL_S):
            raise ServiceError(f"Mosquitto was not ready within {timeout_s:g} s: {missing}")
        self._supervisor.served = True

    def find(self, role: str, place: Place | None) -> tuple[str, ...]:
        return (self._host.name,)

    def placements(self) -> list[Placed]:
        name = self._host.name
        return [Placed(place, name, (name,)) for place in self._places]

    def begin_trial(self, namespace: str, options: MosquittoOptions) -> None:
        self._options = options

    def create_topic(self, topic: Topic) -> None:
        """Note a topic: the broker has those that somebody subscribes to."""
        self._places += topic.places

    def client_settings(self) -> dict[str, Any]:
        return {ADDRESS: self._host.address}

    def end_trial(self) -> None:
        """Forget the topics: subscribers ended their subscriptions when they were closed."""
        self._places = []

    def close(self) -> None:
        """Do nothing: no connection is kept."""

    def _missing(self) -> str:
        if probe.answers(self._host.address, 0.5):
            return ""
        self._supervisor.look_after([(self._host, SERVICE)])
        return f"no answer from {self._host.name}"
