"""A workload is what clients do during a run. Each task runs in a worker process of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from pydantic import BaseModel

from chaoskit.contract.power import Powered
from chaoskit.contract.topic import Topic
from chaoskit.history.recorder import Progress, Recorder
from chaoskit.history.schema import AUDITOR

PRODUCER, CONSUMER = "producer", "consumer"

Options = TypeVar("Options", bound=BaseModel)


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


class Control(Protocol):
    """The worker's link to the harness."""

    @property
    def stopping(self) -> bool:
        """Whether the harness asked for the end, or is gone."""
        ...

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
class Job(Generic[Options]):
    """All that a task gets in its worker process.

    Attributes:
        task: which one it is.
        options: of the workload, validated.
        clients: of the system.
        recorder: of everything that it does.
        control: its link to the harness.
        bound_ns: how long the auditor's probes may take.
    """

    task: Task
    options: Options
    clients: Powered
    recorder: Recorder
    control: Control
    bound_ns: int


class Workload(Protocol):
    """A kind of load (entry point group `chaoskit.workloads`).

    Attributes:
        options: model of its further keys under `workload:`.
        client_powers: that the system's clients must have.
    """

    options: type[BaseModel]
    client_powers: tuple[type, ...]

    def topics(self, options: Any, brokers: int) -> list[Topic]:
        """Return the topics to create before the start, on this many brokers, by the workload's own names."""
        ...

    def tasks(self, options: Any) -> list[Task]:
        """Return the producers and consumers."""
        ...

    def client_settings(self, options: Any, role: str) -> Mapping[str, Any]:
        """Return the system's own settings for clients of a role."""
        ...

    def traits(self, options: Any) -> tuple[object, ...]:
        """Return what guarantees must know of it; see `chaoskit.contract.traits`."""
        ...

    def run(self, job: Job[Any]) -> None:
        """Be one client: until `control.stopping` for producers and consumers; for the auditor,
        send one probe to every partition, then read everything to the end that the system reports, or drain it."""
        ...
