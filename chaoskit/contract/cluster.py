"""A system under test (`System`) and one deployment of it (`Cluster`).

Entry points in `chaoskit.clusters` name a `System`: it validates options, prepares artifacts, deploys, and knows the
system's guarantees. Further capabilities of a deployment are powers: separate protocols.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

from pydantic import BaseModel

from chaoskit.base.errors import ChaoskitError
from chaoskit.contract.capability import Capability
from chaoskit.contract.client import LogClients, SequencedClients, SubscribingClients, TransactionalClients
from chaoskit.contract.datamodel import DataModel
from chaoskit.contract.guarantee import Declared, Guarantees
from chaoskit.contract.host import Root, ServiceHost
from chaoskit.contract.ledger import LedgerClients
from chaoskit.contract.power import Powered
from chaoskit.contract.queue import QueueClients, QueueFeature
from chaoskit.contract.topic import Topic
from chaoskit.history.format.audits import Place


class ClusterError(ChaoskitError):
    """An operation on the system failed; the message says where its logs are."""


class Placed(NamedTuple):
    """Where a partition is stored.

    Attributes:
        place: the partition, by its name in the system.
        leader: name of the host that leads or owns it; empty if there is none.
        holders: names of the hosts that store it.
    """

    place: Place
    leader: str
    holders: tuple[str, ...]


class Revival(NamedTuple):
    """A service that exited or hung by itself, and was started again.

    Attributes:
        at_ns: when it exited, or answered for the last time, CLOCK_MONOTONIC.
        host: name of its host.
        service: its name.
        needs: names of the other hosts that it cannot run without, such as those of its metadata service.
        why: what was seen, with the last errors in its log.
    """

    at_ns: int
    host: str
    service: str
    needs: tuple[str, ...]
    why: str


class Cluster(Powered, Protocol):
    """One deployment. Roles are resolved live; topics have their names in the system.

    Attributes:
        hosts: the hosts that the system runs on.
    """

    hosts: Sequence[ServiceHost]

    def answers(self, host: ServiceHost, timeout_s: float = 0.5) -> bool:
        """Return whether the system on this host answers a request in its own protocol."""
        ...

    def wait_ready(self, timeout_s: float) -> None:
        """Wait until every host answers and all replicas of the trial's topics are in sync.

        Raises:
            ClusterError: timed out; the message says what was missing.
        """
        ...

    def find(self, role: str, place: Place | None) -> tuple[str, ...]:
        """Return the names of the hosts that currently hold a role.

        Args:
            role: one of `System.roles`.
            place: the partition that the role refers to; None if the workload has none.

        Raises:
            ClusterError: no host holds the role, or it requires a partition.
        """
        ...

    def placements(self) -> Sequence[Placed]:
        """Return where the partitions of the trial are stored now, as far as the system tells within a few seconds.

        It is called about once a second during the load, also while faults are active.

        Raises:
            ClusterError: nobody answers.
        """
        ...

    def begin_trial(self, namespace: str, options: Any) -> None:
        """Prepare a trial with the system's options; all names that its clients use start with `namespace`."""
        ...

    def create_topic(self, topic: Topic) -> None:
        """Create a topic of the trial and wait until all its replicas are in sync."""
        ...

    def client_settings(self) -> dict[str, Any]:
        """Return the settings that `System.clients` needs to connect in this trial, as JSON values."""
        ...

    def end_trial(self) -> None:
        """Delete the topics of the trial.

        Raises:
            ClusterError: they could not be deleted.
        """
        ...

    def close(self) -> None:
        """Close all connections to the system. The hosts keep running."""
        ...


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
class Typed(Protocol):
    """Optional power of a system: its topics have types of its own.

    Attributes:
        types: the types by data model; the first one is the default.
        unreplicated: those of which there is one copy only.
    """

    types: Mapping[DataModel, Sequence[str]]
    unreplicated: Collection[str]


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

    queue_features: Collection[QueueFeature]
    exchanges: Collection[str]


@runtime_checkable
class Imposing(Protocol):
    """Optional power of a system: its queues have settings that the workload did not declare."""

    def imposed(self, options: Any, topic: Topic) -> Mapping[str, int]:
        """Return what policies and the release's defaults add to a queue's settings, with names of
        `chaoskit.history.format.schema.QUEUE_SETTINGS`."""
        ...


@runtime_checkable
class Processes(Protocol):
    """Optional power: start the system's services on a host; signals are sent through the host."""

    def start(self, host: ServiceHost) -> None:
        """Start the system's services on a host; does nothing if they are running.

        A deployment calls it for all hosts at once, each in its own thread, so it may wait for other hosts.
        """
        ...

    def services(self, host: ServiceHost) -> tuple[str, ...]:
        """Return the names of the services that belong on a host."""
        ...


@runtime_checkable
class Supervision(Protocol):
    """Optional power: start services again that exited or hung by themselves, as a supervisor does."""

    def revivals(self) -> Sequence[Revival]:
        """Return all services that were started again, in order of time."""
        ...


@runtime_checkable
class Reporting(Protocol):
    """Optional power: report the settings that are in effect."""

    def settings_in_effect(self) -> Mapping[str, Mapping[str, Any]]:
        """Return, as the system tells, the settings of each process and topic of the trial that reports them.

        The keys are names such as `broker n1`.

        Raises:
            ClusterError: nobody answers.
        """
        ...


@runtime_checkable
class Leadership(Protocol):
    """Optional power: transfer leadership of partitions to other replicas."""

    def led_by(self, host: ServiceHost) -> tuple[str, ...]:
        """Return the partitions, as `topic/number`, that a host currently leads."""
        ...

    def give_up_leadership(self, host: ServiceHost) -> None:
        """Transfer leadership of all partitions that a host leads to other in-sync replicas.

        Raises:
            ClusterError: a partition has no other in-sync replica, or the system rejected the request.
        """
        ...


@runtime_checkable
class Reassignment(Protocol):
    """Optional power: reassign replicas to other brokers."""

    def replicas_on(self, host: ServiceHost) -> tuple[str, ...]:
        """Return the partitions, as `topic/number`, of which a host stores a replica."""
        ...

    def drain(self, host: ServiceHost) -> None:
        """Move all replicas off a host and wait until they are in sync elsewhere.

        Raises:
            ClusterError: there are too few other brokers, or it took longer than one minute.
        """
        ...

    def refill(self, host: ServiceHost) -> None:
        """Move the replicas back that `drain` moved away, if any. Raises the same errors as `drain`."""
        ...


@runtime_checkable
class Decommissioning(Protocol):
    """Optional power: permanently decommission a storage node."""

    def kept_by(self, host: ServiceHost) -> tuple[str, ...]:
        """Return the names of the logs of the workload's topics that are partly stored on a host."""
        ...

    def decommission(self, host: ServiceHost) -> None:
        """Stop the storage service of a host; wait until other hosts store the declared number of copies and the
        cluster no longer lists the host.

        Raises:
            ClusterError: it was not done within 2.5 minutes.
        """
        ...

    def recommission(self, host: ServiceHost) -> None:
        """Prepare a decommissioned host to be started as a new, empty one."""
        ...


@runtime_checkable
class Upgrade(Protocol):
    """Optional power: upgrade to another release, host by host."""

    def release_of(self, host: ServiceHost) -> str:
        """Return the number of the release that a host runs."""
        ...

    def install_release(self, host: ServiceHost, version: str) -> None:
        """Install another release on a host; it runs from the next start on."""
        ...

    def finish_upgrade(self, version: str) -> str:
        """Enable the features of the new release, once all hosts run it; return evidence."""
        ...


@runtime_checkable
class DataFiles(Protocol):
    """Optional power: find a partition's files on a host's data disk."""

    def files(self, host: ServiceHost, what: str, topic: str, partition: int) -> list[str]:
        """Return the absolute paths, oldest first, of a partition replica's files of one type (such as `segment`).

        Raises:
            ClusterError: unknown file type; the message names the known ones.
        """
        ...

    def partition_of(self, path: str) -> Place | None:
        """Return the partition, by its name in the system, that a file on a data disk belongs to; None if it belongs to
        no single one."""
        ...


CLUSTER_POWERS = (Processes, Leadership, Reassignment, Decommissioning, Upgrade, DataFiles)
CLIENT_POWERS = (
    LogClients, TransactionalClients, SequencedClients, SubscribingClients, QueueClients, LedgerClients,
)  # fmt: skip
"""All powers of clusters, and of their clients, that the built-in nemeses and workloads use."""


class System(Protocol):
    """A messaging system that chaoskit can deploy (entry point group `chaoskit.clusters`).

    Attributes:
        options: model of its own keys under `cluster:`.
        roles: role names that a fault may use in `on:`; see `chaoskit.contract.role`.
        models: the topic models that it supports.
        guarantees: its guarantees.
        given: powers of clusters or clients that require certain options; the value names the options.
        never: powers that the system does not offer; the value is the reason.
        notyet: powers that the system offers but chaoskit does not implement; the value says what is missing.
    """

    options: type[BaseModel]
    roles: tuple[str, ...]
    models: Collection[DataModel]
    guarantees: Guarantees
    given: Mapping[type, str]
    never: Mapping[type, str]
    notyet: Mapping[type, str]

    def cluster_powers(self, options: Any) -> tuple[type, ...]:
        """Return the powers that clusters have with these options."""
        ...

    def client_powers(self, options: Any) -> tuple[type, ...]:
        """Return the powers that clients have with these options; see `chaoskit.contract.client`."""
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

    def deploy(self, hosts: Sequence[ServiceHost], options: Any) -> Cluster:
        """Install, configure and format on every host, without starting anything."""
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
