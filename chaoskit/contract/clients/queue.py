"""Queues: how workloads publish to them and consume from them; see `chaoskit.contract.clients.client`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from chaoskit.contract.clients.client import Completed, Producer, Settlement, Unreachable
from chaoskit.model.message import Delivery
from chaoskit.model.outcome import Outcome


class QueueFeature(StrEnum):
    """What queues of a system may be able to do, by the keys of a workload that ask for it.

    `CONFIRMS`: tell a producer that a message is kept, or not to. `DURABILITY`: keep messages in memory only.
    `RETURNS`: give a message back that no queue takes. `PRIORITIES`: deliver messages of higher priority first.
    `EXPIRY`: delete messages after a time. `DELAY`: deliver messages after a time. `LENGTH`: keep a limited number.
    `PREFETCH`: limit the unsettled deliveries of a consumer. `MULTIPLE`: settle several deliveries at once. `REFUSAL`:
    take messages back, or delete them, as a consumer asks. `DELIVERY_LIMIT`: limit the returns of a message.
    `DEAD_LETTERS`: move what is dropped to another queue. `SINGLE_ACTIVE`: deliver to one consumer at a time.
    """

    CONFIRMS = "confirms"
    DURABILITY = "durability"
    RETURNS = "returns"
    PRIORITIES = "priorities"
    EXPIRY = "expiry"
    DELAY = "delay"
    LENGTH = "length"
    PREFETCH = "prefetch"
    MULTIPLE = "multiple"
    REFUSAL = "refusal"
    DELIVERY_LIMIT = "delivery-limit"
    DEAD_LETTERS = "dead-letters"
    SINGLE_ACTIVE = "single-active"


@dataclass(frozen=True, slots=True)
class Publishing:
    """How messages are published to queues.

    Attributes:
        confirms: whether a send completes when the system confirms it; otherwise when it was written.
        persistent: whether messages are to survive a restart.
        mandatory: whether a message that no queue takes is returned; its send has then failed.
        ttl_ms: how long each message lives, in ms; None: for ever.
    """

    confirms: bool = True
    persistent: bool = True
    mandatory: bool = True
    ttl_ms: int | None = None


class Publisher(Producer, Protocol):
    """Publishes messages to queues."""

    def publish(self, topic: str, payload: bytes, token: int, priority: int | None) -> bool:
        """Publish one message with a priority, or none, like `send`."""
        ...


class Death(NamedTuple):
    """Why a message is in a queue of dead letters, as the system tells.

    Attributes:
        reason: such as `rejected` or `expired`.
        queue: the queue that it was in before, by its name in the system.
        times: how often that happened.
    """

    reason: str
    queue: str
    times: int


class Arrival(NamedTuple):
    """A delivery of a queue.

    Attributes:
        delivery: the message.
        tag: identifies the delivery when it is settled.
        death: why it was dead-lettered, if it was.
        headers: what the message has besides its payload, by name.
    """

    delivery: Delivery
    tag: int
    death: Death | None = None
    headers: Mapping[str, bytes] = MappingProxyType({})


class ConsumerChange(NamedTuple):
    """Whether a consumer receives from a queue: the system `cancelled` that, or it is `subscribed` again."""

    kind: Literal["cancelled", "subscribed"]
    queue: str


class NoQueue(Unreachable):
    """The system that was asked has no such queue."""


class QueueConsumer(Protocol):
    """Receives messages of queues; each message stays with it until it is settled, or the connection ends."""

    def consume(self, queues: Sequence[str]) -> None:
        """Begin to receive from these queues; after a lost connection, `poll` connects again."""
        ...

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Arrival], str | None]:
        """Return deliveries in order of arrival, and an error to record, if any: `NOT_CONNECTED`
        (`chaoskit.model.outcome`) if it had no connection and could make none."""
        ...

    def settle(self, tags: Sequence[int], how: Settlement) -> tuple[Outcome, str | None]:
        """Settle deliveries; return the outcome code and the error.

        `FAIL`: the connection that they came on was gone before, and the system will deliver them again. `INFO`: it
        ended meanwhile.
        """
        ...

    def changes(self) -> Sequence[ConsumerChange]:
        """Return from which queues it no longer receives, because the system ended that without being asked, or
        receives again, since the last call. It subscribes again by itself as soon as the system lets it."""
        ...

    def left(self, queue: str) -> tuple[int, int]:
        """Return the number of messages that are ready in a queue, and of its consumers, as the system reports.

        Raises:
            NoQueue: the system says that it has no such queue.
            Unreachable: the system cannot be asked at the moment.
        """
        ...

    def close(self, *, abruptly: bool = False) -> None:
        """Disconnect; if `abruptly`, without a word."""
        ...


@runtime_checkable
class QueueClients(Protocol):
    """Optional power of a system's clients: publishers to, and consumers of, queues. A queue is a topic with the one
    partition 0."""

    def publisher(
        self, settings: Mapping[str, Any], index: int, completed: Completed, publishing: Publishing
    ) -> Publisher:
        """Connect a publisher.

        Args:
            settings: the system's own, by name.
            index: number of the client; clients with successive numbers connect to successive nodes.
            completed: called once per send.
            publishing: how it publishes.
        """
        ...

    def queue_consumer(self, settings: Mapping[str, Any], index: int, prefetch: int) -> QueueConsumer:
        """Connect a consumer, like a publisher.

        Args:
            settings: the system's own, by name.
            index: number of the client.
            prefetch: number of unsettled deliveries at which the system stops delivering to it; 0: none.
        """
        ...
