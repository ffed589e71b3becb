"""The system as chaoskit sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from chaoskit.base.waiting import wait_until
from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.guarantees.guarantee import Declared, Guarantees, Rule
from chaoskit.contract.guarantees.mechanism import Copies, Mechanism, Required
from chaoskit.contract.hosts.capability import Capability
from chaoskit.contract.hosts.host import ServiceHost, ServiceState
from chaoskit.contract.power import P, Powered, held
from chaoskit.contract.systems.installation import Installation
from chaoskit.contract.systems.service import Placed, ServiceError
from chaoskit.contract.workloads.datamodel import QUEUE
from chaoskit.contract.workloads.topic import Topic
from chaoskit.model.outcome import OperationFailed
from chaoskit.model.place import Place
from tinyqueue.client import PORT, Clients, Connection, QueueClients

SERVICE = "tinyqueue"


class Options(BaseModel):
    """There is nothing to be set."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Service:
    """One server, on the first host."""

    def __init__(self, hosts: Sequence[ServiceHost]) -> None:
        self.hosts = hosts[:1]
        self._namespace = ""
        self._topics: list[Topic] = []

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], "tinyqueue")

    def start(self, host: ServiceHost) -> None:
        if host.state(SERVICE) is ServiceState.GONE:
            host.put(Path(__file__).with_name("server.py").read_bytes(), "/opt/tinyqueue.py")
            host.spawn(SERVICE, ["/usr/bin/python3", "/opt/tinyqueue.py", str(PORT)], {})

    def services(self, host: ServiceHost) -> tuple[str, ...]:
        return (SERVICE,)

    def answers(self, host: ServiceHost, timeout_s: float = 0.5) -> bool:
        connection = Connection(host.address, timeout_s)
        try:
            return bool(connection.ask("ping"))
        except OperationFailed:
            return False
        finally:
            connection.close()

    def wait_ready(self, timeout_s: float) -> None:
        if not wait_until(lambda: self.answers(self.hosts[0]), timeout_s):
            raise ServiceError(f"tinyqueue does not answer within {timeout_s:g} s")

    def find(self, role: str, place: Place | None) -> tuple[str, ...]:
        return (self.hosts[0].name,)

    def begin_trial(self, namespace: str, options: Options) -> None:
        self._namespace = namespace
        self._topics = []

    def create_topic(self, topic: Topic) -> None:
        """Queues come into being with their first message."""
        self._topics.append(topic)

    def placements(self) -> list[Placed]:
        (name,) = (host.name for host in self.hosts)
        return [Placed(place, name, (name,)) for topic in self._topics for place in topic.places]

    def client_settings(self) -> dict[str, Any]:
        return {"address": self.hosts[0].address}

    def end_trial(self) -> None:
        connection = Connection(self.hosts[0].address)
        connection.ask("delete", self._namespace)
        connection.close()

    def close(self) -> None:
        """There is nothing to be closed."""


def _forgets(declared: Declared) -> Sequence[Mechanism]:
    return (
        Copies(
            why="tinyqueue keeps messages in memory alone", required=Required.LEADER, in_process=Act.ENDS | Act.STOPS
        ),
    )


class TinyQueue:
    """Entry point `tinyqueue` of `chaoskit.clusters`."""

    options = Options
    roles = ("server",)
    models = (QUEUE,)
    guarantees = Guarantees(
        [
            Rule(
                id="tinyqueue.memory",
                allows=("vanished", "lost"),
                mechanisms=_forgets,
                remedy="",
                source="server.py",
                shown="tinyqueue.yaml:killed",
                control="tinyqueue.yaml:quiet",
            )
        ],
        lambda _: {"vanished": "nothing happened to the server"},
    )

    def service_powers(self, options: Options) -> tuple[type, ...]:
        return (Installation,)

    def client_powers(self, options: Options) -> tuple[type, ...]:
        return (QueueClients,)

    def check(self, declared: Declared) -> None:
        """Everything works."""

    def prepare(self, options: Options) -> None:
        """There is nothing to be fetched."""

    def deployment(self, options: Options) -> Options:
        return options

    def deploy(self, hosts: Sequence[ServiceHost], options: Options) -> Service:
        return Service(hosts)

    def clients(self, settings: Mapping[str, Any]) -> Powered:
        return Clients(settings)

    def brokers(self, options: Options, hosts: int) -> int:
        return 1

    def diagnose(self) -> list[Capability]:
        return [Capability("tinyqueue", True, "it needs nothing")]
