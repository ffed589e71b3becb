"""One running server, with the powers `Installation` and `Placing`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chaoskit.base.waiting import wait_until
from chaoskit.contract.hosts.host import ServiceHost, ServiceState
from chaoskit.contract.power import P, held
from chaoskit.contract.systems.service import Placed, ServiceError
from chaoskit.contract.workloads.topic import Topic
from chaoskit.model.outcome import OperationFailed
from chaoskit.model.place import Place
from tinylog.client import log_name
from tinylog.connection import PORT, Connection

_SERVICE = "tinylog"
_PROGRAM = "/opt/tinylog.py"


class Service:
    """One server, on one host."""

    def __init__(self, host: ServiceHost, *, fsync: bool) -> None:
        self.hosts = [host]
        self._host = host
        self._mode = "fsync" if fsync else "no-fsync"
        self._namespace = ""
        self._topics: list[Topic] = []

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], "tinylog")

    def start(self, host: ServiceHost) -> None:
        if host.state(_SERVICE) is ServiceState.GONE:
            host.put(Path(__file__).with_name("server.py").read_bytes(), _PROGRAM)
            host.spawn(_SERVICE, ["/usr/bin/python3", _PROGRAM, str(PORT), host.data_dir, self._mode], {})

    def services(self, host: ServiceHost) -> tuple[str, ...]:
        return (_SERVICE,)

    def answers(self, host: ServiceHost, timeout_s: float = 0.5) -> bool:
        try:
            return bool(self._ask("ping", timeout_s=timeout_s))
        except OperationFailed:
            return False

    def wait_ready(self, timeout_s: float) -> None:
        if not wait_until(lambda: self.answers(self._host), timeout_s):
            raise ServiceError(f"tinylog does not answer within {timeout_s:g} s; its log is logs/*/tinylog.log")

    def find(self, role: str, place: Place | None) -> tuple[str, ...]:
        return (self._host.name,)

    def placements(self) -> list[Placed]:
        name = self._host.name
        return [Placed(place, name, (name,)) for topic in self._topics for place in topic.places]

    def begin_trial(self, namespace: str, options: Any) -> None:
        self._namespace = namespace
        self._topics = []

    def create_topic(self, topic: Topic) -> None:
        for place in topic.places:
            self._ask("create", log_name(*place))
        self._topics.append(topic)

    def client_settings(self) -> dict[str, Any]:
        return {"address": self._host.address}

    def end_trial(self) -> None:
        self._ask("delete", self._namespace)

    def close(self) -> None:
        """There is nothing to be closed: each request has a connection of its own."""

    def _ask(self, *request: object, timeout_s: float = 5.0) -> Any:
        connection = Connection(self._host.address, timeout_s)
        try:
            return connection.ask(*request)
        finally:
            connection.close()
