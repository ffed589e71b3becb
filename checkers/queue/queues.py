"""The checker of queues: a message is there until a consumer settles it, and then it is gone.

A queue has no positions: messages are identified by their values. The final read drains what is left, so an
acknowledged message that nobody ever received is lost, unless a setting of the queue may have dropped it
(`queue_fates`). What cannot be concluded: an acknowledgement has no receipt, so one counts only if its consumer lived
on for a while. In a queue of dead letters, a message that was never sent anywhere is not found.

Cost: O(n log n) for n deliveries.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Ints, is_one_of
from chaoskit.contract.checkers.anomaly import Anomaly, Gone
from chaoskit.contract.checkers.checker import Part
from checkers.arrays.columns import distinct, marked
from checkers.arrays.findings import delivery_findings, findings_of, merged, no_findings
from checkers.arrays.models import QUEUES
from checkers.delivery.copies import DUPLICATE
from checkers.delivery.loss import FAILED_VISIBLE, LOST, UNSEEN, failed_visible_cases, send_evidence
from checkers.delivery.origin import (
    CORRUPT,
    MISROUTED,
    NOT_SENT_HERE,
    PHANTOM,
    SettlesPhantoms,
    corrupt_cases,
    phantom_cases,
)
from checkers.delivery.overtaken import overtaken
from checkers.delivery.stuck import STUCK
from checkers.queue.activity import NO_FAILOVER, active_cases, failover_cases, stuck_cases
from checkers.queue.dead_letters import (
    DEAD_LETTER_EARLY,
    DEAD_LETTER_MISLABELLED,
    DEAD_LETTER_MISSING,
    DEAD_LETTER_TWICE,
    EXPIRED_EARLY,
    early_cases,
    expired_early_cases,
    mislabelled_cases,
    missing_cases,
    twice_cases,
)
from checkers.queue.fates import DOUBT_DETAILS, DROPPED_DETAILS, fates
from checkers.queue.limits import (
    DELIVERY_LIMIT_EXCEEDED,
    DEPTH_WRONG,
    OVER_LENGTH,
    UNROUTABLE_CONFIRMED,
    depth_cases,
    exceeded_cases,
    over_length_cases,
    unroutable_cases,
)
from checkers.queue.times import (
    DELIVERED_EARLY,
    EXPIRED_LATE,
    PRIORITY_INVERSION,
    delivered_early_cases,
    expired_late_cases,
    inversion_cases,
)
from checkers.queue.view import ACKED, QueueView
from checkers.subscription.subscriptions import (
    ACK_NS,
    FIFO_VIOLATION,
    REDELIVERY_FLAG_MISSING,
    TWO_ACTIVE,
    UNACKED_VANISHED,
)

LOST_DETAILS = ("the queue was drained, and nobody received it",)
UNSEEN_DETAILS = ("the queue was not drained", *DOUBT_DETAILS)
VANISHED_DETAILS = ("received, not acknowledged, and not delivered again",)
DUPLICATE_DETAILS = (
    "delivered after it was settled",
    "delivered after it was dead-lettered",
    "dead-lettered after it was acknowledged",
)


def gone_cases(view: QueueView) -> pa.Table:
    """Find what became of the messages that are gone. Their queue had to drop a number of all of them together."""
    rows, unsettled = _unreceived(view), _unsettled(view)
    values = np.concatenate([view.log.sent_values[rows], unsettled]).astype(np.int64)
    reason, doubt = fates(view, values)
    open_ = reason == NONE
    return merged(
        [
            _lost(view, rows[open_[: rows.size]], doubt[: rows.size][open_[: rows.size]]),
            _vanished(view, unsettled[open_[rows.size :]], doubt[rows.size :][open_[rows.size :]]),
            _dropped(view, values[reason > 0], reason[reason > 0]),
        ]
    )


def _lost(view: QueueView, rows: Ints, doubt: Ints) -> pa.Table:
    """Find acknowledged messages that nobody received and that the queue cannot have dropped: lost if the queue was
    drained, otherwise unseen. Those that it may have dropped are unseen.

    Evidence: `op` sent it and `at_ns` is its acknowledgement.
    """
    log = view.log
    if not view.drained:
        return findings_of(log.setting, UNSEEN, details=UNSEEN_DETAILS, **send_evidence(log, rows))
    sure, unsure = rows[doubt == NONE], doubt != NONE
    return merged(
        [
            findings_of(log.setting, LOST, details=LOST_DETAILS, **send_evidence(log, sure)),
            findings_of(
                log.setting,
                UNSEEN,
                details=UNSEEN_DETAILS,
                detail=doubt[unsure] + 1,
                **send_evidence(log, rows[unsure]),
            ),
        ]
    )


def _unreceived(view: QueueView) -> Ints:
    """Return a row of the send of each acknowledged message that nobody received, not as a dead letter either."""
    log = view.log
    if view.has("unrouted"):
        return np.zeros(0, np.int64)
    rows = np.flatnonzero(log.acked & ~log.visible[log.sent_values] & (view.dead_ns[log.sent_values] == NONE))
    once: Ints = rows[np.sort(np.unique(log.sent_values[rows], return_index=True)[1])]
    return once


def _unsettled(view: QueueView) -> Ints:
    """Return the values (ids) that were received and settled by nobody, of a queue that was drained.

    If no settlement was recorded at all, who polls a message has settled it; who takes one with `receive` has not.
    """
    log = view.log
    if not view.drained or view.settled_by_receipt:
        return np.zeros(0, np.int64)
    open_ = log.visible & ~view.acked & (view.dead_ns == NONE)
    if not view.has("dead-letters-of"):
        open_ &= log.sent
    return np.flatnonzero(open_)


def _vanished(view: QueueView, values: Ints, doubt: Ints) -> pa.Table:
    """Find messages that were received, that no consumer settled, and that the queue does not have any more after it
    was drained, although it cannot have dropped them. Those that it may have dropped are unseen.

    Evidence: `op` received it for the last time, at `at_ns`.
    """
    log = view.log
    rows = np.flatnonzero(marked(log.values.size, values)[log.intact_values])
    last = np.full(log.values.size, NONE)
    last[log.intact_values[rows]] = rows
    sure, unsure = values[doubt == NONE], doubt != NONE
    return merged(
        [
            delivery_findings(view.log, UNACKED_VANISHED, last[sure], VANISHED_DETAILS),
            delivery_findings(view.log, UNSEEN, last[values[unsure]], UNSEEN_DETAILS, detail=doubt[unsure] + 1),
        ]
    )


DROPPED = Anomaly(
    "dropped",
    "a queue dropped an acknowledged message that no consumer had settled",
    QUEUES,
    gone=Gone.DROPPED,
    became="were dropped by their queue",
)


def _dropped(view: QueueView, values: Ints, reason: Ints) -> pa.Table:
    """Find messages that a limit of their queue, or their time to live, made it drop, where it has no dead letters.

    What a consumer rejected is not among them. Evidence: `op` sent it and `at_ns` is its acknowledgement.
    """
    log = view.log
    if not view.drained or view.has("dead-letters"):
        return no_findings()
    rows = log.first_sends[values]
    return findings_of(
        log.setting,
        DROPPED,
        details=DROPPED_DETAILS,
        detail=reason[rows != NONE],
        **send_evidence(log, rows[rows != NONE]),
    )


def duplicate_cases(view: QueueView) -> pa.Table:
    """Find deliveries of messages whose acknowledgement or rejection had reached the system, or that had been
    dead-lettered; and dead letters whose acknowledgement had reached it.

    A second delivery of a dead letter that is not marked is `dead-letter-twice` instead. Evidence: `op` received it at
    `at_ns`; it had been settled, or dead-lettered, at `since_ns`.
    """
    log = view.log
    again = np.flatnonzero(~view.first & ~(view.unmarked & view.has("dead-letters-of")))
    dead = np.flatnonzero((view.dead_ns != NONE)[log.intact_values]) if view.dead.value.size else again[:0]
    rows = np.concatenate([dead, again])
    since_ns = np.concatenate([view.dead_ns[log.intact_values[dead]], view.settled_ns(log.intact_values[again])])
    late = (since_ns != NONE) & (log.intact.received_ns[rows] >= since_ns + ACK_NS)
    rows, first = np.unique(rows[late], return_index=True)
    chosen = np.flatnonzero(late)[first]
    detail = (chosen < dead.size).astype(np.int64)
    cases = delivery_findings(view.log, DUPLICATE, rows, DUPLICATE_DETAILS, detail=detail, since_ns=since_ns[chosen])
    return merged([cases, _dead_although_acked(view)])


def _dead_although_acked(view: QueueView) -> pa.Table:
    """Find the first receipts of dead letters that a consumer had surely acknowledged before."""
    dead = view.dead.take(np.flatnonzero(view.dead.value != NONE))
    dead = dead.take(distinct(dead.value))
    at_ns, since_ns = view.done_ns(dead.operation), view.settled_ns(dead.value, (ACKED,))
    late = np.flatnonzero((since_ns != NONE) & (at_ns >= since_ns + ACK_NS))
    return findings_of(
        view.log.setting,
        DUPLICATE,
        details=DUPLICATE_DETAILS,
        detail=2,
        value=dead.number[late],
        position=np.full(late.size, NONE),
        op=view.log.operations.op[dead.operation[late]],
        at_ns=at_ns[late],
        since_ns=since_ns[late],
    )


def unflagged_cases(view: QueueView) -> pa.Table:
    """Find deliveries after the first one of a message that are not marked. Evidence: `op` received it at `at_ns`.

    Not in a queue of dead letters, where this is `dead-letter-twice`.
    """
    if view.has("dead-letters-of"):
        return no_findings()
    rows = np.flatnonzero(~view.first & view.unmarked)
    since_ns = view.received_ns[view.log.intact_values[rows]]
    return delivery_findings(view.log, REDELIVERY_FLAG_MISSING, rows, since_ns=since_ns)


def order_cases(view: QueueView) -> pa.Table:
    """Find first deliveries to a consumer after a later message of the same producer. What is delivered again is
    marked, and may come at any time.

    Not where messages have priorities or wait for their time, nor in a queue of dead letters. Evidence: `op` received
    it at `at_ns`; `other_value` is the latest message of its producer received before.
    """
    if view.unordered:
        return no_findings()
    late, later = overtaken(view.log, np.flatnonzero(view.first & view.unmarked))
    return delivery_findings(view.log, FIFO_VIOLATION, late, other_value=view.log.intact.value[later])


def strange_cases(view: QueueView) -> pa.Table:
    """Find phantoms, see `phantom_cases`. In a queue of dead letters every message was sent to another queue, so only
    those from another run are told."""
    phantoms = phantom_cases(view.log)
    if view.has("dead-letters-of"):
        return phantoms.filter(pa.array(~is_one_of(phantoms["detail"], [NOT_SENT_HERE])))
    return phantoms


_CASES = (
    gone_cases,
    duplicate_cases,
    unflagged_cases,
    order_cases,
    missing_cases,
    early_cases,
    mislabelled_cases,
    twice_cases,
    expired_early_cases,
    expired_late_cases,
    delivered_early_cases,
    inversion_cases,
    unroutable_cases,
    over_length_cases,
    depth_cases,
    exceeded_cases,
    active_cases,
    failover_cases,
    stuck_cases,
)


class QueueChecker(SettlesPhantoms):
    """Detects the anomalies of one queue; a `Checker` with the power `Settling`."""

    anomalies = (
        LOST, UNSEEN, UNACKED_VANISHED, DROPPED, DUPLICATE, REDELIVERY_FLAG_MISSING, FIFO_VIOLATION,
        DEAD_LETTER_MISSING, DEAD_LETTER_EARLY, DEAD_LETTER_MISLABELLED, DEAD_LETTER_TWICE, EXPIRED_EARLY, EXPIRED_LATE,
        DELIVERED_EARLY, PRIORITY_INVERSION, UNROUTABLE_CONFIRMED, OVER_LENGTH, DEPTH_WRONG, DELIVERY_LIMIT_EXCEEDED,
        TWO_ACTIVE, NO_FAILOVER, STUCK, FAILED_VISIBLE, PHANTOM, CORRUPT, MISROUTED,
    )  # fmt: skip
    models = QUEUES

    def check(self, part: Part) -> pa.Table:
        """Return the findings in the order of `anomalies`."""
        if not (part.messages.num_rows or part.observations.num_rows):
            return no_findings()
        view = part.view(QueueView)
        tables = [cases(view) for cases in _CASES]
        return merged([*tables, failed_visible_cases(view.log), strange_cases(view), corrupt_cases(view.log)])
