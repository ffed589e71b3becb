"""Feeds: how workloads publish to topics that keep nothing, and subscribe to them; see `chaoskit.contract.client`.

What a subscriber may rely on is the promise of its subscription, which follows from the settings of both sides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from chaoskit.contract.client import Completed, Producer
from chaoskit.contract.recording import Delivery

PROMISES = ("at-most-once", "at-least-once", "exactly-once")
"""What a subscription can promise for each message that is published while it is in place."""


REPLAYED, RETAINED = "replayed", "retained"
"""Kinds of observations: what a subscription that has just begun is given of the time before."""

PARTED = "parted"
"""Kind of observations: a subscription does not see a publisher any more."""

SHARED = "shared"
"""Kind of observations: with whom a subscription that has just begun is shared."""

LIVELINESS, DEADLINE = "liveliness", "deadline"
"""Kinds of observations: what a subscription that has just begun is told of the end of publishers, or of a time without
messages, and how soon."""

EXCLUSIVE = "exclusive"
"""Kind of observations: a subscription that has just begun takes messages of one publisher at a time."""

NOT_ALIVE, DEADLINE_MISSED = "not-alive", "deadline-missed"
"""Kinds of observations: what it was told. `PARTED` tells of the end of a publisher, too."""


class Promise(NamedTuple):
    """What a subscription promises.

    Attributes:
        delivery: one of `PROMISES`.
        lasting: whether messages that are published while the subscriber is away are kept until it is back.
        keeps: how many of its last messages a publisher keeps of each topic for a subscriber that has not got them yet;
            older ones may be missing, whatever else is promised. None: all.
        replays: how many of its last messages a publisher gives, of each topic, to a subscriber that comes later.
        retained: whether a subscriber that comes later is given the last message of each topic, whoever published it.
        share: the group of subscribers of which one gets each message; empty: each of them gets it.
        liveliness_ns: after how long at most a subscriber is told that a publisher is not alive, ns; 0: it is not told.
        deadline_ns: after how long without a message of a topic a subscriber is told so, as long as a publisher is
            there, ns; 0: it is not told.
        exclusive: whether a subscriber gets only what the first publisher that is alive has published, in the order of
            their numbers.
    """

    delivery: str
    lasting: bool
    keeps: int | None = None
    replays: int = 0
    retained: bool = False
    share: str = ""
    liveliness_ns: int = 0
    deadline_ns: int = 0
    exclusive: bool = False


class SubscriptionChange(NamedTuple):
    """A subscription of a topic began or ended, or was told something, between two times, CLOCK_MONOTONIC, ns.

    Attributes:
        kind: which of them. `parted`: a publisher is not seen any more. Whether it has ended, or a link to it is lost,
            the subscriber cannot know. `not-alive`: a publisher gave no sign of life for too long. `deadline-missed`:
            no message came for too long.
        topic: the topic, by its name in the system.
        since_ns: when it was asked for; of an end, when it was surely in place for the last time.
        until_ns: when it was confirmed; of an end, when it was surely over.
        who: of `parted` and `not-alive`, the publisher, by the name that it was connected with.
    """

    kind: Literal["subscribed", "unsubscribed", "parted", "not-alive", "deadline-missed"]
    topic: str
    since_ns: int
    until_ns: int
    who: str = ""


class FeedSubscriber(Protocol):
    """Receives what is published to topics; after a lost connection, `poll` connects and subscribes again."""

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Delivery], str | None]:
        """Return deliveries in order of arrival, and an error to record, if any.

        What the last call returned counts as taken: as far as the promise has acknowledgements, it is acknowledged
        now. `Delivery.delivery` is above 0 if the system marked it as a repetition.
        """
        ...

    def changes(self) -> Sequence[SubscriptionChange]:
        """Return which subscriptions began and ended since the last call, in order of time."""
        ...

    def close(self, *, abruptly: bool = False) -> None:
        """Take what was returned, end all subscriptions and disconnect; if `abruptly`, without a word, so that a
        lasting subscription stays."""
        ...


@runtime_checkable
class FeedClients(Protocol):
    """Optional power of a system's clients: publishers of, and subscribers to, topics that keep nothing. A topic has
    the one partition 0."""

    def promise(self, publishing: Mapping[str, Any], subscribing: Mapping[str, Any]) -> Promise:
        """Return what subscribers with these settings are promised of what is published with those."""
        ...

    def feed_publisher(
        self, settings: Mapping[str, Any], name: str, topics: Sequence[str], completed: Completed
    ) -> Producer:
        """Connect a publisher.

        Args:
            settings: the system's own, by name.
            name: who it is; of a client that takes the place of another one, with `#` and a number at the end, which
                is no part of the name of a session.
            topics: what it will publish to. What it publishes from now on reaches every subscriber that is there.
            completed: called once per send.
        """
        ...

    def feed_subscriber(self, settings: Mapping[str, Any], name: str, topics: Sequence[str]) -> FeedSubscriber:
        """Connect a subscriber of these topics, like a publisher, but with the same name as the one whose place it
        takes; it returns once it is subscribed, or after a few seconds, and then `poll` goes on trying."""
        ...
