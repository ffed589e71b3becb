"""A workload defines what clients do during a run. Each task runs in its own worker process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypedDict, TypeVar, runtime_checkable

from pydantic import BaseModel

from chaoskit.contract.clients.recorder import Recorder
from chaoskit.contract.power import Powered
from chaoskit.contract.workloads.topic import Topic
from chaoskit.model.operation import AUDITOR
from chaoskit.model.progress import Progress

PRODUCER, CONSUMER, OBSERVER = "producer", "consumer", "observer"

DRAINER = "drainer"
"""The role of the client that sends an application its last inputs, and ends when all that it reads was delivered. It
begins after the load, where an application must end before the final read."""

Options = TypeVar("Options", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Task:
    """One client of a workload: its role, its index among the clients of that role, and how often it was
    restarted after a crash."""

    role: str
    index: int
    incarnation: int = 0

    @property
    def client(self) -> str:
        """The client's name in the history; after a restart, with the incarnation as suffix."""
        name = self.role if self.role == AUDITOR else f"{self.role}-{self.index}"
        return f"{name}#{self.incarnation}" if self.incarnation else name


class ClientReport(TypedDict, total=False):
    """What a client reports to the harness besides its progress; each key is reported once it is known.

    Attributes:
        accepted: of the auditor, or of the drainer: whether every partition accepted its probe.
        audited: of the auditor, at its end: whether it read everything.
        why: why it did not; of another client: why it is in doubt what it read.
        failed: why another client can never work again, and stays idle.
        probed: of members of a group, and of the auditor: the partitions, as `topic/number`, of which they have
            received the auditor's probe. The group must receive each that the auditor has received, or at least go on
            receiving messages of the partition.
        received: of the same: how many messages of each.
        owned: of an observer: how many partitions have an owner.
        held: of an observer: how many messages the application has now, and has not settled.
        doubt: of an observer: what it did not see.
        serves: of a client that serves something on this machine: the port and the path, such as `8080/pay`, by topic.
        drained: of the auditor: whether the application worked on the last inputs within the bound.
    """

    accepted: bool
    audited: bool
    why: str
    failed: str
    probed: list[str]
    received: dict[str, int]
    owned: int
    held: int
    doubt: str
    serves: dict[str, str]
    drained: bool


class Control(Protocol):
    """The worker's link to the harness."""

    @property
    def stopping(self) -> bool:
        """Whether the harness asked the client to stop, or has died. Ask between two operations: while the client is
        told to hang (fault `client-hang`), it does not return."""
        ...

    @property
    def paused(self) -> bool:
        """Whether the harness asked a consumer to receive nothing for the time being."""
        ...

    def wait_start(self, meanwhile: Callable[[], object] | None = None) -> int:
        """Report that this client is connected; return the common start time, CLOCK_MONOTONIC ns.

        Until then `meanwhile` is called several times a second: a system may give up a client that says nothing.
        """
        ...

    def report(self, progress: Progress) -> None:
        """Report progress to the harness, a few times per second."""
        ...

    def result(self, result: ClientReport) -> None:
        """Report results to the harness; later calls add to earlier ones."""
        ...


@dataclass(frozen=True, slots=True)
class Job(Generic[Options]):
    """Everything that a task needs in its worker process.

    Attributes:
        task: the task.
        options: the workload's validated options.
        clients: the system's clients.
        recorder: records everything that the task does.
        control: the link to the harness.
        bound_ns: time limit for the auditor's probes.
        application_hosts: addresses of the hosts of the application's instances.
        logs: the folder of what the application's instances print.
        database: URL of the database that runs beside the application; empty: there is none.
        database_host: name of its host.
    """

    task: Task
    options: Options
    clients: Powered
    recorder: Recorder
    control: Control
    bound_ns: int
    application_hosts: tuple[str, ...] = ()
    logs: Path = Path()
    database: str = ""
    database_host: str = ""


class Workload(Protocol):
    """A kind of load (entry point group `chaoskit.workloads`).

    Attributes:
        options: model of its own keys under `workload:`.
        client_powers: powers that the system's clients must have.
    """

    @property
    def options(self) -> type[BaseModel]: ...
    @property
    def client_powers(self) -> tuple[type, ...]: ...

    def topics(self, options: Any, brokers: int) -> list[Topic]:
        """Return the topics to create before the start, for this number of brokers, under the workload's own names."""
        ...

    def tasks(self, options: Any) -> list[Task]:
        """Return the producers and consumers."""
        ...

    def client_settings(self, options: Any, role: str) -> Mapping[str, Any]:
        """Return the client settings, in the system's own terms, for a role."""
        ...

    def traits(self, options: Any) -> tuple[object, ...]:
        """Return what guarantees need to know about it; see `chaoskit.contract.workloads.traits`."""
        ...

    def run(self, job: Job[Any]) -> None:
        """Run one client. Producers and consumers run until `control.stopping`. The auditor sends one probe to every
        partition, then reads everything up to the end that the system reports, or drains it."""
        ...


@runtime_checkable
class SideTopics(Protocol):
    """Optional power of a workload: its clients need topics besides those of the load. They are created with these, and
    are no part of the history."""

    def side_topics(self, options: Any) -> list[Topic]:
        """Return them, under the workload's own names."""
        ...


@runtime_checkable
class Checking(Protocol):
    """Optional power of a workload: it uses something of the user's that may be out of order, such as a database."""

    def check(self, options: Any) -> None:
        """Reject that before anything is started.

        Raises:
            BadInput: names the key and the remedy.
        """
        ...


@runtime_checkable
class Exemplary(Protocol):
    """Optional power of a workload: some of its keys have no default.

    Attributes:
        example: keys with which it runs.
    """

    @property
    def example(self) -> Mapping[str, Any]: ...


@runtime_checkable
class Alternating(Protocol):
    """Optional power of a workload: what it needs of the system's clients depends on its options.

    Attributes:
        others: further keys with which it runs, on systems with other powers.
    """

    @property
    def others(self) -> Sequence[Mapping[str, Any]]: ...

    def powers(self, options: Any) -> tuple[type, ...]:
        """Return the powers that the system's clients must have besides `client_powers`."""
        ...


def example_options(workload: Workload) -> Any:
    """Return validated options with which a workload runs: its defaults, or its example."""
    return workload.options.model_validate(workload.example if isinstance(workload, Exemplary) else {})


def powers_needed(workload: Workload, options: Any) -> tuple[type, ...]:
    """Return all powers that the system's clients must have for a workload with these options."""
    return (*workload.client_powers, *(workload.powers(options) if isinstance(workload, Alternating) else ()))


@runtime_checkable
class Measuring(Protocol):
    """Optional power of a workload: it measures systems beside each other; its options have `message_size`, bytes.

    Attributes:
        measures: `round trips`: the latency of a send is that of a round trip; or `throughput`: what was received in
            the time of the load is what the system could do.
    """

    @property
    def measures(self) -> Literal["round trips", "throughput"]: ...
