"""The view of a queue that its checks share: what was sent and received, what consumers did with it, and the settings
that the queue was declared with.

Times by message are tables by value id, with `NONE` where something did not happen or is not known.

Cost: O(n) for n messages, about 60 bytes per message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from chaoskit.base.columns import NONE, Flags, Ints, integers, is_one_of
from chaoskit.contract.checkers.checker import Part
from chaoskit.model.audit import Drained
from chaoskit.model.observations import queue
from chaoskit.model.observations.queue import DEAD_LETTER_REASONS, OTHER_QUEUE, SETTLING, QueueSettings, Settlements
from checkers.arrays.columns import changes, marked
from checkers.arrays.ends import FAIL, OK
from checkers.arrays.rows import INTACT, Rows
from checkers.arrays.view import LogView
from checkers.delivery.sessions import Sessions
from checkers.subscription.subscriptions import ACK_NS

MS = 1_000_000
"""Times of settings are in ms."""

REASONS = (*DEAD_LETTER_REASONS, OTHER_QUEUE)
REJECTED, EXPIRED, MAXLEN, DELIVERY_LIMIT, ELSEWHERE = range(len(REASONS))

ACKED, NACKED, REFUSED = range(len(SETTLING))
_NEVER = np.iinfo(np.int64).max
_UNORDERED = ("priorities", "delay", "dead-letters-of", "application")


@dataclass(frozen=True, slots=True)
class Settles(Rows):
    """What consumers did with deliveries, in order of operation.

    Attributes:
        value: id of the message's value; `NONE` if it was neither sent nor received here.
        kind: `ACKED`, `NACKED` (to be delivered again) or `REFUSED` (not so).
        operation: row of the operation.
    """

    value: Ints
    kind: Ints
    operation: Ints


@dataclass(frozen=True, slots=True)
class DeadReceipts(Rows):
    """Receipts of this queue's messages as dead letters, in order of operation.

    Attributes:
        number: the message's value.
        value: its id; `NONE` if it was neither sent nor received here.
        reason: index into `REASONS`; `NONE` for any other.
        count: how often it was dead-lettered, as told; `NONE` if that was not told.
        operation: row of the receive.
    """

    number: Ints
    value: Ints
    reason: Ints
    count: Ints
    operation: Ints


class QueueView:
    """The messages of a queue, and what consumers did with them.

    Attributes:
        log: sends and receives, with ids of values.
        observations: schema `OBSERVATIONS`.
        operations: schema `OPERATIONS`.
    """

    def __init__(self, part: Part) -> None:
        # It must not refer to the part, which refers to it: a cycle is freed late, and these arrays are large.
        self.log = part.view(LogView)
        self.observations = part.observations
        self._messages = part.messages
        self.operations = part.operations

    @cached_property
    def drained(self) -> bool:
        """Whether the final read emptied the queue."""
        audit = self.log.setting.audit
        return isinstance(audit, Drained) and audit.complete

    @cached_property
    def declared(self) -> dict[str, int]:
        """The settings that the queue was declared with, or has all the same, and their numbers; of two the lower."""
        declared = dict(QueueSettings.read(self.observations).numbers)
        return declared | {name: min(number, declared.get(name, number)) for name, number in self.log.setting.imposed}

    def has(self, setting: str) -> bool:
        """Return whether a setting that is on or off is on."""
        return self.declared.get(setting, 0) > 0

    @cached_property
    def unordered(self) -> bool:
        """Whether messages may leave the queue in another order than that in which they were sent."""
        return any(self.has(setting) for setting in _UNORDERED)

    @cached_property
    def settles(self) -> Settles:
        """What consumers did with deliveries, without what definitely did not happen."""
        settled, rows = Settlements.read(self.observations), self.log.operations
        operation = rows.rows_of(settled.op)
        done = rows.outcome[operation] != FAIL
        return Settles(self.ids(settled.value[done]), settled.kind[done], operation[done])

    @cached_property
    def settled_by_receipt(self) -> bool:
        """Whether whoever receives a message has settled it: nobody settled anything, and all that was received was
        polled. What a `receive` is given must be settled, even if nobody ever does."""
        log = self.log
        return (
            not is_one_of(self.observations["kind"], SETTLING).any()
            and not log.operations.takes[log.receives.operation].any()
        )

    @cached_property
    def acked(self) -> Flags:
        """Whether a consumer acknowledged each value, by value id; whether that reached the system is unknown."""
        return self._settled(ACKED)

    @cached_property
    def refused(self) -> Flags:
        """Whether a consumer rejected each value, by value id; whether that reached the system is unknown."""
        return self._settled(REFUSED)

    def sure(self, settles: Settles) -> Settles:
        """Return those that reached the system: their consumer lived on, with its connection, for a while."""
        rows, operation = self.log.operations, settles.operation
        session = self.sessions.of_operations(rows, operation)
        lasted_ns = self.sessions.until_ns[session] - self.done_ns(operation)
        return settles.take(np.flatnonzero((rows.outcome[operation] == OK) & (lasted_ns >= ACK_NS)))

    def settled_ns(self, values: Ints, kinds: Sequence[int] = (ACKED, REFUSED)) -> Ints:
        """Return when each of these values (ids) was first acknowledged or rejected by a consumer that lived on for a
        while."""
        wanted = marked(self.log.values.size, values)
        settles = self.settles.take(np.flatnonzero(wanted[self.settles.value] & (self.settles.value != NONE)))
        settles = self.sure(settles.take(np.flatnonzero(np.isin(settles.kind, kinds))))
        return self._first_ns(settles.value, self.done_ns(settles.operation))[values]

    def done_ns(self, operation: Ints) -> Ints:
        """Return when operations (rows) had ended; of those that never completed, when they began."""
        rows = self.log.operations
        done_ns: Ints = np.maximum(rows.end_ns[operation], rows.start_ns[operation])
        return done_ns

    @cached_property
    def dead(self) -> DeadReceipts:
        """Receipts of this queue's messages as dead letters."""
        dead = queue.DeadLetters.read(self.observations)
        operation = self.log.operations.rows_of(dead.op)
        return DeadReceipts(dead.value, self.ids(dead.value), dead.reason, dead.times, operation)

    @cached_property
    def dead_ns(self) -> Ints:
        """When each value was first received as a dead letter, by value id."""
        known = np.flatnonzero(self.dead.value != NONE)
        return self._first_ns(self.dead.value[known], self.done_ns(self.dead.operation[known]))

    @cached_property
    def sent_ns(self) -> Ints:
        """When the first send of each value that did not fail began, by value id."""
        chosen = np.flatnonzero(self._kept)
        return self._first_ns(
            self.log.sent_values[chosen], self.log.operations.start_ns[self.log.sends.operation[chosen]]
        )

    @cached_property
    def stored_ns(self) -> Ints:
        """When the last send of each value was acknowledged, by value id, if all that did not fail were."""
        log, rows = self.log, self.log.operations
        stored_ns = np.full(log.values.size, NONE)
        sent = log.sent_values[log.acked]
        np.maximum.at(stored_ns, sent, rows.end_ns[log.sends.operation[log.acked]])
        stored_ns[log.sent_values[self._kept & ~log.acked]] = NONE
        return stored_ns

    @cached_property
    def send_times_ns(self) -> tuple[Ints, Ints]:
        """When all sends that did not fail began, and when all of them had ended, each ascending; an unknown end comes
        last."""
        rows, operation = self.log.operations, self.log.sends.operation[self._kept]
        ends = np.where(rows.fate[operation] == OK, rows.end_ns[operation], _NEVER)
        return np.sort(rows.start_ns[operation]), np.sort(ends)

    @cached_property
    def audit_ns(self) -> tuple[int, int]:
        """When the final read began to drain the queue, and when it had ended; `NONE` if there was none."""
        rows = self.log.operations
        asks = np.flatnonzero(rows.asks)
        if not asks.size:
            return NONE, NONE
        return int(rows.start_ns[asks].min()), int(rows.end_ns[asks].max())

    @cached_property
    def sessions(self) -> Sessions:
        """The sessions of consumers."""
        return Sessions.of(self.operations, self.log.operations)

    @cached_property
    def first(self) -> Flags:
        """Whether each intact receive is the first one of its value, in order of time."""
        values, received_ns = self.log.intact_values, self.log.intact.received_ns
        several = np.flatnonzero((np.bincount(values, minlength=1) > 1)[values])
        several = several[np.lexsort((several, received_ns[several], values[several]))]
        first = np.ones(values.size, np.bool_)
        first[several] = changes(values[several])
        return first

    @cached_property
    def received_ns(self) -> Ints:
        """When each value was first received, by value id."""
        return self._first_ns(self.log.intact_values, self.log.intact.received_ns)

    @cached_property
    def last_received_ns(self) -> Ints:
        """When each value was received for the last time, by value id."""
        last_ns = np.full(self.log.values.size, NONE)
        np.maximum.at(last_ns, self.log.intact_values, self.log.intact.received_ns)
        return last_ns

    @cached_property
    def released_ns(self) -> Ints:
        """When the last session that received each value had ended, by value id."""
        released_ns = np.full(self.log.values.size, NONE)
        np.maximum.at(released_ns, self.log.intact_values, self.sessions.gone_ns[self._sessions])
        return released_ns

    @cached_property
    def taken_ns(self) -> Ints:
        """When each session received something of this queue for the last time."""
        rows, receives = self.log.operations, self.log.receives
        taken_ns = np.full(self.sessions.begin.size, NONE)
        np.maximum.at(taken_ns, self.sessions.of_operations(rows, receives.operation), receives.received_ns)
        return taken_ns

    @cached_property
    def counts(self) -> Ints:
        """How often the message of each intact receive had been delivered before, as told; `NONE` if that was not."""
        messages = self._messages
        counts = integers(messages["delivery"])[np.flatnonzero(is_one_of(messages["direction"], ["received"]))]
        intact_counts: Ints = counts[self.log.receives.payload == INTACT]
        return intact_counts

    @cached_property
    def unmarked(self) -> Flags:
        """Whether each intact receive is marked as the first delivery; not so where the system marks nothing."""
        unmarked: Flags = self.counts == 0
        return unmarked

    @cached_property
    def returned(self) -> Flags:
        """Whether a consumer asked for each value to be delivered again, by value id."""
        return self._settled(NACKED)

    @cached_property
    def returning(self) -> Flags:
        """Whether the end of each session counts as a return of what it had."""
        return np.full(self.sessions.begin.size, not self.has("ends-free"))

    @cached_property
    def known_returns(self) -> Ints:
        """How often each value that no consumer acknowledged was returned at least, by value id: refused, or left by a
        session that ended; or more often, as told with its last delivery."""
        log, size = self.log, self.log.values.size
        sessions = self.sessions.begin.size
        settling = self.sessions.of_operations(log.operations, self.settles.operation)
        known = self.settles.value != NONE
        had = np.unique(log.intact_values.astype(np.int64) * sessions + self._sessions)
        left = np.setdiff1d(had, self.settles.value[known].astype(np.int64) * sessions + settling[known])
        left = left[self.returning[left % max(sessions, 1)]]
        returned, redelivered = np.bincount(left // max(sessions, 1), minlength=size), np.zeros(size, np.int64)
        np.maximum.at(redelivered, log.intact_values, self.counts)
        if self.has("nacks-free"):
            return np.maximum(returned, redelivered)
        nacked = np.bincount(self._of_kind(NACKED), minlength=size)
        known_returns: Ints = np.maximum(returned + nacked, redelivered + log.visible)
        return known_returns

    @cached_property
    def _sessions(self) -> Ints:
        """The session of each intact receive."""
        return self.sessions.of_operations(self.log.operations, self.log.intact.operation)

    def returns(self, values: Ints, until_ns: Ints | int) -> Ints:
        """Return how often, at most, each value (id) can have been returned to the queue until then: by consumers that
        asked for it, or that ended, which may have had it without having looked at it."""
        nacked = np.bincount(self._of_kind(NACKED), minlength=self.log.values.size)
        ends = np.sort(self.sessions.gone_ns[self.sessions.consuming & self.sessions.open & self.returning])
        after = np.searchsorted(ends, until_ns, side="right") - np.searchsorted(ends, self.sent_ns[values])
        returned: Ints = nacked[values] + np.maximum(after, 0)
        return returned

    @cached_property
    def _kept(self) -> Flags:
        """Whether each send may have been stored."""
        return np.not_equal(self.log.operations.fate[self.log.sends.operation], FAIL)

    def ids(self, numbers: Ints) -> Ints:
        """Return the ids of values that were sent or received here, `NONE` for others."""
        ids = self.log.values.near(numbers)
        known: Ints = np.where(self._numbers[ids] == numbers, ids, NONE)
        return known

    @cached_property
    def _numbers(self) -> Ints:
        """The value with each id; `NONE` for ids of values that were neither sent nor received here."""
        log = self.log
        numbers = np.full(log.values.size, NONE)
        numbers[log.sent_values] = log.sends.value
        numbers[log.intact_values] = log.intact.value
        return numbers

    def _of_kind(self, kind: int) -> Ints:
        values: Ints = self.settles.value[(self.settles.kind == kind) & (self.settles.value != NONE)]
        return values

    def _settled(self, kind: int) -> Flags:
        return marked(self.log.values.size, self._of_kind(kind))

    def _first_ns(self, values: Ints, at_ns: Ints) -> Ints:
        if not values.size:
            return np.full(self.log.values.size, NONE)
        first_ns = np.full(self.log.values.size, _NEVER)
        np.minimum.at(first_ns, values, at_ns)
        return np.where(first_ns == _NEVER, NONE, first_ns)
