"""Traits: what guarantees and measurements need to know about a workload in addition to its client settings.

`workload.traits(options)` returns them; guarantees query them with `declared.get(Subscription)`. A third-party
workload may define traits of its own; systems ignore traits that they do not know.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from chaoskit.contract.clients.queue import QueueFeature
from chaoskit.model.place import Place

Resend = Literal["never", "asked", "unconfirmed", "at-once"]
"""What producers resend on their own, for clients with sequence ids. `asked`: the messages that the system lacks,
according to its last sequence id. `unconfirmed`: all unconfirmed messages. `at-once`: each failed send immediately,
after the sends that were made in the meantime."""


@dataclass(frozen=True, slots=True)
class Paced:
    """Producers share a rate at which sends are due from the start of the load to its end.

    Attributes:
        per_second: sends per second of all producers together; None: as many as possible.
        clients: number of producers.
        size: bytes of a message.
    """

    per_second: int | None
    clients: int
    size: int


@dataclass(frozen=True, slots=True)
class Leaving:
    """Subscribers leave while the load goes on.

    Attributes:
        count: how many.
    """

    count: int


@dataclass(frozen=True, slots=True)
class Routed:
    """Each producer's messages go round these partitions in turn, so that a message's partition follows from its
    sequence.

    Attributes:
        places: topic and partition of successive messages.
        keyed: whether each has a key.
    """

    places: tuple[Place, ...]
    keyed: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Consumers share a group: each partition is assigned to one of them.

    Attributes:
        count: number of groups, each of which receives everything; consumer i is a member of group i modulo `count`.
        members: number of members of the largest group.
    """

    count: int = 1
    members: int = 1


@dataclass(frozen=True, slots=True)
class Backlog:
    """Consumers pause until so many messages wait for them, and then catch up.

    Attributes:
        after_ns: when they pause, ns since the start of the load.
        copies: how many consumers receive each message.
        messages: how many messages wait when they go on, each copy counted.
        left: how many may wait when they have caught up.
        within_ns: how long all of this may take.
    """

    after_ns: int
    copies: int
    messages: int
    left: int
    within_ns: int


@dataclass(frozen=True, slots=True)
class Replays:
    """Consumers go back once, and read again.

    Attributes:
        after_ns: when, ns since the start of the load.
        by_time: whether they seek a time, rather than a position.
    """

    after_ns: int
    by_time: bool


@dataclass(frozen=True, slots=True)
class Deletes:
    """Producers delete keys."""


@dataclass(frozen=True, slots=True)
class Transactions:
    """Producers write in transactions.

    Attributes:
        messages: number of messages of a transaction.
    """

    messages: int = 1


@dataclass(frozen=True, slots=True)
class Recovers:
    """Ledgers are opened with recovery while their writers add entries."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """Consumers share a subscription and acknowledge individual messages.

    Attributes:
        kind: its type, one of `chaoskit.model.observations.subscription.SUBSCRIPTION_TYPES`.
    """

    kind: str


@dataclass(frozen=True, slots=True)
class Resends:
    """Producers resend unconfirmed messages with new clients.

    Attributes:
        what: the messages that they resend.
        restarts: whether they abandon clients with sends in flight and continue with new ones.
    """

    what: Resend
    restarts: bool


@dataclass(frozen=True, slots=True)
class Piped:
    """An application of the user's reads inputs and writes outputs.

    Attributes:
        promise: what its owner promises: `at-least-once`, `exactly-once` or `at-most-once`.
        of_sinks: topics of outputs of which something else is promised, and what.
    """

    promise: Literal["at-least-once", "exactly-once", "at-most-once"]
    of_sinks: tuple[tuple[str, Literal["at-least-once", "exactly-once"]], ...] = ()


@dataclass(frozen=True, slots=True)
class Queueing:
    """Messages are in queues until a consumer settles them.

    Attributes:
        confirms: whether producers wait for confirms.
        persistent: whether messages are persistent.
        consumers: number of consumers during the load.
        mandatory: whether a message that no queue takes is returned to its producer.
        features: by key of the workload, what it asks of the system's queues; see
            `chaoskit.contract.systems.system.Queues`.
        exchange: the system's own way of routing messages to the queues; empty: directly.
        settings: what the queues are declared with, names of `chaoskit.model.observations.queue.QUEUE_SETTINGS`.
        unsettled: whether consumers leave messages unsettled, or refuse some.
        crashes: whether consumers exit abruptly.
        leaves: whether consumers leave messages unsettled until they exit.
    """

    confirms: bool
    persistent: bool
    consumers: int
    mandatory: bool = True
    features: tuple[tuple[str, QueueFeature], ...] = ()
    exchange: str = ""
    settings: tuple[tuple[str, int], ...] = ()
    unsettled: bool = False
    crashes: bool = False
    leaves: bool = False
