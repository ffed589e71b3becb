"""A running system (`Service`), as its clients and operators see it, and what it may tell of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from chaoskit.base.errors import ChaoskitError
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.power import Powered
from chaoskit.contract.workloads.topic import Topic
from chaoskit.model.place import Place


class ServiceError(ChaoskitError):
    """An operation on the system failed; the message says where its logs are."""


class Placed(NamedTuple):
    """Where a partition is stored.

    Attributes:
        place: the partition, by its name in the system.
        leader: name of the host that leads or owns it; empty if there is none.
        holders: names of the hosts that store it.
        in_sync: names of those that take part in new writes, such as in-sync replicas, the current ensemble, or the
            members that are online; None if the system does not tell.
        epoch: the epoch or term of the leader; None if there is none.
    """

    place: Place
    leader: str
    holders: tuple[str, ...]
    in_sync: tuple[str, ...] | None = None
    epoch: int | None = None


class Service(Powered, Protocol):
    """A running system, as its clients and operators see it. Topics have their names in the system.

    What else it can do are powers: `Installation` if it runs on hosts that can be reached, `Placing` if hosts store its
    partitions, those of `chaoskit.contract.systems.operating` for what operators do.
    """

    def wait_ready(self, timeout_s: float) -> None:
        """Wait until it serves: every host of its own answers, and all replicas of the trial's topics are in sync.

        Raises:
            ServiceError: timed out; the message says what was missing.
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
            ServiceError: they could not be deleted.
        """
        ...

    def close(self) -> None:
        """Close all connections to the system. Its hosts keep running."""
        ...


@runtime_checkable
class Placing(Protocol):
    """Optional power of a service: hosts hold roles in it and store its partitions."""

    def find(self, role: str, place: Place | None) -> tuple[str, ...]:
        """Return the names of the hosts that currently hold a role.

        Args:
            role: one of `System.roles`.
            place: the partition that the role refers to; None if the workload has none.

        Raises:
            ServiceError: no host holds the role, or it requires a partition.
        """
        ...

    def placements(self) -> Sequence[Placed]:
        """Return where the partitions of the trial are stored now, as far as the system tells within a few seconds.

        It is called about once a second during the load, also while faults are active.

        Raises:
            ServiceError: nobody answers.
        """
        ...


@runtime_checkable
class Tiering(Protocol):
    """Optional power of a service: partitions begin in an object store, and hosts delete what it has."""

    def tiered(self, placements: Sequence[Placed]) -> Mapping[Place, int]:
        """Return up to which position, exclusive, the store has acknowledged each of some partitions; those that nobody
        tells are left out.

        It is called about once a second during the load, also while faults are active.

        Args:
            placements: where they are stored now.
        """
        ...


class OpenTransaction(NamedTuple):
    """A transaction that has written to a partition, and has not ended.

    Attributes:
        position: where its first message is.
        producer: the number of its producer.
        name: the name of its producer, in the system; as far as somebody tells, else its number in words.
    """

    position: int
    producer: int
    name: str


@runtime_checkable
class TransactionLooks(Protocol):
    """Optional power of a service: tell which transactions are open."""

    def open_transactions(self, placements: Sequence[Placed]) -> Mapping[Place, Sequence[OpenTransaction]]:
        """Return those of some partitions; partitions of which nobody tells are left out.

        It is called about once a second during the load of transactions, also while faults are active.

        Args:
            placements: where the partitions are stored now.
        """
        ...


@runtime_checkable
class Endpoints(Protocol):
    """Optional power of a service: say where applications of others connect."""

    def endpoints(self) -> str:
        """Return it as the system's own clients are told, such as `10.1.0.1:9092,10.1.0.2:9092`; with the login, if one
        is needed."""
        ...


@runtime_checkable
class ClassPath(Protocol):
    """Optional power of a service: say where the jars of its release are, among them its own Java client."""

    def class_path(self) -> str:
        """Return the class path of a Java program that uses them, on this machine."""
        ...


@runtime_checkable
class Reporting(Protocol):
    """Optional power: report the settings that are in effect."""

    def settings_in_effect(self) -> Mapping[str, Mapping[str, Any]]:
        """Return, as the system tells, the settings of each process and topic of the trial that reports them.

        The keys are names such as `broker n1`.

        Raises:
            ServiceError: nobody answers.
        """
        ...


@runtime_checkable
class DataFiles(Protocol):
    """Optional power: find a partition's files on a host's data disk."""

    def files(self, host: ServiceHost, what: str, topic: str, partition: int) -> list[str]:
        """Return the absolute paths, oldest first, of a partition replica's files of one type (such as `segment`).

        Raises:
            ServiceError: unknown file type; the message names the known ones.
        """
        ...

    def partition_of(self, path: str) -> Place | None:
        """Return the partition, by its name in the system, that a file on a data disk belongs to; None if it belongs to
        no single one."""
        ...
