"""A system that chaoskit can run (`System`): a record of what it is and can do.

Entry points in `chaoskit.clusters` name one: it validates options, prepares artifacts, deploys, and knows the system's
guarantees. Further capabilities are powers: separate protocols. What a system does not say, it does not support.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

from pydantic import BaseModel

from chaoskit.contract.clients.queue import QueueFeature
from chaoskit.contract.guarantees.guarantee import Declared, Guarantees
from chaoskit.contract.hosts.capability import Capability
from chaoskit.contract.hosts.host import Root, ServiceHost
from chaoskit.contract.power import Powered
from chaoskit.contract.systems.installation import Installation
from chaoskit.contract.systems.operating import (
    AccessControl,
    Certificates,
    Decommissioning,
    GroupOffsets,
    Leadership,
    LogDirectories,
    Migration,
    PartitionAdding,
    Reassignment,
    RecordDeletion,
    Upgrade,
    Voting,
)
from chaoskit.contract.systems.service import DataFiles, Service
from chaoskit.contract.systems.wire import Tapped
from chaoskit.contract.workloads.datamodel import MODELS, DataModel
from chaoskit.contract.workloads.topic import Topic


@runtime_checkable
class Positions(Protocol):
    """Optional power of a system: its positions are not plain numbers, and have names of their own."""

    def describe_position(self, position: int) -> str:
        """Return a position in the system's own notation, such as `12:345`."""
        ...


@runtime_checkable
class Fetching(Protocol):
    """Optional power of a system: tell whether its artifacts are in the cache."""

    def is_fetched(self, options: Any) -> bool:
        """Return whether `System.prepare` would download nothing."""
        ...


@runtime_checkable
class Rooted(Protocol):
    """Optional power of a system: its hosts need a root file system of their own."""

    def root(self, options: Any) -> Root:
        """Return the root for these options."""
        ...


@runtime_checkable
class Apart(Protocol):
    """Optional power of a system: what only runs need is apart, in modules that import packages which need not be
    installed where a run is judged.

    Attributes:
        for_runs: full names of these modules. The system imports them at their first use; see `chaoskit.base.later`.
    """

    @property
    def for_runs(self) -> Collection[str]: ...


@runtime_checkable
class Varied(Protocol):
    """Optional power of a system: some of its roles are there with some options only."""

    def roles_with(self, options: Any) -> Collection[str]:
        """Return those of `System.roles` that clusters with these options have."""
        ...


@runtime_checkable
class Typed(Protocol):
    """Optional power of a system: its topics have types of its own.

    Attributes:
        types: the types by data model; the first one is the default.
        unreplicated: those of which there is one copy only.
    """

    @property
    def types(self) -> Mapping[DataModel, Sequence[str]]: ...
    @property
    def unreplicated(self) -> Collection[str]: ...


def typed(system: System, topic: Topic) -> Topic:
    """Return a topic with the system's default type, if it names none, and with one copy if its type has no more."""
    if not isinstance(system, Typed):
        return topic
    kind = topic.kind or next(iter(system.types.get(topic.model, ())), "")
    return replace(topic, kind=kind, replication=1 if kind in system.unreplicated else topic.replication)


@runtime_checkable
class Queues(Protocol):
    """Optional power of a system: what its queues can do besides keeping messages until they are settled.

    Attributes:
        queue_features: what they can do.
        exchanges: the system's own ways of routing messages to queues.
    """

    @property
    def queue_features(self) -> Collection[QueueFeature]: ...
    @property
    def exchanges(self) -> Collection[str]: ...


@runtime_checkable
class Imposing(Protocol):
    """Optional power of a system: its queues, or compacted logs, have settings that the workload did not declare."""

    def imposed(self, options: Any, topic: Topic) -> Mapping[str, int]:
        """Return what policies and the release's defaults add to a queue's settings, with names of
        `chaoskit.model.observations.queue.QUEUE_SETTINGS`; of a log, how it is compacted
        (`chaoskit.model.compaction.Compaction`)."""
        ...


@runtime_checkable
class InputFeeding(Protocol):
    """Optional power of a system: by default its client may store twice what it sends once."""

    def feeder(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the settings of the producer that feeds an application under test: as given, and those with which it
        does not send an input twice."""
        ...


@runtime_checkable
class Naming(Protocol):
    """Optional power of a system: its clients tell it their names, by which faults on messages choose them."""

    def named(self, connection: Mapping[str, Any], client: str) -> Mapping[str, Any]:
        """Return the settings of a connection (`client_settings` of the service) for the client with a name."""
        ...


SERVICE_POWERS = (
    Installation, Leadership, Reassignment, LogDirectories, Voting, Decommissioning, Upgrade, Migration, RecordDeletion,
    PartitionAdding, GroupOffsets, AccessControl, Certificates, DataFiles, Tapped,
)  # fmt: skip
CLIENT_POWERS = tuple(power for model in MODELS for power in model.powers)
"""All powers of services, and of their clients, that the built-in nemeses and workloads use."""


class System(Protocol):
    """A messaging system that chaoskit can run (entry point group `chaoskit.clusters`).

    It may explain powers; see `chaoskit.contract.systems.explaining`.

    Attributes:
        options: model of its own keys under `cluster:`.
        roles: role names that a fault may use in `on:`; see `chaoskit.contract.systems.role`.
        models: the topic models that it supports.
        guarantees: its guarantees.
    """

    @property
    def options(self) -> type[BaseModel]: ...
    @property
    def roles(self) -> tuple[str, ...]: ...
    @property
    def models(self) -> Collection[DataModel]: ...
    @property
    def guarantees(self) -> Guarantees: ...

    def service_powers(self, options: Any) -> tuple[type, ...]:
        """Return the powers that clusters have with these options."""
        ...

    def client_powers(self, options: Any) -> tuple[type, ...]:
        """Return the powers that clients have with these options; see `chaoskit.contract.clients.client`."""
        ...

    def check(self, declared: Declared) -> None:
        """Reject configurations that cannot work, before anything is created.

        Raises:
            BadInput: names the key and the remedy.
        """
        ...

    def prepare(self, options: Any) -> None:
        """Download the artifacts into the cache and verify them, unless they are there.

        Raises:
            BadInput: there is no such version, or it cannot be downloaded.
        """
        ...

    def deployment(self, options: Any) -> Any:
        """Return the options without those that affect only a trial's topics. Trials with equal results can share a
        deployment."""
        ...

    def deploy(self, hosts: Sequence[ServiceHost], options: Any) -> Service:
        """Install, configure and format on every host, without starting anything. A system between its clients has
        nothing to install, and gets the hosts on which they will be."""
        ...

    def clients(self, settings: Mapping[str, Any]) -> Powered:
        """Return the clients for a worker process."""
        ...

    def brokers(self, options: Any, hosts: int) -> int:
        """Return how many of the hosts store data."""
        ...

    def diagnose(self) -> list[Capability]:
        """Return the capabilities that this system needs, and whether this machine has them."""
        ...


def between_clients(system: System, options: Any) -> bool:
    """Return whether a system has no processes of its own with these options: it runs between its clients."""
    return Installation not in system.service_powers(options)
