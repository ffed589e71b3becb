"""When a queue may deliver a message: not before its delay, not after it expired, and the higher priority first.

A delivery may have waited for its consumer in a buffer, so it counts from when it was surely pushed: a consumer that
has as many unsettled deliveries as its prefetch gets the next one only after it settled one of them, and none before it
subscribed. What cannot be concluded: whether a message expired that nobody received, and how those are delivered that
were delivered before.

Cost: O(n log n) for n deliveries, times the number of priorities, only where these settings are declared.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Ints
from chaoskit.contract.checkers.anomaly import About, Anomaly
from chaoskit.model.observations.queue import Prioritised
from checkers.arrays.columns import marked, run_starts
from checkers.arrays.findings import delivery_findings, no_findings
from checkers.arrays.models import QUEUES
from checkers.arrays.rows import INTACT
from checkers.queue.view import MS, QueueView
from checkers.subscription.subscriptions import ACK_NS

EXPIRED_LATE = Anomaly(
    "expired-late", "a message was delivered after its time to live had passed", QUEUES, about=About.READING
)


def expired_late_cases(view: QueueView) -> pa.Table:
    """Find first deliveries that were surely pushed 1 s or more after the message had expired.

    Its time to live counts from its acknowledgement at the latest, or from when its delay had passed then. The
    auditor's own message may live longer than others. Evidence: `op` received it at `at_ns`.
    """
    log = view.log
    lives = view.declared.get("message-ttl")
    if lives is None:
        return no_findings()
    stored_ns = view.stored_ns[log.intact_values]
    until_ns = stored_ns + (lives + view.declared.get("delay", 0)) * MS + ACK_NS
    probes = marked(log.values.size, log.sent_values[log.operations.audits[log.sends.operation]])[log.intact_values]
    late = (stored_ns != NONE) & ~probes & (pushed_after_ns(view) >= until_ns)
    return delivery_findings(view.log, EXPIRED_LATE, np.flatnonzero(late & view.first & view.unmarked))


DELIVERED_EARLY = Anomaly(
    "delivered-early", "a message was delivered before its delay had passed", QUEUES, about=About.READING
)


def delivered_early_cases(view: QueueView) -> pa.Table:
    """Find deliveries sooner than the declared delay after the message's send had begun.

    A system counts in ms, so it may be one ms early. Evidence: `op` received it at `at_ns`.
    """
    delay = view.declared.get("delay")
    if delay is None:
        return no_findings()
    sent_ns = view.sent_ns[view.log.intact_values]
    early = (sent_ns != NONE) & (view.log.intact.received_ns < sent_ns + (delay - 1) * MS)
    return delivery_findings(view.log, DELIVERED_EARLY, np.flatnonzero(early))


PRIORITY_INVERSION = Anomaly(
    "priority-inversion",
    "a message was delivered although one with a higher priority was waiting",
    QUEUES,
    about=About.READING,
)


def inversion_cases(view: QueueView) -> pa.Table:
    """Find first deliveries that were pushed while a message with a higher priority was ready.

    That one had been acknowledged 1 s or more before this one was surely pushed, and was itself pushed, for the first
    time, only after this one had been received. Evidence: `op` received the message at `at_ns`; `other_` is one with a
    higher priority and its first receipt.
    """
    log = view.log
    if view.declared.get("priorities", 0) < 2 or view.declared.get("prefetch", 0) < 1:
        return no_findings()
    rows = np.flatnonzero(view.first & view.unmarked)
    values = log.intact_values[rows]
    priority, pushed_ns = _priorities(view)[values], pushed_after_ns(view)[rows]
    received_ns, ready_ns = log.intact.received_ns[rows], view.stored_ns[values]
    consumed = ~log.operations.audits[log.intact.operation[rows]]
    order = np.flatnonzero(ready_ns != NONE)
    order = order[np.argsort(ready_ns[order], kind="stable")]
    inverted, others = [rows[:0]], [rows[:0]]
    for level in np.unique(priority)[:-1]:
        higher, lower = order[priority[order] > level], np.flatnonzero((priority == level) & consumed)
        latest_ns = np.maximum.accumulate(pushed_ns[higher])
        count = np.searchsorted(ready_ns[higher] + ACK_NS, pushed_ns[lower], side="right")
        lower, count = lower[count > 0], count[count > 0]
        waited = latest_ns[count - 1] > received_ns[lower]
        inverted.append(rows[lower[waited]])
        others.append(rows[higher[np.searchsorted(latest_ns, latest_ns[count[waited] - 1])]])
    other = np.concatenate(others)
    return delivery_findings(
        view.log,
        PRIORITY_INVERSION,
        np.concatenate(inverted),
        other_value=log.intact.value[other],
        other_op=log.operations.op[log.intact.operation[other]],
    )


def pushed_after_ns(view: QueueView) -> Ints:
    """Return for each intact receive a time before which it was not pushed to its consumer; `NONE` if none is known.

    Of a consumer with prefetch P, the n-th delivery of a session was pushed after it had begun to settle the (n-P)-th
    time. The auditor has a prefetch of its own.
    """
    log, sessions = view.log, view.sessions
    rows, receives = log.operations, log.receives
    session = sessions.of_operations(rows, receives.operation)
    order = np.argsort(session, kind="stable")
    place = np.empty(order.size, np.int64)
    place[order] = np.arange(order.size) - run_starts(session[order])
    pushed_ns = sessions.joined_ns[session]
    prefetch = view.declared.get("prefetch", 0)
    if prefetch > 0 and view.settles.operation.size:
        settling = sessions.of_operations(rows, view.settles.operation)
        by_session = np.argsort(settling, kind="stable")
        begins = np.searchsorted(settling[by_session], np.arange(sessions.begin.size + 1))
        nth = begins[session] + place - prefetch
        known = (place >= prefetch) & (nth < begins[session + 1]) & sessions.consuming[session]
        settle = view.settles.operation[by_session[np.where(known, nth, 0)]]
        known &= settle < receives.operation
        pushed_ns = np.where(known, np.maximum(pushed_ns, rows.start_ns[settle]), pushed_ns)
    intact: Ints = pushed_ns[receives.payload == INTACT]
    return intact


def _priorities(view: QueueView) -> Ints:
    """Return the priority of each message, by value id; 0 unless told."""
    value, number = Prioritised.read(view.observations)
    ids = view.ids(value)
    priority = np.zeros(view.log.values.size, np.int64)
    priority[ids[ids != NONE]] = number[ids != NONE]
    return priority
