"""Limits that a queue was declared with: how many messages it keeps and tells, how often it delivers one, and what
nobody can receive.

Cost: O(n log n) for n deliveries, only where a limit is declared.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Ints
from chaoskit.contract.checkers.anomaly import About, Anomaly
from chaoskit.model.observations.queue import Depth
from checkers.arrays.columns import run_starts
from checkers.arrays.findings import delivery_findings, findings_of, no_findings
from checkers.arrays.models import QUEUES
from checkers.delivery.loss import send_evidence
from checkers.queue.view import NACKED, QueueView
from checkers.subscription.subscriptions import ACK_NS

UNROUTABLE_CONFIRMED = Anomaly(
    "unroutable-confirmed", "a message that no queue can have received was acknowledged to its producer", QUEUES
)


def unroutable_cases(view: QueueView) -> pa.Table:
    """Find acknowledged sends to a routing key without a queue. Evidence: `op` sent it, acknowledged at `at_ns`."""
    if not view.has("unrouted"):
        return no_findings()
    log = view.log
    return findings_of(log.setting, UNROUTABLE_CONFIRMED, details=(), **send_evidence(log, np.flatnonzero(log.acked)))


OVER_LENGTH = Anomaly("over-length", "a queue kept more messages than its maximum length", QUEUES, about=About.READING)


def over_length_cases(view: QueueView) -> pa.Table:
    """Find a queue that had more messages than its maximum length when the final read began.

    These are the messages that the auditor received first of all, and that had been sent before. What consumers had
    before may come back later, and does not count. Evidence: `op` is the final read, which began at `at_ns`.
    """
    length, log = view.declared.get("max-length"), view.log
    audit_ns, _ = view.audit_ns
    if length is None or audit_ns == NONE or "delay" in view.declared:
        return no_findings()
    kept = _waiting(view, audit_ns)
    asks = np.flatnonzero(log.operations.asks)[: int(kept > length)]
    return _audit_findings(view, OVER_LENGTH, asks, f"{kept} messages, and at most {length} are allowed")


DEPTH_WRONG = Anomaly(
    "depth-wrong", "a queue reported another number of messages than it had", QUEUES, about=About.READING
)


def depth_cases(view: QueueView) -> pa.Table:
    """Find a number of ready messages, as told before the final read, that cannot be right.

    It must count what the auditor received first of all and had been sent before; and it cannot count more than what
    the auditor received at all, unless messages may have expired or been dropped meanwhile. Only if the queue was
    drained, and not where messages wait for their time. Evidence: `op` is the final read, which began at `at_ns`.
    """
    log, reported = view.log, Depth.first(view.observations)
    if reported is None or not view.drained or "delay" in view.declared:
        return no_findings()
    op, depth = reported
    operation = log.operations.rows_of(np.array([op]))
    least = _waiting(view, int(log.operations.start_ns[operation][0]))
    most = int(np.count_nonzero(log.operations.audits[log.receives.operation]))
    drops = bool(view.dead.number.size) or bool(view.declared.keys() & {"message-ttl", "max-length"})
    right = depth >= least and (depth <= most or drops)
    number = least if depth < least else most
    return _audit_findings(view, DEPTH_WRONG, operation[: int(not right)], f"told {depth}, received {number}")


DELIVERY_LIMIT_EXCEEDED = Anomaly(
    "delivery-limit-exceeded",
    "a message was delivered again although it had been returned more often than the limit",
    QUEUES,
    about=About.READING,
)


def exceeded_cases(view: QueueView) -> pa.Table:
    """Find deliveries of messages that consumers had surely returned more often than the limit, 1 s or more before.

    A queue drops a message on its return number limit + 1.

    Evidence: `op` received it at `at_ns`; `other_op` had returned it.
    """
    limit, log = view.declared.get("delivery-limit"), view.log
    if limit is None:
        return no_findings()
    returned = np.flatnonzero((view.settles.kind == NACKED) & (view.settles.value != NONE))
    nacks = view.sure(view.settles.take(returned))
    value, operation, until_ns = nacks.value, nacks.operation, view.done_ns(nacks.operation)
    order = np.lexsort((until_ns, value))
    last = order[np.arange(order.size) - run_starts(value[order]) == limit]
    final = np.full(log.values.size, NONE)
    final[value[last]] = last
    rows = np.flatnonzero(final[log.intact_values] != NONE)
    nack = final[log.intact_values[rows]]
    late = log.intact.received_ns[rows] >= until_ns[nack] + ACK_NS
    other_op = log.operations.op[operation[nack[late]]]
    return delivery_findings(view.log, DELIVERY_LIMIT_EXCEEDED, rows[late], other_op=other_op)


def _waiting(view: QueueView, at_ns: int) -> int:
    """Return how many messages the queue had then at least: stored before, and delivered first to the auditor."""
    log = view.log
    rows = np.flatnonzero(log.operations.audits[log.intact.operation] & view.unmarked & view.first)
    stored_ns = view.stored_ns[log.intact_values[rows]]
    return int(np.count_nonzero((stored_ns != NONE) & (stored_ns < at_ns)))


def _audit_findings(view: QueueView, anomaly: Anomaly, operation: Ints, detail: str) -> pa.Table:
    none, rows = np.full(operation.size, NONE), view.log.operations
    return findings_of(
        view.log.setting,
        anomaly,
        details=(detail,),
        value=none,
        position=none,
        op=rows.op[operation],
        at_ns=rows.start_ns[operation],
    )
