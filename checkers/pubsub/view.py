"""One topic that keeps nothing: its messages, and when each of its subscriptions was surely in place.

A client that is started again after a crash is the same subscriber. A subscription that does not last is a stay of its
own each time that the subscriber is there; one that lasts is one stay with absences. Of a client that ended without a
word nothing is sure after its last operation.

Cost: O(n) for each subscriber; 20 bytes for each message.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from chaoskit.base.columns import NONE, Flags, Ints, words_of
from chaoskit.contract.checkers.checker import Part
from chaoskit.model.observations.feed import (
    DEADLINE,
    EXCLUSIVE,
    LIVELINESS,
    NEWS,
    PARTED,
    PROMISES,
    REPLAYED,
    RETAINED,
    Heard,
    Promises,
    shares,
)
from checkers.arrays.columns import marked
from checkers.arrays.view import LogView

AT_MOST_ONCE, AT_LEAST_ONCE, EXACTLY_ONCE = range(len(PROMISES))

ARRIVES_NS = 2_000_000_000
"""How long a message may be under way to a subscriber that is there."""

_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Stay:
    """A time in which a subscription was surely in place; a lasting one with its absences.

    Attributes:
        subscriber: number of the subscriber; those that share a subscription are one.
        member: number of the one of them who was there.
        shared: whether they share it with others.
        promise: `AT_MOST_ONCE`, `AT_LEAST_ONCE` or `EXACTLY_ONCE`.
        lasting: whether what is published during an absence is kept.
        keeps: how many of its last messages each publisher keeps; `NONE`: all.
        from_ns: since when it was in place.
        back_ns: since when its subscriber was there without an absence; the same, unless it is lasting.
        until_ns: until when its subscriber was there.
        row: row of the operation that subscribed.
        replays: how many of its last messages each publisher gives to it of the time before; of a client's first stay.
        retained: whether it is given the last message of the topic; of a client's first stay.
        liveliness_ns, deadline_ns, exclusive: see `chaoskit.contract.clients.feed.Promise`.
    """

    subscriber: int
    member: int
    shared: bool
    promise: int
    lasting: bool
    keeps: int
    from_ns: int
    back_ns: int
    until_ns: int
    row: int
    replays: int = 0
    retained: bool = False
    liveliness_ns: int = 0
    deadline_ns: int = 0
    exclusive: bool = False


@dataclass(frozen=True, slots=True)
class Parting:
    """A publisher was out of a subscriber's reach, and went on publishing.

    Attributes:
        member: number of the subscriber.
        process: the publisher's process.
        since_ns: since when it may have been.
        at_ns: when the subscriber knew.
    """

    member: int
    process: int
    since_ns: int
    at_ns: int


class FeedView:
    """The messages of a topic, its subscribers, and their stays.

    Attributes:
        log: sends and receives, with ids of values.
        subscriber_of: number of the subscriber of each operation; clients of other roles have numbers, too.
        member_of: the same, with numbers for each of those that share a subscription.
        promises: the subscriptions that began or ended.
        heard: what subscribers heard of publishers.
    """

    def __init__(self, part: Part) -> None:
        self.log = part.view(LogView)
        client, names = words_of(part.operations["client"])
        bases = [name.partition("#")[0] for name in names]
        sharing, names_of_shares = shares(part.observations)
        by = client[self.log.operations.rows_of(sharing)]
        share_of = dict(zip([bases[sharer] for sharer in by], names_of_shares, strict=True))
        subscribers = _numbered([(share_of[base], "") if base in share_of else ("", base) for base in bases])
        members = _numbered(bases)
        self.member_of: Ints = members[client]
        self.subscriber_of: Ints = subscribers[client]
        self._sharing = {int(subscribers[sharer]) for sharer in by}
        self._parted = Heard.read(part.observations, PARTED)
        self.heard = Heard.read(part.observations, *NEWS)
        self._client = client
        self._names = dict(zip(names, range(len(names)), strict=True))
        self.promises = Promises.read(part.observations)

    def process_of(self, client: str) -> int:
        """Return the process of a client; `NONE` if it did nothing."""
        rows = np.flatnonzero(self._client == self._names.get(client, NONE))
        return int(self.log.operations.process[rows[0]]) if rows.size else NONE

    @cached_property
    def stays(self) -> list[Stay]:
        """All stays, in order of subscriber and time."""
        lasting: dict[int, dict[int, list[Stay]]] = {}
        for stay in self.single:
            if stay.lasting:
                lasting.setdefault(stay.subscriber, {}).setdefault(stay.member, []).append(stay)
        merged = [_merged(list(members.values())) for members in lasting.values()]
        stays = [stay for stay in self.single if not stay.lasting] + merged
        return sorted(stays, key=lambda stay: (stay.subscriber, stay.from_ns))

    @cached_property
    def partings(self) -> list[Parting]:
        """Where a link between a publisher and a subscriber was lost. One that published nothing afterwards has ended:
        what it had sent before is due."""
        operations, rows = self.log.operations, self.log.operations.rows_of(self._parted.op)
        own = self.log.sends.operation
        partings = []
        for row, name in zip(rows.tolist(), self._parted.publisher, strict=True):
            at_ns = int(operations.end_ns[row])
            process = self.process_of(name or "")
            last_ns = operations.start_ns[own[operations.process[own] == process]].max(initial=NONE)
            if at_ns != NONE and last_ns > at_ns + self.log.setting.apart_ns:
                partings.append(Parting(int(self.member_of[row]), process, int(operations.start_ns[row]), at_ns))
        return partings

    @cached_property
    def promise_of(self) -> Ints:
        """What each subscriber was promised last; `NONE` for clients that never subscribed."""
        promised = np.full(int(self.subscriber_of.max(initial=0)) + 1, NONE)
        for stay in self.stays:
            promised[stay.subscriber] = stay.promise
        return promised

    @cached_property
    def owner(self) -> int:
        """Number of the client, as of `member_of`, that is the first in line where subscribers take messages of one
        publisher at a time; `NONE` if nobody sent anything."""
        sends = self.log.sends
        return int(self.member_of[sends.operation[np.argmin(sends.value)]]) if sends.value.size else NONE

    @cached_property
    def receiver(self) -> Ints:
        """Number of the subscriber of each intact receive."""
        return self.subscriber_of[self.log.intact.operation]

    @cached_property
    def again(self) -> tuple[Ints, Ints]:
        """Rows of the intact receives of what their subscriber had received before, and of the first such receive."""
        order = np.lexsort((np.arange(self.receiver.size), self.log.intact_values, self.receiver))
        subscriber, value = self.receiver[order], self.log.intact_values[order]
        same = np.zeros(order.size, np.bool_)
        same[1:] = (subscriber[1:] == subscriber[:-1]) & (value[1:] == value[:-1])
        first = np.maximum.accumulate(np.where(same, 0, np.arange(order.size)))
        return order[same], order[first[same]]

    def got(self, subscriber: int) -> Flags:
        """Return for each value whether a subscriber ever received it intact."""
        return marked(self.log.values.size, self.log.intact_values[self.receiver == subscriber])

    def received_in(self, stay: Stay, since_ns: int) -> Ints:
        """Return the rows of what a subscriber received from then on, until the end of a stay."""
        at_ns = self.log.intact.received_ns
        return np.flatnonzero((self.receiver == stay.subscriber) & (at_ns >= since_ns) & (at_ns <= stay.until_ns))

    @cached_property
    def single(self) -> list[Stay]:
        """A stay for each time that a subscriber was there, in order of time, lasting or not."""
        promises = self.promises
        if not promises.op.size:
            return []
        operations, began = self.log.operations, promises.began
        rows = operations.rows_of(promises.op)
        process = operations.process[rows]
        # The next change of the same client ends a stay; without one, its last operation does. Changes are in the order
        # in which they were over: since when a subscription was not in place may be long before it was in place.
        ended = np.where(operations.end_ns[rows] == NONE, _NEVER, operations.end_ns[rows])
        order = np.lexsort((operations.op[rows], ended, process))
        following = np.append(order[1:], NONE)
        follows = np.append(process[order[1:]] == process[order[:-1]], False)
        last_ns = self.last_ns
        stays: list[Stay] = []
        known: set[int] = set()
        for index, next_one, ends in zip(order, following, follows, strict=True):
            if not began[index] or operations.end_ns[rows[index]] == NONE:
                continue
            until_ns = operations.start_ns[rows[next_one]] if ends else last_ns[process[index]]
            from_ns = int(operations.end_ns[rows[index]])
            subscriber, member = int(self.subscriber_of[rows[index]]), int(self.member_of[rows[index]])
            who = subscriber, member, subscriber in self._sharing
            promise = int(promises.delivery[index]), bool(promises.lasting[index]), int(promises.keeps[index])
            op, first = int(operations.op[rows[index]]), int(process[index]) not in known
            known.add(int(process[index]))
            stays.append(
                Stay(
                    *who,
                    *promise,
                    from_ns,
                    from_ns,
                    int(until_ns),
                    int(rows[index]),
                    replays=promises.more(op, REPLAYED) if first else 0,
                    retained=first and bool(promises.more(op, RETAINED)),
                    liveliness_ns=promises.more(op, LIVELINESS),
                    deadline_ns=promises.more(op, DEADLINE),
                    exclusive=bool(promises.more(op, EXCLUSIVE)),
                )
            )
        return sorted(stays, key=lambda stay: stay.from_ns)

    @cached_property
    def last_ns(self) -> Ints:
        """When the last operation of each process ended, as far as it did."""
        operations = self.log.operations
        last = np.zeros(int(operations.process.max(initial=0)) + 1, np.int64)
        np.maximum.at(last, operations.process, np.maximum(operations.start_ns, operations.end_ns))
        return last


def _numbered(named: Sequence[Hashable]) -> Ints:
    """Return a number for each name, the same for equal ones."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(named))}
    return np.array([numbers[name] for name in named], np.int64)


def _merged(members: Sequence[Sequence[Stay]]) -> Stay:
    """Return the one stay of a lasting subscription, of which each member has some, in order of time: what it is given
    meanwhile waits for any of them, so that all must be back, and none gone."""
    last = [stays[-1] for stays in members]
    first = min((stays[0] for stays in members), key=lambda stay: stay.from_ns)
    newest = max(last, key=lambda stay: stay.back_ns)
    until_ns = min(stay.until_ns for stay in last)
    return replace(newest, from_ns=first.from_ns, row=first.row, until_ns=until_ns)
