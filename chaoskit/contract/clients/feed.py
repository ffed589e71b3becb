"""Feeds: how workloads publish to topics that keep nothing, and subscribe to them; see
`chaoskit.contract.clients.client`.

What a subscriber may rely on is the promise of its subscription, which follows from the settings of both sides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from chaoskit.contract.clients.client import Completed, Producer
from chaoskit.model.message import Delivery
from chaoskit.model.observations.feed import Promise


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
