"""A Mosquitto broker on a host, or two with a bridge: configure, start, look after, and whether they are ready."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chaoskit.base.waiting import wait_until, wait_while
from chaoskit.contract.hosts.host import ServiceHost, ServiceState
from chaoskit.contract.power import P, held
from chaoskit.contract.systems.installation import Revival
from chaoskit.contract.systems.service import Placed, ServiceError
from chaoskit.contract.workloads.topic import Topic
from chaoskit.model.place import Place
from clusters.common.properties import Scalar
from clusters.common.supervision import Supervisor
from clusters.mosquitto import probe
from clusters.mosquitto.connection import BRIDGE_QOS, PUBLISHERS, SUBSCRIBERS
from clusters.mosquitto.settings import CONF, WIRE, MosquittoOptions, data_folder, in_effect, mosquitto_conf

SERVICE = "mosquitto"
_PROGRAM = "/usr/sbin/mosquitto"
_POLL_S = 0.05
_OTHER_BROKER_S = 10.0


class Brokers:
    """Configured brokers; see `chaoskit.contract.systems.service.Service`. They have the powers `Installation`,
    `Supervision` and `Reporting`.

    Args:
        hosts: their hosts: one, or two for a bridge.
        options: as in the scenario.
        packages: the versions of the packages that a host has.
    """

    def __init__(self, hosts: Sequence[ServiceHost], options: MosquittoOptions, packages: Mapping[str, str]) -> None:
        self.wire = WIRE
        self.hosts = list(hosts)
        self._options = options
        self._packages = packages
        self._places: list[Place] = []
        self._supervisor = Supervisor(lambda host, _: self.start(host), ())
        for host in hosts:
            host.put(mosquitto_conf(self._of(host)).encode(), CONF)
            if host.run(["test", "-x", _PROGRAM], check=False).status != 0:
                raise ServiceError(f"host {host.name} has no {_PROGRAM}")

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], f"this broker, Mosquitto {self._options.version},")

    def start(self, host: ServiceHost) -> None:
        """See `chaoskit.contract.systems.service.Installation`."""
        if host.state(SERVICE) is not ServiceState.GONE:
            return
        leads_to = self._leads_to(host)
        if leads_to and not self._supervisor.served:  # a bridge that finds nobody tries again after 5 to 30 s only
            wait_until(lambda: probe.answers(leads_to, 0.5), _OTHER_BROKER_S)
        host.run(host.as_service(["mkdir", "-p", data_folder(host.data_dir)]))
        host.spawn(SERVICE, [_PROGRAM, "-c", CONF], {})

    def services(self, host: ServiceHost) -> tuple[str, ...]:
        """See `chaoskit.contract.systems.service.Installation`."""
        return (SERVICE,)

    def revivals(self) -> Sequence[Revival]:
        """See `chaoskit.contract.systems.installation.Supervision`."""
        return self._supervisor.revivals

    def settings_in_effect(self) -> dict[str, Mapping[str, Any]]:
        """See `chaoskit.contract.systems.service.Reporting`: the file that the broker reads, as it tells no
        settings."""
        files = {f"mosquitto.conf of {host.name}": self._of(host) for host in self.hosts}
        return {"packages of the host": self._packages, **files}

    def answers(self, host: ServiceHost, timeout_s: float = 0.5) -> bool:
        return probe.answers(host.address, timeout_s)

    def wait_ready(self, timeout_s: float) -> None:
        self._supervisor.begin()
        if missing := wait_while(self._missing, timeout_s, every_s=_POLL_S):
            raise ServiceError(f"Mosquitto was not ready within {timeout_s:g} s: {missing}")
        self._supervisor.served = True

    def find(self, role: str, place: Place | None) -> tuple[str, ...]:
        return tuple(host.name for host in self.hosts)

    def placements(self) -> list[Placed]:
        names = tuple(host.name for host in self.hosts)
        return [Placed(place, names[0], names) for place in self._places]

    def begin_trial(self, namespace: str, options: MosquittoOptions) -> None:
        self._options = options

    def create_topic(self, topic: Topic) -> None:
        """Note a topic: the broker has those that somebody subscribes to."""
        self._places += topic.places

    def client_settings(self) -> dict[str, Any]:
        bridge = self._options.bridge
        addresses = [host.address for host in self.hosts]
        by_role = {PUBLISHERS: addresses[:1], SUBSCRIBERS: addresses[-1:]}
        if bridge and bridge.direction == "both":
            by_role = dict.fromkeys(by_role, addresses)
        return {**by_role, BRIDGE_QOS: bridge.qos if bridge else None}

    def end_trial(self) -> None:
        """Forget the topics: subscribers ended their subscriptions when they were closed."""
        self._places = []

    def close(self) -> None:
        """Do nothing: no connection is kept."""

    def _missing(self) -> str:
        if silent := [host for host in self.hosts if not probe.answers(host.address, 0.5)]:
            self._supervisor.look_after([(host, SERVICE) for host in silent])
            return f"no answer from {', '.join(host.name for host in silent)}"
        if self._options.bridge and not probe.bridged(self.hosts[0].address, 1.0):
            return f"the bridge of {self.hosts[0].name} is not connected"
        return ""

    def _of(self, host: ServiceHost) -> Mapping[str, Scalar]:
        """Return the settings of a host's broker."""
        return in_effect(self._options, host.address, host.data_dir, self._leads_to(host))

    def _leads_to(self, host: ServiceHost) -> str:
        """Return the address to which the bridge of a host's broker leads; empty if it has none."""
        return self.hosts[1].address if len(self.hosts) > 1 and host.name == self.hosts[0].name else ""
