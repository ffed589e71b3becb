"""The options of the queue workload."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from chaoskit.base.quantities import MILLISECOND, SECOND, Duration
from chaoskit.contract.clients.queue import QueueFeature
from chaoskit.contract.workloads.topic import DEAD
from chaoskit.load.options import LoadOptions, Rate
from chaoskit.model.place import Place

NOWHERE = "nowhere"
"""The routing key that no queue is bound to."""


_CHOICES = ("confirms", "persistent")
"""Keys that ask for something where they are false."""

_FEATURES = {
    "confirms": QueueFeature.CONFIRMS,
    "persistent": QueueFeature.DURABILITY,
    "mandatory": QueueFeature.RETURNS,
    "unrouted_every": QueueFeature.RETURNS,
    "priorities": QueueFeature.PRIORITIES,
    "ttl": QueueFeature.EXPIRY,
    "message_ttl": QueueFeature.EXPIRY,
    "delay": QueueFeature.DELAY,
    "max_length": QueueFeature.LENGTH,
    "prefetch": QueueFeature.PREFETCH,
    "settle": QueueFeature.MULTIPLE,
    "nack_every": QueueFeature.REFUSAL,
    "return_every": QueueFeature.REFUSAL,
    "reject_every": QueueFeature.REFUSAL,
    "delivery_limit": QueueFeature.DELIVERY_LIMIT,
    "dead_letters": QueueFeature.DEAD_LETTERS,
    "single_active": QueueFeature.SINGLE_ACTIVE,
}


class QueueOptions(LoadOptions):
    """The options of this workload, in addition to those of every load; each consumer consumes all queues.

    Attributes:
        type: the system's own type of the queues, such as `quorum`; default: the first that it has.
        queues: number of queues, named `queue-0`, `queue-1`, ...; producers send to them in turn.
        replication: members of each replicated queue; default: 3, limited by the number of nodes.
        exchange: the system's own way of routing messages to the queues; `default`: directly.
        confirms: whether producers wait for confirms; otherwise a send counts as acknowledged once it was written.
        mandatory: whether a message that no queue takes is returned to its producer; requires `confirms`.
        unrouted_every: each producer sends every Nth message to a routing key that no queue is bound to; 0: none.
        persistent: whether messages are persistent.
        priorities: number of priorities; the messages of each producer have them in turn; 0: none.
        ttl: how long messages live in their queue; default: for ever.
        message_ttl: the same, told with each message.
        delay: messages wait this long in another queue, from which they are dead-lettered to their own.
        max_length: number of messages that a queue keeps; the oldest are dropped.
        prefetch: number of unsettled deliveries at which a consumer gets no more; 0: no limit.
        settle: whether consumers acknowledge `each` message, or `multiple` ones at once.
        nack_every: each consumer refuses every Nth message of each producer, once, so that it is requeued; 0: none.
        return_every: each consumer refuses every Nth message of each producer, always; 0: none.
        reject_every: each consumer rejects every Nth message of each producer, which drops or dead-letters it; 0: none.
        leave_every: each consumer leaves every Nth message of each producer unsettled until it exits; 0: none.
        delivery_limit: number of returns at which a message is dropped, or dead-lettered.
        dead_letters: whether messages that are dropped go to a queue of dead letters.
        dead_consumers: number of further consumer processes, for dead letters.
        single_active: whether only one consumer of a queue is active at a time.
        crash_every: how long a consumer runs before it exits abruptly and another one replaces it; default: forever.
        drain: how long nothing must arrive before the final read believes that a queue is empty; longer than the
            system keeps connections of clients that are gone.
    """

    rate: Rate = 1000
    in_flight: int = Field(default=1000, ge=1)
    type: str = ""
    queues: int = Field(default=1, ge=1, le=1000)
    replication: int | None = Field(default=None, ge=1)
    exchange: str = "default"
    confirms: bool = True
    mandatory: bool = True
    unrouted_every: int = Field(default=0, ge=0)
    persistent: bool = True
    priorities: int = Field(default=0, ge=0, le=32)
    ttl: Duration | None = Field(default=None, ge=MILLISECOND)
    message_ttl: Duration | None = Field(default=None, ge=MILLISECOND)
    delay: Duration | None = Field(default=None, ge=MILLISECOND)
    max_length: int | None = Field(default=None, ge=1)
    prefetch: int = Field(default=100, ge=0, le=65_535)
    settle: Literal["each", "multiple"] = "each"
    nack_every: int = Field(default=0, ge=0)
    return_every: int = Field(default=0, ge=0)
    reject_every: int = Field(default=0, ge=0)
    leave_every: int = Field(default=0, ge=0)
    delivery_limit: int | None = Field(default=None, ge=1)
    dead_letters: bool = False
    dead_consumers: int = Field(default=0, ge=0, lt=2**10)
    single_active: bool = False
    crash_every: Duration | None = Field(default=None, ge=100 * MILLISECOND)
    drain: Duration = Field(default=3 * SECOND, le=60 * SECOND)

    @model_validator(mode="after")
    def _what_needs_what(self) -> Self:
        if self.dead_consumers and not self.dead_letters:
            raise ValueError("dead_consumers requires dead_letters: true")
        if self.settle == "multiple" and self.leave_every:
            raise ValueError("settle: multiple acknowledges what leave_every leaves; remove one of them")
        if self.return_every and self.delivery_limit is None:
            raise ValueError("return_every returns messages forever; set delivery_limit")
        if self.delay is not None and self.exchange != "default":
            raise ValueError("delay requires exchange: default")
        return self

    @property
    def lives_ns(self) -> int | None:
        """How long messages live in their queue; None: for ever."""
        return min((given for given in (self.ttl, self.message_ttl) if given is not None), default=None)

    @property
    def idle_ns(self) -> int:
        """How long nothing must arrive before a queue can be empty: as `drain`, after what still waits has come."""
        return self.drain + (self.delay or 0) + ((self.lives_ns or 0) if self.dead_letters else 0)

    @property
    def unsettles(self) -> bool:
        """Whether consumers leave messages unsettled, or refuse some."""
        return bool(self.nack_every or self.return_every or self.reject_every or self.leave_every)

    def features(self) -> list[tuple[str, QueueFeature]]:
        """Return, by key, what the keys that differ from their defaults ask of the system's queues."""
        return [(key, feature) for key, feature in _FEATURES.items() if self._asks(key)]

    def _asks(self, key: str) -> bool:
        """Whether a key asks for something; one that is as by default does not, since a resolved scenario has all."""
        given, default = getattr(self, key), type(self).model_fields[key].default
        return given != default and (key in _CHOICES or given not in (0, None))

    def queue_names(self) -> list[str]:
        """Return the names of all queues that messages are sent to."""
        return [f"queue-{number}" for number in range(self.queues)]

    def dead_names(self) -> list[str]:
        """Return the names of the queues of dead letters."""
        return [name + DEAD for name in self.queue_names()] if self.dead_letters else []

    def all_partitions(self) -> list[Place]:
        return [(name, 0) for name in self.queue_names()]

    def routes(self) -> list[tuple[str, int, bytes | None]]:
        names, every = self.queue_names(), self.unrouted_every
        count = len(names) * max(every, 1)
        return [
            (NOWHERE if every and number % every == every - 1 else names[number % len(names)], 0, None)
            for number in range(count)
        ]
