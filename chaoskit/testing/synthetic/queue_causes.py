"""What simulated queues are declared with, and what can go wrong in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PREFETCH = 10
_DEAD = {"dead-letters": 1}

SETTINGS: dict[str, Mapping[str, int]] = {
    "plain": {},
    "priorities": {"priorities": 3},
    "expiring": {"message-ttl": 2000, **_DEAD},
    "limited": {"delivery-limit": 2, **_DEAD},
    "bounded": {"max-length": 50, **_DEAD},
    "delayed": {"delay": 1500},
    "single": {"single-active": 1},
    "nowhere": {"unrouted": 1},
}
"""By kind of queue. Queues take the kinds in turn, unless an injected cause needs one."""


@dataclass(frozen=True, slots=True)
class QueueCause:
    """A cause that is injected into a separate queue; see `causes.Cause`.

    Attributes:
        words: what it does, and the resulting anomalies.
        anomaly: the one that must be found.
        kind: the kind of queue that it needs.
        named: whether the finding must name the message that it happened to.
    """

    words: str
    anomaly: str
    kind: str = "plain"
    named: bool = True
    modes: tuple[str, ...] = ("queue",)


QUEUE_CAUSES = {
    "forgotten-message": QueueCause("a queue forgets an acknowledged message: lost", "lost"),
    "forgotten-delivery": QueueCause(
        "a queue forgets what an ended consumer had not settled: unacked-vanished", "unacked-vanished"
    ),
    "forgotten-ack": QueueCause("a message is delivered long after its acknowledgement: duplicate", "duplicate"),
    "unmarked-return": QueueCause(
        "a returned message is not marked as redelivered: redelivery-flag-missing", "redelivery-flag-missing"
    ),
    "late-first": QueueCause("a message is first delivered after later ones: fifo-violation", "fifo-violation"),
    "wrong-depth": QueueCause("a queue tells one message too many: depth-wrong", "depth-wrong", named=False),
    "low-first": QueueCause(
        "a message with a high priority waits: priority-inversion", "priority-inversion", "priorities", named=False
    ),
    "short-life": QueueCause("a message expires at once: expired-early", "expired-early", "expiring"),
    "long-life": QueueCause("an expired message is delivered: expired-late", "expired-late", "expiring"),
    "no-dead-letter": QueueCause(
        "a rejected message does not come to the dead letters: dead-letter-missing", "dead-letter-missing", "limited"
    ),
    "two-dead-letters": QueueCause(
        "a rejected message comes to the dead letters twice: dead-letter-twice", "dead-letter-twice", "limited"
    ),
    "other-reason": QueueCause(
        "a dead letter has the reason maxlen in an unbounded queue: dead-letter-mislabelled",
        "dead-letter-mislabelled",
        "limited",
    ),
    "unasked-rejection": QueueCause(
        "a message is dead-lettered as rejected by nobody: dead-letter-early", "dead-letter-early", "limited"
    ),
    "endless-returns": QueueCause(
        "a message is delivered beyond its delivery limit: delivery-limit-exceeded",
        "delivery-limit-exceeded",
        "limited",
    ),
    "no-drop": QueueCause("a queue keeps too many messages: over-length", "over-length", "bounded", named=False),
    "no-delay": QueueCause("a message is delivered at once: delivered-early", "delivered-early", "delayed"),
    "second-active": QueueCause(
        "two consumers of a queue with a single active one get messages: two-active",
        "two-active",
        "single",
        named=False,
    ),
    "confirmed-nowhere": QueueCause(
        "a message without a queue is acknowledged: unroutable-confirmed", "unroutable-confirmed", "nowhere"
    ),
}
