"""Clients: how workloads speak to a system, and how every completion is classified.

`ok` it happened; `fail` it certainly did not; `info` nobody knows. When in doubt, `info`. Each
classification names the client library's error as its reason. Topics are named as in the system.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from chaoskit.base.errors import ChaoskitError
from chaoskit.history.recorder import Delivery

Settlement = Literal["ack", "ack-cumulative", "nack"]
"""What a consumer of a subscription does with what it was given."""

Completed = Callable[[int, int, str | None, int | None], None]
"""Called once for each send: token, outcome code, error, position (None when not told)."""


class PositionLost(NamedTuple):
    """The system no longer has the position that a consumer was at; it must seek to go on."""

    topic: str
    partition: int
    error: str


class Commit(NamedTuple):
    """What a group's commit came to: (topic, partition, next position to be read) of each partition, outcome
    code, error."""

    positions: list[tuple[str, int, int]]
    outcome: int
    error: str | None


class Membership(Protocol):
    """Told by a consumer, during `poll` and `close`, of what its group gives it and takes away."""

    def assigned(self, group: str, generation: int | None, partitions: Sequence[tuple[str, int]]) -> None:
        """All partitions that it owns from now on; no generation where the system does not tell one."""
        ...

    def revoked(self) -> None:
        """It is about to lose all partitions; it may still commit."""
        ...


class Producer(Protocol):
    """Sends messages asynchronously; completions arrive during `poll` and `flush`."""

    def send(self, topic: str, partition: int, key: bytes | None, payload: bytes, token: int) -> bool:
        """Hand over one message; False, with nothing handed over, when the client's queue is full."""
        ...

    def pending(self) -> int:
        """Return how many sends have not completed."""
        ...

    def poll(self, timeout_s: float) -> None:
        """Wait for completions, at most this long, and report them."""
        ...

    def close(self, timeout_s: float) -> None:
        """Wait for all completions, then report the rest as what they are: never sent, or unknown."""
        ...


class ProducerFenced(ChaoskitError):
    """A transactional producer has failed for good: another one registered under its name, or the system says that
    it can never go on."""


class TransactionalProducer(Producer, Protocol):
    """Sends messages in transactions, one at a time, under a lasting name."""

    def register(self, timeout_s: float) -> str | None:
        """Register under the name, which fences all others that have it; return why it could not be done.

        Raises:
            ProducerFenced: it can never be done.
        """
        ...

    def begin(self) -> None:
        """Begin a transaction: what is sent from now on belongs to it.

        Raises:
            ProducerFenced: it can never be done.
        """
        ...

    def commit(self, timeout_s: float) -> tuple[int, str | None]:
        """Wait for all sends and commit; return the outcome code and the error: `FAIL` if it was aborted instead."""
        ...

    def abort(self, timeout_s: float) -> str | None:
        """Give up what was sent; return an error, if any. The transaction does not commit in any case."""
        ...


class Unreachable(ChaoskitError):
    """The system could not be asked now; it may be tried again."""


class SequencedProducer(Producer, Protocol):
    """Sends messages under a lasting name, with sequence ids by which the system knows what it has already."""

    def send_as(  # noqa: PLR0917 - as `Producer.send`, which it stands for
        self, topic: str, partition: int, key: bytes | None, payload: bytes, token: int, sequence: int
    ) -> bool:
        """Hand over one message as `send` does. Of one name and partition, sequences ascend from 1 on; a message that
        is sent again keeps its own."""
        ...

    def last_sequence(self, topic: str, partition: int) -> int:
        """Return the highest sequence that the system had of this name when the client connected; none: below 1.

        Raises:
            Unreachable: it cannot be told now.
        """
        ...

    def abandon(self) -> None:
        """Disconnect at once, as a crash does; what had not completed is reported as unknown."""
        ...


class Consumer(Protocol):
    """Receives messages of assigned partitions or of a group."""

    def assign(self, partitions: Sequence[tuple[str, int]]) -> None:
        """Read these partitions from their beginning."""
        ...

    def subscribe(self, topics: Sequence[str], membership: Membership) -> None:
        """Join the group; `membership` is told of each rebalance."""
        ...

    def commit(self) -> Commit | None:
        """Commit the group's positions of the owned partitions, and wait for it; None if there is nothing to
        commit, or the client commits by itself."""
        ...

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Delivery], list[PositionLost], str | None]:
        """Return what arrived in order, lost positions, and an error to be recorded, if any."""
        ...

    def seek_to_beginning(self, topic: str, partition: int) -> None:
        """Go on from the first position that the system still has."""
        ...

    def close(self) -> None:
        """Leave the group and disconnect."""
        ...


class Subscriber(Protocol):
    """One consumer of a subscription, whose consumers are given messages and acknowledge each."""

    def join(self, partitions: Sequence[tuple[str, int]]) -> None:
        """Subscribe, from the partitions' beginning if the subscription is new; `poll` connects."""
        ...

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Delivery], list[PositionLost], str | None]:
        """Return what it was given; as `Consumer.poll`."""
        ...

    def settle(self, deliveries: Sequence[Delivery], how: Settlement) -> tuple[int, str | None]:
        """Acknowledge what it was given, or ask for it to be delivered again; return the outcome code and the error.

        `ack-cumulative` acknowledges everything up to each of them.
        """
        ...

    def close(self, *, abruptly: bool = False) -> None:
        """Disconnect; abruptly: without waiting for anything."""
        ...


class Auditor(Consumer, Protocol):
    """A consumer that also knows where each partition ends and how far it has come."""

    def bounds(self, topic: str, partition: int, timeout_s: float) -> tuple[int, int]:
        """Return the first readable position and the end position (one past the last readable)."""
        ...

    def position(self, topic: str, partition: int) -> int:
        """Return the next position to be read."""
        ...


@runtime_checkable
class LogClients(Protocol):
    """Optional power of a system's clients: producers, consumers and readers of logs."""

    def producer(self, settings: Mapping[str, Any], completed: Completed) -> Producer:
        """Connect a producer with the system's own settings by name."""
        ...

    def consumer(self, settings: Mapping[str, Any]) -> Consumer:
        """Connect a consumer with the system's own settings by name."""
        ...

    def auditor(self, settings: Mapping[str, Any]) -> Auditor:
        """Connect the reader of the final read, which is to see what consumers with these settings may see."""
        ...


@runtime_checkable
class TransactionalClients(Protocol):
    """Optional power of a system's clients: transactions."""

    def transactional_producer(
        self, settings: Mapping[str, Any], name: str, completed: Completed
    ) -> TransactionalProducer:
        """Connect a producer that will register under `name`, unless the settings name it otherwise."""
        ...


@runtime_checkable
class SequencedClients(Protocol):
    """Optional power of a system's clients: producers with lasting names and sequence ids."""

    def sequenced_producer(self, settings: Mapping[str, Any], name: str, completed: Completed) -> SequencedProducer:
        """Connect a producer called `name`, unless the settings name it otherwise."""
        ...


@runtime_checkable
class SubscribingClients(Protocol):
    """Optional power of a system's clients: subscriptions."""

    def subscriber(self, settings: Mapping[str, Any], kind: str) -> Subscriber:
        """Connect a consumer of the workload's subscription, of a type of `chaoskit.history.schema`."""
        ...
