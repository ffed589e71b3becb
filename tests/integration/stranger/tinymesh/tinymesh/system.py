"""The system as chaoskit sees it: it has no processes of its own, and runs between its clients."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from chaoskit.base.errors import BadInput
from chaoskit.contract.clients.feed import FeedClients
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.hosts.capability import Capability
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.power import P, held
from chaoskit.contract.workloads.datamodel import PUBSUB
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.traits import Paced
from tinymesh.client import RESENDS, Clients
from tinymesh.datagrams import SIZE_MAX
from tinymesh.guarantees import GUARANTEES


class Options(BaseModel):
    """There is nothing to be set."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Service:
    """A mesh: nothing but its name, by which its peers know each other."""

    def __init__(self) -> None:
        self._mesh = secrets.token_hex(4)

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], "tinymesh")

    def wait_ready(self, timeout_s: float) -> None:
        """There is nobody to wait for."""

    def begin_trial(self, namespace: str, options: Options) -> None:
        """Topics have names of the trial."""

    def create_topic(self, topic: Topic) -> None:
        """A topic is what peers talk about."""

    def client_settings(self) -> dict[str, Any]:
        return {"mesh": self._mesh}

    def end_trial(self) -> None:
        """Nothing is left of it."""

    def close(self) -> None:
        """There is nothing to be closed."""


class TinyMesh:
    """Entry point `tinymesh` of `chaoskit.clusters`."""

    options = Options
    roles = ()
    models = (PUBSUB,)
    guarantees = GUARANTEES

    def service_powers(self, options: Options) -> tuple[type, ...]:
        return ()

    def client_powers(self, options: Options) -> tuple[type, ...]:
        return (FeedClients,)

    def check(self, declared: Declared) -> None:
        if unknown := [*(declared.producer.keys() - {RESENDS}), *declared.consumer]:
            raise BadInput(f"workload: tinymesh has no setting {unknown[0]}; there is producer: {{{RESENDS}: true}}")
        paced = declared.get(Paced)
        if paced is not None and paced.size > SIZE_MAX:
            raise BadInput(f"workload.message_size: a datagram holds at most {SIZE_MAX} bytes; reduce it")

    def prepare(self, options: Options) -> None:
        """There is nothing to be fetched."""

    def deployment(self, options: Options) -> Options:
        return options

    def deploy(self, hosts: Sequence[ServiceHost], options: Options) -> Service:
        return Service()

    def clients(self, settings: Mapping[str, Any]) -> Clients:
        return Clients(settings)

    def brokers(self, options: Options, hosts: int) -> int:
        return 0

    def diagnose(self) -> list[Capability]:
        return []
