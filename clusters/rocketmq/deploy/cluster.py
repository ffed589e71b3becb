"""RocketMQ on the hosts of a lab: a name server and a broker on each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from chaoskit.base.waiting import wait_until, wait_while
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.power import P, held
from chaoskit.contract.systems.installation import Revival
from chaoskit.contract.systems.service import Placed, ServiceError
from chaoskit.contract.workloads.topic import Topic
from chaoskit.model.place import Place
from clusters.common.supervision import Supervisor
from clusters.rocketmq import settings
from clusters.rocketmq.clients import queues
from clusters.rocketmq.connection import (
    ASKED_MS,
    BROKERS,
    CLASSPATH,
    DELAYS,
    NAME_SERVERS,
    NAMESPACE,
    ORDERED,
    POP_CLASSPATH,
    PROXIES,
)
from clusters.rocketmq.deploy import admin
from clusters.rocketmq.deploy.admin import Server
from clusters.rocketmq.deploy.processes import RocketProcesses, answers
from clusters.rocketmq.deploy.topics import RocketTopics
from clusters.rocketmq.java.relay import RELAY
from clusters.rocketmq.pop import relay as pop
from clusters.rocketmq.roles import RocketRoles
from clusters.rocketmq.settings import (
    BROKER_PORT,
    NAME_SERVER_PORT,
    PROXY,
    PROXY_PORT,
    RocketOptions,
)

_POLL_S = 0.1
_ASK_S = 2.0
_MASTER_S = 30.0
"""How long a proxy waits for a master before it is started all the same."""

_CREATE_S = 40.0
"""A slave asks its master for new topics every 13 s at most (`ReplicasManager.handleSlaveSynchronize`)."""


class RocketCluster:
    """A configured RocketMQ cluster; see `chaoskit.contract.systems.service.Service`. It has the powers `Installation`,
    `Supervision`, `Placing`, `Reporting` and `Tapped`.

    Args:
        hosts: the hosts.
        options: as in the scenario.
        jars: folder of verified jars on this machine.
    """

    def __init__(self, hosts: Sequence[ServiceHost], options: RocketOptions, jars: Path) -> None:
        self.hosts = hosts
        self.wire = settings.WIRE
        self._options = options
        self._addresses = [host.address for host in hosts]
        self._roles = RocketRoles(hosts, options)
        self._namespace = ""
        self._topics = RocketTopics(self._masters, [(address, NAME_SERVER_PORT) for address in self._addresses])
        self._processes = RocketProcesses(hosts, options, jars)
        self._supervisor = Supervisor(self._processes.spawn, ())

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], f"this cluster of RocketMQ {self._options.version}")

    def start(self, host: ServiceHost) -> None:
        """Start the services; a proxy once name servers know a master, without which it exits."""
        services = self.services(host)
        for service in services:
            if service != PROXY:
                self._processes.spawn(host, service)
        if PROXY in services:
            wait_until(self._is_routed, _MASTER_S)
            self._processes.spawn(host, PROXY)

    def services(self, host: ServiceHost) -> tuple[str, ...]:
        return self._processes.services(host)

    def answers(self, host: ServiceHost, timeout_s: float = 0.5) -> bool:
        return all(answers(host, service, timeout_s) for service in self.services(host))

    def revivals(self) -> Sequence[Revival]:
        """See `chaoskit.contract.systems.installation.Supervision`."""
        return self._supervisor.revivals

    def wait_ready(self, timeout_s: float) -> None:
        self._supervisor.begin()
        if missing := wait_while(self._missing, timeout_s, every_s=_POLL_S):
            raise ServiceError(f"RocketMQ was not ready within {timeout_s:g} s: {missing}")
        self._supervisor.served = True

    def find(self, role: str, place: Place | None) -> tuple[str, ...]:
        return self._roles.find(role, place)

    def placements(self) -> list[Placed]:
        return self._roles.placed([place for topic in self._topics.all for place in topic.places])

    def settings_in_effect(self) -> dict[str, Mapping[str, str]]:
        """See `chaoskit.contract.systems.service.Reporting`."""
        try:
            return {
                f"broker {host.name}": admin.settings_of((host.address, BROKER_PORT), _ASK_S) for host in self.hosts
            }
        except OSError as error:
            raise ServiceError(f"settings in effect: a broker does not answer: {error}") from error

    def begin_trial(self, namespace: str, options: RocketOptions) -> None:
        self._namespace = namespace

    def create_topic(self, topic: Topic) -> None:
        self._topics.create(topic)
        self.wait_ready(_CREATE_S)

    def client_settings(self) -> dict[str, Any]:
        groups = self._options.groups(len(self.hosts))
        return {
            NAME_SERVERS: settings.servers(self._addresses, NAME_SERVER_PORT),
            BROKERS: [[self._addresses[index] for index in group] for group in groups],
            PROXIES: settings.servers(self._addresses[len(self.hosts) - self._options.proxies :], PROXY_PORT),
            DELAYS: queues.delays(self._topics.all),
            ORDERED: [topic.name for topic in self._topics.all if topic.kind == queues.FIFO],
            ASKED_MS: settings.asked_within_ms(self._options),
            NAMESPACE: self._namespace,
            **self._classpaths(),
        }

    def _classpaths(self) -> dict[str, str]:
        """Return the class paths of the relays, which only clients in Java have."""
        options = self._options
        if options.clients == "python":
            return {}
        popping = pop.RELAY.classpath(options.version) if options.proxies else ""
        return {CLASSPATH: RELAY.classpath(options.version), POP_CLASSPATH: popping}

    def end_trial(self) -> None:
        self._topics.delete()

    def close(self) -> None:
        """Do nothing: no connection outlives a call."""

    def _is_routed(self) -> bool:
        """Return whether each name server that answers knows a master, and one does; brokers have a topic with the name
        of their cluster."""
        routed = []
        for address in self._addresses:
            with suppress(OSError, ServiceError):
                routed.append(admin.is_routed((address, NAME_SERVER_PORT), settings.CLUSTER_NAME, _ASK_S))
        return bool(routed) and all(routed)

    def _masters(self) -> list[Server]:
        """Return the master of each group of brokers.

        Raises:
            ServiceError: one has none.
        """
        masters = []
        for group in range(len(self._options.groups(len(self.hosts)))):
            state = self._roles.state_of(group)
            if not state.master:
                raise ServiceError(f"{settings.broker_name(group)} has no master")
            masters.append(self._broker(state.master))
        return masters

    def _missing(self) -> str:
        """Return why the cluster is not ready; empty if it is."""
        silent = [
            (host, service) for host in self.hosts for service in self.services(host) if not answers(host, service, 0.5)
        ]
        self._supervisor.look_after(silent)
        if silent:
            return f"no answer from {', '.join(f'{service} on {host.name}' for host, service in silent)}"
        try:
            return self._unregistered() or self._missing_copies()
        except (OSError, ServiceError) as error:
            return str(error)

    def _unregistered(self) -> str:
        """Return which name server does not know which broker; empty if all know all."""
        wanted = set(settings.servers(self._addresses, BROKER_PORT).split(";"))
        for host in self.hosts:
            if unknown := wanted - admin.registered((host.address, NAME_SERVER_PORT), _ASK_S):
                return f"the name server on {host.name} does not know {', '.join(sorted(unknown))}"
        return ""

    def _missing_copies(self) -> str:
        """Return which broker does not keep up, or does not know a topic; empty if there is none."""
        for group in range(len(self._options.groups(len(self.hosts)))):
            state = self._roles.state_of(group)
            if not state.master:
                return f"{settings.broker_name(group)} has no master"
            if behind := set(state.members) - set(state.in_sync or ()):
                return f"{', '.join(sorted(behind))} not in sync with {state.master}"
            for name in state.members if self._options.elects else (state.master,):
                for topic in self._topics.all:
                    if not admin.has_topic(self._broker(name), queues.real_topic(topic.name), _ASK_S):
                        return f"{name} does not know topic {topic.name} yet"
        return ""

    def _broker(self, name: str) -> Server:
        return self._roles.host_of(name).address, BROKER_PORT
