"""Clients: how workloads access a system, and how each completion is classified.

`ok`: it happened. `fail`: it definitely did not happen. `info`: the outcome is unknown; use it when in
doubt. Each classification carries the client library's error as its reason. Topics have their names in
the system.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from chaoskit.base.errors import ChaoskitError
from chaoskit.model.message import Delivery, DeliveryReports
from chaoskit.model.outcome import Outcome
from chaoskit.model.place import Place

Settlement = Literal["ack", "ack-cumulative", "nack", "reject"]
"""What a consumer does with a delivery: `nack` asks for redelivery, `reject` does not."""


class Completed(Protocol):
    """Called once per send: token, outcome code, error, position (None if not reported), and CLOCK_MONOTONIC, ns, if it
    completed earlier than now."""

    def __call__(
        self, token: int, outcome: Outcome, error: str | None, position: int | None, at_ns: int | None = None, /
    ) -> None: ...


class PositionLost(NamedTuple):
    """A consumer's position no longer exists in the system; the consumer must seek to continue."""

    topic: str
    partition: int
    error: str


Reached = list[tuple[str, int, int]]
"""For each partition: topic, number, next position to read."""


class Membership(Protocol):
    """Callbacks of a consumer, during `poll` and `close`, for partitions that its group assigns and revokes."""

    def assigned(self, group: str, generation: int | None, partitions: Sequence[tuple[str, int]]) -> None:
        """Called with all partitions owned from now on; `generation` is None if the system does not report one."""
        ...

    def revoked(self) -> None:
        """Called before all partitions are revoked; the consumer may still commit."""
        ...


class Producer(Protocol):
    """Sends messages asynchronously; completions are reported during `poll` and `close`."""

    def send(self, topic: str, partition: int, key: bytes | None, payload: bytes, token: int) -> bool:
        """Enqueue one message; return False, without enqueueing it, if the client's queue is full."""
        ...

    def pending(self) -> int:
        """Return the number of sends in flight."""
        ...

    def poll(self, timeout_s: float) -> None:
        """Wait up to `timeout_s` for completions and report them."""
        ...

    def close(self, timeout_s: float) -> None:
        """Wait for all completions; report the remaining sends as never sent or as unknown."""
        ...


@runtime_checkable
class Bursting(Producer, DeliveryReports, Protocol):
    """A producer that can send bursts; see `chaoskit.model.message.DeliveryReports`.

    Attributes:
        tells_positions: whether positions are true, as they are not without acknowledgements.
    """

    @property
    def tells_positions(self) -> bool: ...


@runtime_checkable
class PartitionCounting(Protocol):
    """Optional power of a producer, and of an auditor: tell how many partitions topics have now."""

    def partition_count(self, topics: Sequence[str], timeout_s: float) -> int | None:
        """Return how many partitions each of these topics has, at least; None if nobody tells in time."""
        ...


@runtime_checkable
class Rerouting(Producer, PartitionCounting, Protocol):
    """A producer whose client asks again and again how many partitions topics have, and chooses from all of them.

    Attributes:
        asks_every_s: how often its client asks, s; infinite if never.
    """

    @property
    def asks_every_s(self) -> float: ...


@runtime_checkable
class DeletingProducer(Producer, Protocol):
    """A producer that can also delete keys."""

    def delete(self, topic: str, partition: int, key: bytes, payload: bytes, token: int) -> bool:
        """Enqueue a message without content, which deletes its key; otherwise like `send`.

        Consumers receive `payload` all the same: it is carried beside the content.
        """
        ...


class ProducerFenced(ChaoskitError):
    """A transactional producer failed permanently: another one registered under its name, or the system reported a
    fatal error."""


class TransactionalProducer(Producer, Protocol):
    """Sends messages in transactions, one transaction at a time, under a persistent name."""

    def register(self, timeout_s: float) -> str | None:
        """Register under the name, which fences all other producers of that name; return an error, if any.

        Raises:
            ProducerFenced: the producer failed permanently.
        """
        ...

    def begin(self) -> None:
        """Begin a transaction; subsequent sends belong to it.

        Raises:
            ProducerFenced: the producer failed permanently.
        """
        ...

    def commit(self, timeout_s: float) -> tuple[Outcome, str | None]:
        """Wait for all sends and commit; return the outcome code (`FAIL` if it was aborted) and the error."""
        ...

    def abort(self, timeout_s: float) -> str | None:
        """Abort the transaction; return an error, if any. Even then, the transaction does not commit."""
        ...


class Unreachable(ChaoskitError):
    """The system cannot be reached at the moment; the request may be retried."""


class SequencedProducer(Producer, Protocol):
    """Sends messages under a persistent name, with sequence ids that the system uses for deduplication."""

    def send_as(  # noqa: PLR0917 - as `Producer.send`, which it stands for
        self, topic: str, partition: int, key: bytes | None, payload: bytes, token: int, sequence: int
    ) -> bool:
        """Enqueue one message, like `send`. Sequence ids of one name and partition ascend from 1; a message that is
        sent again keeps its sequence id."""
        ...

    def last_sequence(self, topic: str, partition: int) -> int:
        """Return the highest sequence id that the system had for this name when the client connected; below 1: none.

        Raises:
            Unreachable: the system cannot be asked at the moment.
        """
        ...

    def abandon(self) -> None:
        """Disconnect immediately, as in a crash; sends in flight are reported as unknown."""
        ...


class Consumer(Protocol):
    """Receives messages of assigned partitions. It may join a group (`GroupConsumer`), or pause (`Pausing`)."""

    def assign(self, partitions: Sequence[tuple[str, int]]) -> None:
        """Read these partitions from the beginning."""
        ...

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Delivery], list[PositionLost], str | None]:
        """Return deliveries in order of arrival, lost positions, and an error to record, if any."""
        ...

    def seek_to_beginning(self, topic: str, partition: int) -> None:
        """Continue from the first position that still exists in the system."""
        ...

    def close(self) -> None:
        """Leave the group and disconnect."""
        ...


@runtime_checkable
class GroupConsumer(Consumer, Protocol):
    """Optional power of a consumer: join a group, which assigns the partitions, and commit its positions."""

    def subscribe(self, topics: Sequence[str], membership: Membership) -> None:
        """Join the group; each rebalance is reported to `membership`."""
        ...

    def reached(self) -> Reached:
        """Return the positions of the owned partitions after what earlier calls of `poll` returned; empty if there is
        nothing to commit, or the client commits automatically."""
        ...

    def commit(self, reached: Reached) -> tuple[Outcome, str | None]:
        """Commit these positions and wait for the result; return the outcome code and the error."""
        ...


@runtime_checkable
class Pausing(Protocol):
    """Optional power of a consumer: receive nothing for a while."""

    def hold(self, *, paused: bool) -> None:
        """Have `poll` return nothing, or go on after that; a member of a group remains one."""
        ...


class SeekingConsumer(Consumer, Protocol):
    """A consumer that reads again from a place that it chooses."""

    def seek_to_time(self, place: Place, at_ms: int) -> str | None:
        """Continue a partition at its first message of this time (UNIX, ms) or later, as the system knows it; return an
        error, if any, after which it may have moved."""
        ...

    def seek_to(self, place: Place, position: int) -> str | None:
        """Continue a partition at a position; return an error, as `seek_to_time` does."""
        ...


class Subscriber(Protocol):
    """One consumer of a subscription with per-message acknowledgement."""

    def join(self, partitions: Sequence[tuple[str, int]]) -> None:
        """Subscribe, from the beginning of the partitions if the subscription is new; `poll` connects."""
        ...

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Delivery], list[PositionLost], str | None]:
        """Return what was delivered; see `Consumer.poll`."""
        ...

    def settle(self, deliveries: Sequence[Delivery], how: Settlement) -> tuple[Outcome, str | None]:
        """Acknowledge deliveries, or request redelivery; return the outcome code and the error.

        `ack-cumulative` acknowledges everything up to each delivery.
        """
        ...

    def close(self, *, abruptly: bool = False) -> None:
        """Disconnect; if `abruptly`, without waiting for anything."""
        ...


class Auditor(Consumer, Protocol):
    """A consumer that also knows the bounds of each partition and its own position."""

    def bounds(self, topic: str, partition: int, timeout_s: float) -> tuple[int, int]:
        """Return the first readable position and the end position (one past the last readable)."""
        ...

    def position(self, topic: str, partition: int) -> int:
        """Return the next position to read."""
        ...


class Gap(NamedTuple):
    """Positions that the system itself says it cannot read.

    Attributes:
        first: the first of them, the next position to read.
        until: the next position that can be read, or the end.
        error: what the system said.
    """

    first: int
    until: int
    error: str


@runtime_checkable
class GapReader(Protocol):
    """Optional power of an auditor: ask why reading does not go on, and go on behind what cannot be read."""

    def gap(self, topic: str, partition: int, end: int, timeout_s: float) -> Gap | None:
        """Return the gap at the next position to read, at most up to `end`; None if the system does not say that it
        cannot read there, or says nothing in time."""
        ...

    def pass_gap(self, topic: str, partition: int, until: int) -> None:
        """Continue at a position."""
        ...


@runtime_checkable
class TieredReader(Protocol):
    """Optional power of an auditor: tell what brokers have themselves of a log that begins in an object store."""

    def local_start(self, topic: str, partition: int, timeout_s: float) -> int | None:
        """Return the first position that the brokers have themselves; None if they do not tell in time."""
        ...


@runtime_checkable
class LogClients(Protocol):
    """Optional power of a system's clients: producers, consumers and readers of logs."""

    def producer(self, settings: Mapping[str, Any], completed: Completed) -> Producer:
        """Connect a producer; `settings` are the system's own, by name."""
        ...

    def consumer(self, settings: Mapping[str, Any], group: int = 0) -> Consumer:
        """Connect a consumer, which may join the `group` with this number; `settings` are the system's own, by name."""
        ...

    def prober(self, settings: Mapping[str, Any], completed: Completed) -> Producer:
        """Connect a producer like one with these settings, but whose acknowledgements mean that a message is kept:
        all replicas that must have it do."""
        ...

    def auditor(self, settings: Mapping[str, Any]) -> Auditor:
        """Connect the reader of the final read, with the same visibility as consumers with these settings."""
        ...


@runtime_checkable
class SeekingClients(Protocol):
    """Optional power of a system's clients: consumers that read again from a time or a position."""

    def seeking_consumer(self, settings: Mapping[str, Any], group: int = 0) -> SeekingConsumer:
        """Connect a consumer, as `LogClients.consumer`."""
        ...


@runtime_checkable
class DeletingClients(Protocol):
    """Optional power of a system's clients: producers that delete the key of a compacted log."""

    def deleting_producer(self, settings: Mapping[str, Any], completed: Completed) -> DeletingProducer:
        """Connect a producer, as `LogClients.producer`."""
        ...


@runtime_checkable
class TransactionalClients(Protocol):
    """Optional power of a system's clients: transactions."""

    def transactional_producer(
        self, settings: Mapping[str, Any], name: str, completed: Completed
    ) -> TransactionalProducer:
        """Connect a producer that registers under `name`, unless the settings specify another name."""
        ...


@runtime_checkable
class SequencedClients(Protocol):
    """Optional power of a system's clients: producers with persistent names and sequence ids."""

    def sequenced_producer(self, settings: Mapping[str, Any], name: str, completed: Completed) -> SequencedProducer:
        """Connect a producer called `name`, unless the settings specify another name."""
        ...


@runtime_checkable
class SubscribingClients(Protocol):
    """Optional power of a system's clients: subscriptions."""

    def subscriber(self, settings: Mapping[str, Any], kind: str) -> Subscriber:
        """Connect a consumer of the workload's subscription; `kind` is one of `SUBSCRIPTION_TYPES`."""
        ...
