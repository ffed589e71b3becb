"""A workload is what clients do during a run. Each task runs in a worker process of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from pydantic import BaseModel

from chaoskit.contract.client import ClientFactory
from chaoskit.contract.cluster import TopicSpec
from chaoskit.contract.ledger import LedgerClients
from chaoskit.history.wal import WalWriter

PRODUCER, CONSUMER, AUDITOR = "producer", "consumer", "auditor"


@dataclass(frozen=True, slots=True)
class Task:
    """One client of a workload: its role, its index among the clients of that role, and how often it was
    started again after a crash."""

    role: str
    index: int
    incarnation: int = 0

    @property
    def client(self) -> str:
        """The client's name in the history; one that was started again has its incarnation behind it."""
        name = self.role if self.role == AUDITOR else f"{self.role}-{self.index}"
        return f"{name}#{self.incarnation}" if self.incarnation else name


@dataclass(slots=True)
class Progress:
    """What a worker has done so far."""

    sent: int = 0
    acked: int = 0
    failed: int = 0
    indeterminate: int = 0
    received: int = 0


class Control(Protocol):
    """The worker's link to the harness.

    Attributes:
        stopping: whether the harness asked for the end, or is gone.
        run_id: identifies this run in every payload.
    """

    stopping: bool
    run_id: int

    def wait_start(self) -> int:
        """Say that this client is connected; return the common start, CLOCK_MONOTONIC ns."""
        ...

    def report(self, progress: Progress) -> None:
        """Tell the harness, a few times a second, how far it is."""
        ...

    def result(self, result: Mapping[str, Any]) -> None:
        """Tell the harness, once: the auditor `accepted` and `audited`, both bool; another client that goes on doing
        nothing, as it can never work again, why (`failed`)."""
        ...


@dataclass(frozen=True, slots=True)
class Job:
    """All that a task gets in its worker process. `bound_ns`: how long the auditor's probes may take."""

    task: Task
    options: Any
    clients: ClientFactory | LedgerClients
    wal: WalWriter
    control: Control
    bound_ns: int


class Workload(Protocol):
    """A kind of load (entry point group `chaoskit.workloads`).

    Attributes:
        options: model of its further keys under `workload:`.
        needs: optional powers (protocols) that the system's clients must have.
    """

    options: type[BaseModel]
    needs: tuple[type, ...]

    def topics(self, options: Any, brokers: int) -> list[TopicSpec]:
        """Return the topics to create before the start, on this many brokers; without partitions where those come
        into being during the run."""
        ...

    def tasks(self, options: Any) -> list[Task]:
        """Return the producers and consumers."""
        ...

    def client_settings(self, options: Any, role: str) -> Mapping[str, Any]:
        """Return the system's own settings for clients of a role."""
        ...

    def run(self, job: Job) -> None:
        """Be one client: until `control.stopping` for producers and consumers; for the auditor,
        send one probe to every partition, then read everything to the end that the brokers report."""
        ...

    def grouped(self, options: Any) -> bool:
        """Return whether its consumers share a group."""
        ...


@runtime_checkable
class Subscribing(Protocol):
    """Optional power: consumers share a subscription, and acknowledge message by message."""

    def subscription(self, options: Any) -> str:
        """Return its type, of `chaoskit.history.schema.SUBSCRIPTION_TYPES`."""
        ...


Resend = Literal["never", "asked", "unconfirmed", "at-once"]
"""What producers send again by themselves, where the system's clients have sequence ids: what the system, asked for its
last sequence id, lacks; all that was not confirmed; each send at once, behind what was sent meanwhile."""


@runtime_checkable
class Resending(Protocol):
    """Optional power: producers send again what was not confirmed, with new clients."""

    def resends(self, options: Any) -> Resend:
        """Return what they send again."""
        ...

    def restarts(self, options: Any) -> bool:
        """Return whether they give up clients with sends under way."""
        ...
