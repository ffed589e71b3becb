"""Records what one client does: the only place that pairs an operation's invocation with its completion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from chaoskit.model.audit import Audit
from chaoskit.model.message import Delivery, DeliveryReports
from chaoskit.model.observations.row import Observation
from chaoskit.model.outcome import OK, Outcome
from chaoskit.model.progress import Progress


class Recorder(Protocol):
    """The recorder of a client, which its workload is given.

    A topic has two names: the workload's own in the history; in the system, that name prefixed with the namespace of
    the trial, so that trials on one deployment do not see each other's messages. Clients use the names in the system.
    """

    @property
    def run_id(self) -> int:
        """Identifies this run in every payload."""

    @property
    def progress(self) -> Progress:
        """What the client has done so far."""

    def in_system(self, name: str) -> str:
        """Return the name in the system of a topic, or of anything else that clients name."""
        ...

    def in_history(self, name: str) -> str:
        """Return the workload's own name for a name in the system."""
        ...

    def topic_id(self, topic: str) -> int:
        """Return the id of a topic, given its name in the system."""
        ...

    def key_id(self, key: bytes | None) -> int:
        """Return the id of a message's key; 0 if it has none."""
        ...

    def send(  # noqa: PLR0917 - one call for each message: a record would cost more than the rest
        self, topic_id: int, partition: int, key_id: int, value: int, intended_ns: int, sent_ns: int, f_code: int = 0
    ) -> int:
        """Record the invocation of a send and return its operation.

        Args:
            topic_id: see `topic_id`.
            partition: the partition.
            key_id: see `key_id`.
            value: the message's value.
            intended_ns: when it was due, CLOCK_MONOTONIC.
            sent_ns: when it was sent, CLOCK_MONOTONIC.
            f_code: index into `chaoskit.model.operation.SENDING`.

        Raises:
            HistoryFull: nothing was recorded, so the message must not be sent.
        """
        ...

    def burst_through(self, producer: DeliveryReports) -> Callable[..., None]:
        """Return a function that sends and records many messages at once, in C where it was compiled
        (`chaoskit.history.recording.lane.Lane.burst`); its first argument is given. What is sent so counts in `report`
        only."""
        ...

    def completed(
        self, op: int, outcome: Outcome, error: str | None, position: int | None, at_ns: int | None = None
    ) -> None:
        """Record the completion of a send; see `chaoskit.contract.clients.client.Completed`."""
        ...

    def invoke(self, f: str, at_ns: int | None = None) -> int:
        """Record the invocation of any other operation, now or at a given time, and return its number.

        Raises:
            HistoryFull: nothing was recorded, so the operation must not be executed.
        """
        ...

    def complete(self, op: int, outcome: Outcome = OK, error: str | None = None, at_ns: int | None = None) -> None:
        """Record the completion of an operation, now or at a given time."""
        ...

    def operation(self, f: str) -> AbstractContextManager[int]:
        """Record the enclosed block as an operation; its outcome is that of a raised `OperationFailed`, or ok."""
        ...

    def received(self, op: int, deliveries: Sequence[Delivery]) -> tuple[int, list[int]]:
        """Record the messages that an operation received, in order; return the time and their values."""
        ...

    def observe(self, op: int, topic: str, partition: int, observation: Observation) -> None:
        """Record what an operation learned or did. Names in the observation are names in the system. A plug-in may have
        records of its own."""
        ...

    def audited(self, topic: str, partition: int, audit: Audit) -> None:
        """Record the final read of a partition."""
        ...

    def report(self) -> Progress:
        """Return the progress so far, with the latency of the sends acknowledged since the last report."""
        ...
