"""A system under test on the hosts of one run.

A `System` is what an entry point in `chaoskit.clusters` names: it validates options, prepares
artifacts, deploys, and knows the system's guarantees. A `Cluster` is one deployment of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from pydantic import BaseModel

from chaoskit.base.errors import ChaoskitError
from chaoskit.contract.capability import Finding
from chaoskit.contract.client import ClientFactory
from chaoskit.contract.host import ServiceHost
from chaoskit.contract.ledger import LedgerClients


class ClusterError(ChaoskitError):
    """The system did not do what it was told; the message says where its logs are."""


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """A topic to create."""

    name: str
    partitions: int
    replication: int


@dataclass(frozen=True, slots=True)
class Effect:
    """A fault that was begun, as guarantees see it. Times are ns since the start of the run."""

    kind: str
    targets: tuple[str, ...]
    start_ns: int
    healed_ns: int | None


@dataclass(frozen=True, slots=True)
class Allowance:
    """Whether the declared settings allow an anomaly under the faults that took effect, and why.

    `remedy` says which setting to change so that it would no longer be allowed.
    """

    allowed: bool
    why: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Declared:
    """The resolved configuration that the guarantees are derived from.

    Attributes:
        options: the system's validated options.
        brokers: number of hosts that keep data.
        replication: of the workload's topics.
        producer: client settings of the producers.
        consumer: client settings of the consumers.
        grouped: whether consumers share a group.
        transactional: whether producers write in transactions.
        ledgers: whether producers write ledgers.
        hosts: number of all hosts.
        subscription: type of the subscription that consumers share; empty: they have none.
        resends: what producers send again by themselves: `chaoskit.contract.workload.Resend`.
        restarts: whether producers give up clients with sends under way, and go on with new ones.
    """

    options: Any
    brokers: int
    replication: int
    producer: Mapping[str, Any]
    consumer: Mapping[str, Any]
    grouped: bool
    transactional: bool = False
    ledgers: bool = False
    hosts: int = 0
    subscription: str = ""
    resends: str = "never"
    restarts: bool = False


class Cluster(Protocol):
    """One deployment. Everything it starts runs on its hosts; roles are looked up live."""

    hosts: Sequence[ServiceHost]

    def start(self, host: ServiceHost) -> None:
        """Start the system's services on a host; nothing if they run."""
        ...

    def services(self, host: ServiceHost) -> tuple[str, ...]:
        """Return the names of the services that belong on a host."""
        ...

    def answers(self, host: ServiceHost, timeout_s: float = 0.5) -> bool:
        """Return whether the system on this host answers a request of its own protocol."""
        ...

    def wait_ready(self, timeout_s: float) -> None:
        """Return when every host answers and every topic has all its replicas in sync.

        Raises:
            ClusterError: it took longer; the message says what was missing.
        """
        ...

    def find(self, role: str, topic: str, partition: int) -> tuple[str, ...]:
        """Return the names of the hosts that hold a role now.

        Raises:
            ClusterError: nobody holds it.
        """
        ...

    def create_topic(self, topic: TopicSpec) -> None:
        """Create a topic and return when all its replicas are in sync."""
        ...

    def client_settings(self) -> dict[str, Any]:
        """Return what `System.clients` needs to connect, as JSON values."""
        ...

    def close(self) -> None:
        """Drop connections to the system. The hosts are the lab's to end."""
        ...


@runtime_checkable
class Leadership(Protocol):
    """Optional power: hand leadership over, as an operator does."""

    def led_by(self, host: ServiceHost) -> tuple[str, ...]:
        """Return the partitions, as `topic/number`, that a host leads now."""
        ...

    def give_up_leadership(self, host: ServiceHost) -> None:
        """Have other in-sync replicas elected for all partitions that a host leads.

        Raises:
            ClusterError: a partition has no other in-sync replica, or the system refused.
        """
        ...


@runtime_checkable
class Reassignment(Protocol):
    """Optional power: move replicas between brokers, as an operator does."""

    def replicas_on(self, host: ServiceHost) -> tuple[str, ...]:
        """Return the partitions, as `topic/number`, of which a host keeps a replica."""
        ...

    def drain(self, host: ServiceHost) -> None:
        """Move all replicas off a host; return when they are in sync elsewhere.

        Raises:
            ClusterError: there are too few other brokers, or it took longer than a minute.
        """
        ...

    def refill(self, host: ServiceHost) -> None:
        """Move back what `drain` had moved off; nothing if nothing was. Raises as `drain`."""
        ...


@runtime_checkable
class Decommissioning(Protocol):
    """Optional power: take a node that keeps data out of a cluster for good, as an operator does."""

    def kept_by(self, host: ServiceHost) -> tuple[str, ...]:
        """Return the names of the logs of the workload's topics of which a host keeps a part."""
        ...

    def decommission(self, host: ServiceHost) -> None:
        """End what keeps data on a host; return when others keep as many copies as declared and the cluster has
        forgotten it.

        Raises:
            ClusterError: it could not be done within two minutes and a half.
        """
        ...

    def recommission(self, host: ServiceHost) -> None:
        """Prepare a decommissioned host to be started as a new one, which keeps nothing."""
        ...


@runtime_checkable
class Upgrade(Protocol):
    """Optional power: replace the system's release, host by host."""

    def release_of(self, host: ServiceHost) -> str:
        """Return the release number that runs on a host."""
        ...

    def install_release(self, host: ServiceHost, version: str) -> None:
        """Have the next start on this host run another release."""
        ...

    def finish_upgrade(self, version: str) -> str:
        """Have the cluster use what is new in the release, once all hosts run it; return evidence."""
        ...


@runtime_checkable
class DataFiles(Protocol):
    """Optional power: say which files of a host's data disk hold what."""

    def files(self, host: ServiceHost, what: str, topic: str, partition: int) -> list[str]:
        """Return the absolute paths, oldest first, of one sort of file (such as `segment`) of a partition's replica.

        Raises:
            ClusterError: there is no such sort of file; the message names those that there are.
        """
        ...


class System(Protocol):
    """A message system that chaoskit can deploy (entry point group `chaoskit.clusters`).

    Attributes:
        options: model of its further keys under `cluster:`.
        roles: names that `on:` of a fault may use.
    """

    options: type[BaseModel]
    roles: tuple[str, ...]

    def powers(self, options: Any) -> tuple[type, ...]:
        """Return the optional powers (protocols, above) of clusters with these options."""
        ...

    def check(self, declared: Declared, hosts: int) -> None:
        """Refuse, before anything is made, what cannot work.

        Raises:
            BadInput: naming the key and the remedy.
        """
        ...

    def prepare(self, options: Any) -> None:
        """Fetch and verify the artifacts into the cache; nothing if they are there.

        Raises:
            BadInput: there is no such version, or it cannot be fetched.
        """
        ...

    def deploy(self, hosts: Sequence[ServiceHost], options: Any) -> Cluster:
        """Install, configure and format on every host, without starting."""
        ...

    def clients(self, settings: Mapping[str, Any]) -> ClientFactory | LedgerClients:
        """Return the factory of clients for a worker process."""
        ...

    def guarantees(self, declared: Declared, effects: Sequence[Effect]) -> dict[str, Allowance]:
        """Return, for every anomaly that the system has a say in, whether it is allowed and why."""
        ...

    def brokers(self, options: Any, hosts: int) -> int:
        """Return how many of the hosts keep data."""
        ...

    def diagnose(self) -> list[Finding]:
        """Return what this machine has and lacks for this system."""
        ...
