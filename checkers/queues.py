"""The checker of queues: a message is there until a consumer settles it, and then it is gone.

A queue has no positions: messages are identified by their values. The final read drains what is left, so an
acknowledged message that nobody ever received is lost. What cannot be concluded: an acknowledgement has no receipt, so
one counts only if its consumer lived on for a while.

Cost: O(n log n) for n deliveries.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from chaoskit.contract.anomaly import Anomaly
from chaoskit.contract.checker import Part
from chaoskit.history.audits import Drained
from chaoskit.history.schema import KINDS, PRODUCER_SHIFT
from checkers.columns import NONE, Flags, Ints, changes, codes, first_rows, integers, is_one_of, running_maximum
from checkers.copies import DUPLICATE
from checkers.deliveries import ENDING, following, last_ns
from checkers.ends import FAIL
from checkers.findings import findings_of, merged, no_findings
from checkers.loss import FAILED_VISIBLE, LOST, UNSEEN, failed_visible_cases, send_evidence
from checkers.models import QUEUE
from checkers.origin import CORRUPT, MISROUTED, PHANTOM, SettlesPhantoms, corrupt_cases, phantom_cases
from checkers.rows import INTACT
from checkers.subscriptions import ACK_NS, FIFO_VIOLATION, REDELIVERY_FLAG_MISSING, UNACKED_VANISHED
from checkers.view import LogView

LOST_DETAILS = ("the queue was drained, and nobody received it",)
UNSEEN_DETAILS = ("the queue was not drained",)
VANISHED_DETAILS = ("received, not acknowledged, and not delivered again",)
DUPLICATE_DETAILS = ("delivered after its acknowledgement",)


@dataclass(frozen=True)
class QueueView:
    """The messages of a queue, and what consumers acknowledged.

    Attributes:
        part: the queue.
    """

    part: Part

    @cached_property
    def log(self) -> LogView:
        """Sends and receives, with ids of values."""
        return self.part.view(LogView)

    @cached_property
    def drained(self) -> bool:
        """Whether the final read emptied the queue."""
        audit = self.part.setting.audit
        return isinstance(audit, Drained) and audit.complete

    @cached_property
    def acks(self) -> tuple[Ints, Ints]:
        """Value and row of the operation of each acknowledgement by a consumer, in order of time."""
        observations = self.part.observations
        own = np.flatnonzero(codes(observations["kind"], KINDS) == KINDS.index("acked"))
        return integers(observations["value"])[own], self.log.operations.rows_of(integers(observations["op"])[own])

    @cached_property
    def acked(self) -> Flags:
        """Whether a consumer acknowledged each value, by value id; whether that reached the system is unknown."""
        return np.isin(np.arange(self.log.values.size), self.log.values.ids(self._known(self.acks[0])))

    @cached_property
    def settled_ns(self) -> Ints:
        """When each value was first acknowledged by a consumer that lived on for a while, by value id; else `NONE`."""
        values, operation = self.acks
        rows = self.log.operations
        until_ns = np.maximum(rows.end_ns[operation], rows.start_ns[operation])
        sure = (rows.outcome[operation] != FAIL) & (last_ns(rows)[rows.process[operation]] >= until_ns + ACK_NS)
        sure &= np.isin(values, self.log.intact.value) & ~self._ended_soon(rows.process[operation], until_ns)
        ids, until_ns = self.log.values.ids(values[sure]), until_ns[sure]
        settled_ns = np.full(self.log.values.size, np.iinfo(np.int64).max)
        np.minimum.at(settled_ns, ids, until_ns)
        return np.where(settled_ns == np.iinfo(np.int64).max, NONE, settled_ns)

    @cached_property
    def first(self) -> Flags:
        """Whether each intact receive is the first one of its value."""
        received = first_rows(self.log.values.size, self.log.intact_values)
        first = np.zeros(self.log.intact.value.size, np.bool_)
        first[received[received != NONE]] = True
        return first

    @cached_property
    def unmarked(self) -> Flags:
        """Whether each intact receive is marked as the first delivery; not so where the system marks nothing."""
        messages = self.part.messages
        counts = integers(messages["delivery"])[np.flatnonzero(is_one_of(messages["direction"], ["received"]))]
        unmarked: Flags = counts[self.log.receives.payload == INTACT] == 0
        return unmarked

    def _known(self, values: Ints) -> Ints:
        """Return those of the values that were sent or received."""
        known: Ints = values[np.isin(values, np.concatenate([self.log.sends.value, self.log.intact.value]))]
        return known

    def _ended_soon(self, process: Ints, at_ns: Ints) -> Flags:
        """Return whether the process ended, or lost its connection, within the time that an acknowledgement takes."""
        rows = self.log.operations
        ending = np.flatnonzero(is_one_of(self.part.operations["f"], ENDING) | (rows.outcome == FAIL))
        end = following(process, at_ns, rows.process[ending], rows.start_ns[ending])
        soon = np.zeros(process.size, np.bool_)
        ended = end != NONE
        soon[ended] = rows.start_ns[ending[end[ended]]] - at_ns[ended] < ACK_NS
        return soon


def lost_cases(view: QueueView) -> pa.Table:
    """Find acknowledged messages that nobody received: lost if the queue was drained, otherwise unseen.

    Evidence: `op` sent it and `at_ns` is its acknowledgement.
    """
    log = view.log
    rows = np.flatnonzero(log.acked & ~log.visible[log.sent_values])
    rows = rows[np.sort(np.unique(log.sent_values[rows], return_index=True)[1])]
    anomaly, details = (LOST, LOST_DETAILS) if view.drained else (UNSEEN, UNSEEN_DETAILS)
    return findings_of(log.setting, anomaly, details=details, **send_evidence(log, rows))


def vanished_cases(view: QueueView) -> pa.Table:
    """Find messages that were received, that no consumer acknowledged, and that a drained queue does not have any more.

    If no acknowledgement was recorded at all, whoever receives a message has settled it. Evidence: `op` received it for
    the last time, at `at_ns`.
    """
    log = view.log
    if not view.acks[0].size:
        return no_findings()
    open_ = np.flatnonzero(~view.acked[log.intact_values] & log.sent[log.intact_values])
    if not view.drained or not open_.size:
        return no_findings()
    last = np.full(log.values.size, NONE)
    last[log.intact_values[open_]] = open_
    return _received(view, UNACKED_VANISHED, VANISHED_DETAILS, last[last != NONE])


def duplicate_cases(view: QueueView) -> pa.Table:
    """Find deliveries of messages whose acknowledgement had reached the system.

    Evidence: `op` received it at `at_ns`.
    """
    log = view.log
    again = np.flatnonzero(~view.first)
    if not again.size:
        return no_findings()
    settled_ns = view.settled_ns[log.intact_values[again]]
    late = (settled_ns != NONE) & (log.intact.received_ns[again] >= settled_ns + ACK_NS)
    return _received(view, DUPLICATE, DUPLICATE_DETAILS, again[late])


def unflagged_cases(view: QueueView) -> pa.Table:
    """Find deliveries after the first one of a message that are not marked. Evidence: `op` received it at `at_ns`."""
    return _received(view, REDELIVERY_FLAG_MISSING, (), np.flatnonzero(~view.first & view.unmarked))


def order_cases(view: QueueView) -> pa.Table:
    """Find first deliveries to a consumer after a later message of the same producer. What is delivered again is
    marked, and may come at any time.

    Evidence: `op` received it at `at_ns`; `other_value` is the latest message of its producer received before.
    """
    log = view.log
    row = np.flatnonzero(view.first & view.unmarked)
    process = log.operations.process[log.intact.operation[row]]
    producer = log.intact.value[row] >> PRODUCER_SHIFT
    order = np.lexsort((row, producer, process))
    row, process, producer = row[order], process[order], producer[order]
    if not row.size:
        return no_findings()
    group = np.cumsum(changes(process, producer)).astype(np.int64)
    values, rank = np.unique(log.intact.value[row], return_inverse=True)
    place, highest = running_maximum(group, rank, values.size)
    below = np.flatnonzero(place < highest)
    above = row[np.searchsorted(highest, highest[below])]
    return _received(view, FIFO_VIOLATION, (), row[below], other_value=log.intact.value[above])


def _received(view: QueueView, anomaly: Anomaly, details: tuple[str, ...], rows: Ints, **evidence: Ints) -> pa.Table:
    log = view.log
    return findings_of(
        log.setting,
        anomaly,
        details=details,
        value=log.intact.value[rows],
        position=np.full(rows.size, NONE),
        op=log.operations.op[log.intact.operation[rows]],
        at_ns=log.intact.received_ns[rows],
        **evidence,
    )


class QueueChecker(SettlesPhantoms):
    """Detects the anomalies of one queue; a `Checker` with the power `Settling`."""

    anomalies = (
        LOST, UNSEEN, UNACKED_VANISHED, DUPLICATE, REDELIVERY_FLAG_MISSING, FIFO_VIOLATION, FAILED_VISIBLE, PHANTOM,
        CORRUPT, MISROUTED,
    )  # fmt: skip
    models = QUEUE

    def check(self, part: Part) -> pa.Table:
        """Return the findings in the order of `anomalies`."""
        if not part.messages.num_rows:
            return no_findings()
        view = part.view(QueueView)
        found = [
            lost_cases(view),
            vanished_cases(view),
            duplicate_cases(view),
            unflagged_cases(view),
            order_cases(view),
            failed_visible_cases(view.log),
            phantom_cases(view.log),
            corrupt_cases(view.log),
        ]
        return merged(found)
