"""A system under test: what it is (`System`), and one deployment of it (`Cluster`).

A `System` is what an entry point in `chaoskit.clusters` names: it validates options, prepares artifacts, deploys, and
knows the system's guarantees. What a deployment can do besides are powers, protocols of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from pydantic import BaseModel

from chaoskit.base.errors import ChaoskitError
from chaoskit.contract.capability import Capability
from chaoskit.contract.client import LogClients, SequencedClients, SubscribingClients, TransactionalClients
from chaoskit.contract.guarantee import Declared, Guarantees
from chaoskit.contract.host import ServiceHost
from chaoskit.contract.ledger import LedgerClients
from chaoskit.contract.power import Powered
from chaoskit.contract.topic import Topic
from chaoskit.history.audits import Place
from chaoskit.history.models import DataModel


class ClusterError(ChaoskitError):
    """The system did not do what it was told; the message says where its logs are."""


class Cluster(Powered, Protocol):
    """One deployment. Roles are looked up live; topics are named as in the system.

    Attributes:
        hosts: that the system runs on.
    """

    hosts: Sequence[ServiceHost]

    def answers(self, host: ServiceHost, timeout_s: float = 0.5) -> bool:
        """Return whether the system on this host answers a request of its own protocol."""
        ...

    def wait_ready(self, timeout_s: float) -> None:
        """Return when every host answers and every topic of the trial has all its replicas in sync.

        Raises:
            ClusterError: it took longer; the message says what was missing.
        """
        ...

    def find(self, role: str, place: Place | None) -> tuple[str, ...]:
        """Return the names of the hosts that hold a role now.

        Args:
            role: one of `System.roles`.
            place: the partition that it is about; None: the workload has none.

        Raises:
            ClusterError: nobody holds it, or it needs a partition.
        """
        ...

    def begin_trial(self, namespace: str, options: Any) -> None:
        """Prepare for a trial, with the system's options for it: what its clients name begins with `namespace`."""
        ...

    def create_topic(self, topic: Topic) -> None:
        """Create a topic of the trial and return when all its replicas are in sync."""
        ...

    def client_settings(self) -> dict[str, Any]:
        """Return what `System.clients` needs to connect in this trial, as JSON values."""
        ...

    def end_trial(self) -> None:
        """Remove the topics of the trial.

        Raises:
            ClusterError: they could not be removed.
        """
        ...

    def close(self) -> None:
        """Drop connections to the system. The hosts are not the cluster's to end."""
        ...


@runtime_checkable
class Processes(Protocol):
    """Optional power: start the system's services on a host; the host itself signals them."""

    def start(self, host: ServiceHost) -> None:
        """Start the system's services on a host; nothing if they run."""
        ...

    def services(self, host: ServiceHost) -> tuple[str, ...]:
        """Return the names of the services that belong on a host."""
        ...


@runtime_checkable
class Leadership(Protocol):
    """Optional power: transfer leadership of partitions to other replicas."""

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
    """Optional power: reassign replicas to other brokers."""

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
    """Optional power: decommission a storage node for good."""

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
    """Optional power: upgrade to another release, host by host."""

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
    """Optional power: find the files that hold a partition on a host's data disk."""

    def files(self, host: ServiceHost, what: str, topic: str, partition: int) -> list[str]:
        """Return the absolute paths, oldest first, of one sort of file (such as `segment`) of a partition's replica.

        Raises:
            ClusterError: there is no such sort of file; the message names those that there are.
        """
        ...


CLUSTER_POWERS = (Processes, Leadership, Reassignment, Decommissioning, Upgrade, DataFiles)
CLIENT_POWERS = (LogClients, TransactionalClients, SequencedClients, SubscribingClients, LedgerClients)
"""All powers of clusters, and of their clients, that nemeses and workloads here ask for."""


class System(Protocol):
    """A message system that chaoskit can deploy (entry point group `chaoskit.clusters`).

    Attributes:
        options: model of its further keys under `cluster:`.
        roles: names that `on:` of a fault may use.
        models: of topics that it keeps.
        guarantees: what it promises.
        given: powers, of clusters or clients, that it has with some options only, each with which.
        never: powers that the system's maker does not offer, each with why.
        notyet: powers that it has and that are not built here, each with what is missing.
    """

    options: type[BaseModel]
    roles: tuple[str, ...]
    models: Collection[DataModel]
    guarantees: Guarantees
    given: Mapping[type, str]
    never: Mapping[type, str]
    notyet: Mapping[type, str]

    def cluster_powers(self, options: Any) -> tuple[type, ...]:
        """Return the powers of clusters with these options."""
        ...

    def client_powers(self, options: Any) -> tuple[type, ...]:
        """Return the powers of clients of clusters with these options; see `chaoskit.contract.client`."""
        ...

    def check(self, declared: Declared) -> None:
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

    def deployment(self, options: Any) -> Any:
        """Return the options without those that only a trial's topics have: trials whose deployments are equal may
        share one."""
        ...

    def deploy(self, hosts: Sequence[ServiceHost], options: Any) -> Cluster:
        """Install, configure and format on every host, without starting."""
        ...

    def clients(self, settings: Mapping[str, Any]) -> Powered:
        """Return the clients, for a worker process."""
        ...

    def brokers(self, options: Any, hosts: int) -> int:
        """Return how many of the hosts keep data."""
        ...

    def diagnose(self) -> list[Capability]:
        """Return what this machine has and lacks for this system."""
        ...
