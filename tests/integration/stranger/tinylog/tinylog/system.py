"""The system as chaoskit sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from chaoskit.base.errors import BadInput
from chaoskit.contract.clients.client import LogClients
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.hosts.capability import Capability
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.installation import Installation
from chaoskit.contract.workloads.datamodel import LOG
from chaoskit.contract.workloads.traits import Backlog, Group
from tinylog.client import Clients
from tinylog.guarantees import GUARANTEES
from tinylog.service import Service


class Options(BaseModel):
    """Whether each message is on the disk before it is acknowledged."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fsync: bool = True


class TinyLog:
    """Entry point `tinylog` of `chaoskit.clusters`."""

    options = Options
    roles = ("server",)
    models = (LOG,)
    guarantees = GUARANTEES

    def service_powers(self, options: Options) -> tuple[type, ...]:
        return (Installation,)

    def client_powers(self, options: Options) -> tuple[type, ...]:
        return (LogClients,)

    def check(self, declared: Declared) -> None:
        if declared.hosts != 1:
            raise BadInput(f"cluster.hosts: {declared.hosts}: tinylog is one server; set hosts: 1")
        if declared.get(Group) or declared.get(Backlog):
            raise BadInput("workload: tinylog has no groups, and its consumers do not pause; remove both")

    def prepare(self, options: Options) -> None:
        """There is nothing to be fetched."""

    def deployment(self, options: Options) -> Options:
        return options

    def deploy(self, hosts: Sequence[ServiceHost], options: Options) -> Service:
        return Service(hosts[0], fsync=options.fsync)

    def clients(self, settings: Mapping[str, Any]) -> Clients:
        return Clients(settings)

    def brokers(self, options: Options, hosts: int) -> int:
        return 1

    def diagnose(self) -> list[Capability]:
        return []
