"""One simulated queue: messages wait, are delivered, settled, returned, expire, are dropped and dead-lettered.

Time passes in ticks. In each one what was sent arrives, what is due expires or is dropped, and every open consumer gets
what its prefetch allows and settles it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field

from chaoskit.testing.synthetic.queue_causes import PREFETCH, SETTINGS

MS = 1_000_000
TICK_NS = 50 * MS
_SECOND_NS = 1000 * MS
_HOLD_NS = 5 * _SECOND_NS
"""How long a cause holds a message back; longer than any slack of a checker."""


@dataclass(slots=True)
class QueuedMessage:
    """A message in a queue.

    Attributes:
        number: its place among all messages of the queue.
        priority: its priority.
        wish: what its first consumer does with it.
        victim: whether the cause happens to it.
        count: how often it was returned.
        marked: whether it is delivered as redelivered although it never returned.
        immortal: whether it never expires.
    """

    number: int
    value: int
    sent_ns: int
    priority: int
    wish: str
    victim: bool
    count: int = 0
    marked: bool = False
    immortal: bool = False


@dataclass(slots=True)
class Broker:
    """The state of a queue.

    Attributes:
        kind: key of `SETTINGS`.
        cause: name of the injected cause.
        ready: messages that wait, a heap by priority and number.
        later: messages that are not ready yet, a heap by time.
        held: unsettled deliveries of each consumer.
        dead: dead letters that nobody received yet, each with its reason.
        keeps_all: whether it drops nothing, however long it is.
    """

    kind: str
    cause: str | None
    ready: list[tuple[int, int, QueuedMessage]] = field(default_factory=list)
    later: list[tuple[int, int, QueuedMessage]] = field(default_factory=list)
    held: dict[int, dict[int, QueuedMessage]] = field(default_factory=dict)
    dead: list[tuple[QueuedMessage, str]] = field(default_factory=list)
    keeps_all: bool = False

    def setting(self, name: str) -> int | None:
        """Return a setting's number, if it is declared."""
        return SETTINGS[self.kind].get(name)

    def struck(self, message: QueuedMessage, *causes: str) -> bool:
        """Return whether one of these causes happens to a message."""
        return message.victim and self.cause in causes

    def publish(self, message: QueuedMessage) -> None:
        """Take a message that was sent."""
        if self.struck(message, "forgotten-message") or self.kind == "nowhere":
            return
        if self.struck(message, "short-life", "unasked-rejection"):
            self.dead.append((message, "expired" if self.cause == "short-life" else "rejected"))
            return
        due_ns = message.sent_ns
        if self.struck(message, "late-first", "low-first", "long-life"):
            due_ns += _HOLD_NS
            message.immortal = True
        elif (delay := self.setting("delay")) is not None and not self.struck(message, "no-delay"):
            due_ns += delay * MS
        heapq.heappush(self.later, (due_ns, message.number, message))

    def advance(self, now_ns: int) -> None:
        """Let time pass: messages become ready, expire, and are dropped."""
        while self.later and self.later[0][0] <= now_ns:
            message = heapq.heappop(self.later)[2]
            heapq.heappush(self.ready, (-message.priority, message.number, message))
        lives = self.setting("message-ttl")
        if lives is not None:
            expired = [
                message
                for _, _, message in self.ready
                if not message.immortal and message.sent_ns + lives * MS <= now_ns
            ]
            if expired:
                gone = {message.number for message in expired}
                self.ready = [entry for entry in self.ready if entry[1] not in gone]
                heapq.heapify(self.ready)
                self.dead += [(message, "expired") for message in sorted(expired, key=lambda message: message.number)]
        length = self.setting("max-length")
        while length is not None and len(self.ready) > length and not self.keeps_all:
            self.dead.append((heapq.heappop(self.ready)[2], "maxlen"))

    def deliver(self, consumer: int, limit: int = PREFETCH) -> Iterator[tuple[QueuedMessage, int]]:
        """Yield messages for a consumer, each with the delivery count that it is told."""
        held = self.held.setdefault(consumer, {})
        while self.ready and len(held) < limit:
            message = heapq.heappop(self.ready)[2]
            held[message.number] = message
            delivery_count = 0 if self.struck(message, "unmarked-return") else max(message.count, int(message.marked))
            yield message, delivery_count

    def settle(self, consumer: int, message: QueuedMessage, how: str, now_ns: int) -> None:
        """Do what a consumer asks for."""
        del self.held[consumer][message.number]
        if how == "nack":
            self._return(message, now_ns)
        elif how == "reject":
            if not self.struck(message, "no-dead-letter"):
                self.dead.append((message, "maxlen" if self.struck(message, "other-reason") else "rejected"))
        elif self.struck(message, "forgotten-ack"):
            message.victim, message.marked, message.wish = False, True, "ack"
            heapq.heappush(self.later, (now_ns + _HOLD_NS, message.number, message))

    def end(self, consumer: int, now_ns: int) -> None:
        """A consumer ended: what it had not settled returns."""
        for message in self.held.pop(consumer, {}).values():
            if not self.struck(message, "forgotten-delivery"):
                self._return(message, now_ns)

    def wish_of(self, consumer: int, message: QueuedMessage) -> str:
        """Return what a consumer does with a message that it received."""
        if message.wish == "leave":
            return "leave" if len(self.held[consumer]) < PREFETCH // 2 or message.victim else "ack"
        limit = self.setting("delivery-limit")
        if self.struck(message, "endless-returns") and limit is not None:
            return "nack" if message.count <= limit else "ack"
        if message.wish == "nack" and (limit is not None or message.count == 0):
            return "nack"
        return "reject" if message.wish == "reject" and limit is not None else "ack"

    def _return(self, message: QueuedMessage, now_ns: int) -> None:
        message.count += 1
        limit = self.setting("delivery-limit")
        if self.struck(message, "endless-returns"):
            heapq.heappush(self.later, (now_ns + _HOLD_NS // 2, message.number, message))
        elif limit is not None and message.count > limit:
            self.dead.append((message, "delivery_limit"))
        else:
            heapq.heappush(self.ready, (-message.priority, message.number, message))
        if message.wish == "leave":
            message.wish = "ack"
