"""Dead letters: what a queue drops goes to another queue, once, for a reason, and not too early.

A dead letter is told with the queue that it was sent to (observation `dead-lettered`), so its whole fate is judged
there. What cannot be concluded: how often a message was returned is known from above only, since a consumer that ended
may have had it without having looked at it; and what a killed consumer did last was not recorded, so dead letters
received after that are not judged by what consumers did.

Cost: O(n log n) for n dead letters.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Flags, Ints
from chaoskit.contract.checkers.anomaly import About, Anomaly, Gone
from checkers.arrays.columns import distinct
from checkers.arrays.ends import OK
from checkers.arrays.findings import delivery_findings, findings_of, no_findings
from checkers.arrays.models import QUEUES
from checkers.queue.fates import DROPPED_DETAILS, fates
from checkers.queue.view import (
    DELIVERY_LIMIT,
    ELSEWHERE,
    EXPIRED,
    MAXLEN,
    MS,
    REJECTED,
    DeadReceipts,
    QueueView,
)
from checkers.subscription.subscriptions import ACK_NS

DEAD_LETTER_MISSING = Anomaly(
    "dead-letter-missing",
    "a message that its queue dropped did not come to the dead letters",
    QUEUES,
    about=About.READING,
    gone=Gone.VANISHED,
    became="were dropped, and are not among the dead letters",
)


def missing_cases(view: QueueView) -> pa.Table:
    """Find messages that are gone, that no consumer acknowledged, that the queue had a reason to drop, and that are not
    among the dead letters.

    Needs both queues drained. Evidence: `op` sent it; it was dropped at `since_ns`, and had to be there at `at_ns`.
    """
    log, rows = view.log, view.log.operations
    if not (view.drained and view.has("dead-letters") and (rows.outcome[rows.asks] == OK).all() and rows.asks.any()):
        return no_findings()
    stored = np.zeros(log.values.size, np.bool_)
    stored[log.sent_values[log.acked]] = True
    settled = log.visible if view.settled_by_receipt else view.acked
    gone = np.flatnonzero((stored | (log.visible & log.sent)) & ~settled & (view.dead_ns == NONE))
    why, _ = fates(view, gone)
    gone, why = gone[why != NONE], why[why != NONE]
    dropped_ns = _dropped_ns(view, gone, why)
    send = log.first_sends[gone]
    operation = log.sends.operation[send]
    return findings_of(
        log.setting,
        DEAD_LETTER_MISSING,
        details=DROPPED_DETAILS,
        detail=why,
        value=log.sends.value[send],
        position=np.full(gone.size, NONE),
        op=rows.op[operation],
        since_ns=dropped_ns,
        at_ns=dropped_ns + ACK_NS,
    )


def _dropped_ns(view: QueueView, values: Ints, why: Ints) -> Ints:
    """Return when each value was dropped: rejected, left or returned for the last time, pushed out by later ones if
    none was consumed, or expired; never before the last consumer that had it ended."""
    starts_ns, _ = view.send_times_ns
    length, lives = view.declared.get("max-length", 0), view.declared.get("message-ttl", 0)
    settled_ns = np.full(view.log.values.size, NONE)
    known = np.flatnonzero(view.settles.value != NONE)
    np.maximum.at(settled_ns, view.settles.value[known], view.done_ns(view.settles.operation[known]))
    present_ns = np.maximum(view.sent_ns, view.stored_ns)[values]
    pusher = np.searchsorted(starts_ns, view.sent_ns[values]) + length
    pushed_ns = np.append(starts_ns, 0)[np.minimum(pusher, starts_ns.size)]
    last_ns = np.maximum(settled_ns, view.released_ns)[values]
    by_reason = [settled_ns[values], last_ns, np.maximum(pushed_ns, present_ns), present_ns + lives * MS]
    dropped_ns: Ints = np.maximum(np.choose(why, by_reason), np.where(why > 1, last_ns, 0))
    return dropped_ns


DEAD_LETTER_EARLY = Anomaly(
    "dead-letter-early",
    "a message was dead-lettered although its reason did not hold yet",
    QUEUES,
    about=About.READING,
)
EARLY_DETAILS = (
    "no consumer rejected it",
    "it was returned less often than the delivery limit",
    "the queue was never that long",
)


def early_cases(view: QueueView) -> pa.Table:
    """Find dead letters whose reason cannot have held: rejected by nobody, returned too seldom, in a queue that never
    had so many messages.

    Rejections are judged only where any are recorded. Evidence: `op` received it at `at_ns`.
    """
    if not view.dead.number.size:
        return no_findings()
    dead = _first_receipts(view)
    known = np.flatnonzero(dead.value != NONE)
    dead = dead.take(known[view.sent_ns[dead.value[known]] != NONE])
    at_ns = view.done_ns(dead.operation)
    starts_ns, _ = view.send_times_ns
    limit, length = view.declared.get("delivery-limit", 0), view.declared.get("max-length", 0)
    watched = ~_unwatched(view, at_ns)
    wrong = [
        (dead.reason == REJECTED) & watched & view.refused.any() & ~view.refused[dead.value],
        (dead.reason == DELIVERY_LIMIT) & watched & (view.returns(dead.value, at_ns) < limit),
        (dead.reason == MAXLEN) & (np.searchsorted(starts_ns, at_ns) < length),
    ]
    return _dead_findings(view, DEAD_LETTER_EARLY, dead, np.select(wrong, range(3), NONE), EARLY_DETAILS)


DEAD_LETTER_MISLABELLED = Anomaly(
    "dead-letter-mislabelled",
    "a dead letter has a reason that its queue cannot have, another queue's name, or a wrong count",
    QUEUES,
    about=About.READING,
)
MISLABELLED_DETAILS = (
    "the queue was not declared with what this reason needs",
    "it names another queue",
    "its reason is unknown",
    "it was dead-lettered less than once",
)
_NEEDS = {EXPIRED: ("message-ttl", "delay"), MAXLEN: ("max-length",), DELIVERY_LIMIT: ("delivery-limit",)}


def mislabelled_cases(view: QueueView) -> pa.Table:
    """Find dead letters with a reason that the declared settings do not allow, or a count below 1.

    Evidence: `op` received it at `at_ns`.
    """
    dead = _first_receipts(view)
    unfounded = [reason for reason, needs in _NEEDS.items() if not view.declared.keys() & set(needs)]
    wrong = [
        np.isin(dead.reason, unfounded),
        dead.reason == ELSEWHERE,
        dead.reason == NONE,
        (dead.count < 1) & (dead.count != NONE),
    ]
    return _dead_findings(view, DEAD_LETTER_MISLABELLED, dead, np.select(wrong, range(4), NONE), MISLABELLED_DETAILS)


DEAD_LETTER_TWICE = Anomaly(
    "dead-letter-twice", "a message came to the dead letters twice", QUEUES, about=About.READING
)


def twice_cases(view: QueueView) -> pa.Table:
    """Find deliveries of a dead letter after its first one that are not marked: it is there twice.

    Evidence: `op` received it at `at_ns`.
    """
    if not view.has("dead-letters-of"):
        return no_findings()
    rows = np.flatnonzero(~view.first & view.unmarked)
    since_ns = view.received_ns[view.log.intact_values[rows]]
    return delivery_findings(view.log, DEAD_LETTER_TWICE, rows, since_ns=since_ns)


EXPIRED_EARLY = Anomaly(
    "expired-early", "a message expired before its time to live had passed", QUEUES, about=About.READING
)


def expired_early_cases(view: QueueView) -> pa.Table:
    """Find dead letters that expired, and came sooner than their time to live after their send had begun.

    A system counts in ms, so it may be one ms early. Evidence: `op` received it at `at_ns`.
    """
    lives = view.declared.get("message-ttl")
    if lives is None:
        return no_findings()
    dead = _first_receipts(view)
    dead = dead.take(np.flatnonzero((dead.reason == EXPIRED) & (dead.value != NONE)))
    sent_ns = view.sent_ns[dead.value]
    early = (sent_ns != NONE) & (view.done_ns(dead.operation) < sent_ns + (lives - 1) * MS)
    return _dead_findings(view, EXPIRED_EARLY, dead, np.where(early, 0, NONE), ())


def _first_receipts(view: QueueView) -> DeadReceipts:
    """Return the first receipt of each message with each reason."""
    return view.dead.take(distinct(view.dead.number, view.dead.reason))


def _unwatched(view: QueueView, at_ns: Ints) -> Flags:
    """Return whether a consumer had been killed before: what it did last was not recorded."""
    sessions = view.sessions
    killed_ns = sessions.gone_ns[sessions.consuming & sessions.open & sessions.last]
    unwatched: Flags = at_ns >= killed_ns.min(initial=np.iinfo(np.int64).max)
    return unwatched


def _dead_findings(
    view: QueueView, anomaly: Anomaly, dead: DeadReceipts, detail: Ints, details: tuple[str, ...]
) -> pa.Table:
    """Report those of the dead letters whose `detail` is not `NONE`."""
    rows = np.flatnonzero(detail != NONE)
    return findings_of(
        view.log.setting,
        anomaly,
        details=details,
        detail=detail[rows],
        value=dead.number[rows],
        position=np.full(rows.size, NONE),
        op=view.log.operations.op[dead.operation[rows]],
        at_ns=view.done_ns(dead.operation)[rows],
    )
