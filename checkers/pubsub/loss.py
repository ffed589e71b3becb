"""Acknowledged messages that a subscription did not get, although it was surely in place.

A message is due to a subscription that was in place before its send began. One that does not last must be in place
until the message must have arrived. That is decided if the subscriber received, during the same stay, a later message
of the same producer; or if it was there for long enough after the acknowledgement, and had either received something
that was sent later, or had been idle, so that nothing was waiting for it. If a stay that does not last ends before, the
message was not due. If one that lasts does, or its subscriber did not come back, nothing is decided: `unseen`.

Of a subscription that is shared, each message goes to one of its members. What others received says nothing of what is
on its way to one of them: it is decided only if all of them were idle. What was acknowledged long enough before a stay
ended, and is not decided, is `unseen`.

Of a publisher that a subscriber lost from sight, and that went on publishing, nothing is decided from when it may have
been out of reach: `unseen`. (If it is seen again, the subscription ends and begins anew.)

Of a subscription that takes the messages of one publisher at a time, only those of the first in line are due.

Where a publisher keeps its last N messages only, one that was followed by N others before the subscriber received
something newer may have been replaced: it is `missed`.

Cost: O(n) for each stay.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Flags, Ints
from chaoskit.contract.checkers.anomaly import Anomaly, Gone
from chaoskit.model.message import PRODUCER_SHIFT
from checkers.arrays.findings import findings_of, merged
from checkers.arrays.models import FEEDS
from checkers.delivery.loss import LOST, UNSEEN, send_evidence
from checkers.pubsub.view import ARRIVES_NS, AT_MOST_ONCE, FeedView, Stay

LACKING = ("one of its subscribers did not get it", "some of its subscribers did not get it", "no subscriber got it")
_ONE, _SOME, _ALL = range(len(LACKING))


MISSED = Anomaly(
    "missed",
    "a subscriber did not get an acknowledged message that it was not promised, or that newer ones replaced",
    FEEDS,
    gone=Gone.DROPPED,
    became="did not reach a subscriber, which was not promised them",
)


@dataclass(slots=True)
class _Tally:
    """For each message, how many subscriptions lack it, and the rows of the operations that began them."""

    count: Ints
    row: Ints
    others: list[tuple[Ints, int]]

    @classmethod
    def of(cls, size: int) -> _Tally:
        return cls(np.zeros(size, np.int64), np.full(size, NONE), [])

    def add(self, lacks: Flags, row: int) -> None:
        self.others.append((np.flatnonzero(lacks & (self.row != NONE)), row))
        self.count[lacks] += 1
        self.row[lacks & (self.row == NONE)] = row

    def other_ops(self, messages: Ints, op_of: Ints) -> pa.ListArray | None:
        """Return for some messages the operations that began the other subscriptions that lack them."""
        place = np.full(self.count.size, NONE)
        place[messages] = np.arange(messages.size)
        pairs = [(place[lacks][place[lacks] != NONE], op_of[row]) for lacks, row in self.others]
        of_message = np.concatenate([some for some, _ in pairs]) if pairs else np.zeros(0, np.int64)
        if not of_message.size:
            return None
        ops = np.concatenate([np.full(some.size, op) for some, op in pairs])
        order = np.argsort(of_message, kind="stable")
        offsets = np.searchsorted(of_message[order], np.arange(messages.size + 1))
        return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), pa.array(ops[order].astype(np.int64)))


def loss_cases(view: FeedView) -> pa.Table:
    """Find messages that are `lost`, `missed` or `unseen`: one finding for each, however many subscribers lack it.

    Evidence: `op` sent it and `at_ns` is its acknowledgement; `other_op` began a subscription that did not get it.
    """
    log = view.log
    rows = np.flatnonzero(log.acked)
    rows = rows[np.sort(np.unique(log.sent_values[rows], return_index=True)[1])]
    lost, missed, unseen, due = (_Tally.of(rows.size) for _ in range(4))
    for stay in view.stays:
        promised, lacks = _due(view, stay, rows)
        due.add(promised, stay.row)
        away = out_of_reach(view, stay, rows)
        decided = lacks & _decided(view, stay, rows) & ~away
        lawful = decided & ((stay.promise == AT_MOST_ONCE) | _replaced(view, stay, rows))
        missed.add(lawful, stay.row)
        lost.add(decided & ~lawful, stay.row)
        if stay.promise != AT_MOST_ONCE:
            unseen.add(lacks & ~decided & (away | _owed(view, stay, rows)), stay.row)
    unseen.count[lost.count > 0] = 0
    tallies = ((LOST, lost), (UNSEEN, unseen), (MISSED, missed))
    return merged([_findings(view, anomaly, rows, tally, due.count) for anomaly, tally in tallies])


def _due(view: FeedView, stay: Stay, rows: Ints) -> tuple[Flags, Flags]:
    """Return for each send whether a subscription was in place for it, and whether it did not get it."""
    log, operation = view.log, view.log.sends.operation[rows]
    apart_ns = log.setting.apart_ns
    due = log.operations.start_ns[operation] >= stay.from_ns + apart_ns
    if not stay.lasting:
        due &= log.operations.end_ns[operation] <= stay.until_ns - apart_ns
    if stay.exclusive:
        due &= view.member_of[operation] == view.owner
    return due, due & ~view.got(stay.subscriber)[log.sent_values[rows]]


def out_of_reach(view: FeedView, stay: Stay, rows: Ints) -> Flags:
    """Return for each send whether its publisher may have been out of the subscriber's reach."""
    log, away = view.log, np.zeros(rows.size, np.bool_)
    operation = log.sends.operation[rows]
    for lost in view.partings:
        if lost.member == stay.member and stay.from_ns <= lost.at_ns <= stay.until_ns:
            of_it = log.operations.process[operation] == lost.process
            away |= of_it & (log.operations.start_ns[operation] >= lost.since_ns - log.setting.apart_ns)
    return away


def _owed(view: FeedView, stay: Stay, rows: Ints) -> Flags:
    """Return for each send whether its message was owed at the end of a stay, though nobody can say what became of it:
    a lasting subscription gets it later, and a member of a shared one had had the time to get it."""
    if stay.lasting:
        return np.ones(rows.size, np.bool_)
    acked_ns = view.log.operations.end_ns[view.log.sends.operation[rows]]
    in_time: Flags = acked_ns <= stay.until_ns - ARRIVES_NS - view.log.setting.apart_ns
    return in_time if stay.shared else np.zeros(rows.size, np.bool_)


def _decided(view: FeedView, stay: Stay, rows: Ints) -> Flags:
    """Return for each send whether its message must have arrived during a stay."""
    log = view.log
    value, acked_ns = log.sends.value[rows], log.operations.end_ns[log.sends.operation[rows]]
    here, since_back = view.received_in(stay, stay.from_ns), view.received_in(stay, stay.back_ns)
    in_time = stay.until_ns >= np.maximum(acked_ns, stay.back_ns) + ARRIVES_NS + log.setting.apart_ns
    idle = stay.until_ns - int(log.intact.received_ns[since_back].max(initial=0)) >= ARRIVES_NS
    if stay.shared:
        return in_time & idle
    return _followed(value, log.intact.value[here]) | (in_time & (idle | (acked_ns < _newest(view, since_back))))


def _replaced(view: FeedView, stay: Stay, rows: Ints) -> Flags:
    """Return for each send whether so many of its publisher followed that its message may not have been kept until the
    subscriber received something newer, or was gone."""
    if stay.keeps == NONE:
        return np.zeros(rows.size, np.bool_)
    log = view.log
    value, here = log.sends.value[rows], view.received_in(stay, stay.from_ns)
    order = np.argsort(log.intact.value[here], kind="stable")
    received, at_ns = log.intact.value[here][order], log.intact.received_ns[here][order]
    following = np.searchsorted(received, value, side="right")
    known = np.append(received, NONE)[following] >> PRODUCER_SHIFT == value >> PRODUCER_SHIFT
    newer_ns = np.where(known, np.append(at_ns, NONE)[following], stay.until_ns)
    firsts = np.unique(log.sends.value, return_index=True)
    sent, start_ns = firsts[0], log.operations.start_ns[log.sends.operation[firsts[1]]]
    replaced = np.zeros(rows.size, np.bool_)
    for producer in np.unique(value >> PRODUCER_SHIFT):
        own, mine = sent >> PRODUCER_SHIFT == producer, value >> PRODUCER_SHIFT == producer
        begun = np.searchsorted(np.maximum.accumulate(start_ns[own]), newer_ns[mine])
        replaced[mine] = begun - np.searchsorted(sent[own], value[mine], side="right") >= stay.keeps
    return replaced


def _followed(value: Ints, received: Ints) -> Flags:
    """Return for each message whether a later one of its producer was received."""
    producers, index = np.unique(received >> PRODUCER_SHIFT, return_inverse=True)
    if not producers.size:
        return np.zeros(value.size, np.bool_)
    highest = np.full(producers.size, NONE)
    np.maximum.at(highest, index, received)
    producer = value >> PRODUCER_SHIFT
    place = np.minimum(np.searchsorted(producers, producer), producers.size - 1)
    followed: Flags = (producers[place] == producer) & (value < highest[place])
    return followed


def _newest(view: FeedView, receives: Ints) -> int:
    """Return when the send of the newest of these messages began; `NONE` if none of them was sent here."""
    log = view.log
    sends = log.first_sends[log.intact_values[receives]]
    return int(log.operations.start_ns[log.sends.operation[sends[sends != NONE]]].max(initial=NONE))


def _findings(view: FeedView, anomaly: Anomaly, rows: Ints, tally: _Tally, due: Ints) -> pa.Table:
    lacking = np.flatnonzero(tally.count)
    count = tally.count[lacking]
    return findings_of(
        view.log.setting,
        anomaly,
        details=LACKING,
        detail=np.where(count == due[lacking], _ALL, np.where(count == 1, _ONE, _SOME)),
        **send_evidence(view.log, rows[lacking]),
        other_op=view.log.operations.op[tally.row[lacking]],
        other_ops=tally.other_ops(lacking, view.log.operations.op),
    )
