"""Subscribers that are given nothing for longer than the bound, although messages wait for them, and that are given
messages after their subscription was over.

A message waited if it was acknowledged to its publisher, and came to the subscriber later: what never came is lost, or
missed. One whose publisher the subscriber may have lost from sight did not wait. A subscription is over from the end of
its `unsubscribe` until it is asked for again; not where the client lost its connection, for then nobody knows which
request the system has answered.

Cost: O(n) for each stay, and each end of a subscription.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Ints
from chaoskit.contract.checkers.checker import Part
from checkers.arrays.columns import NEVER_NS
from checkers.arrays.ends import FAIL
from checkers.arrays.findings import delivery_findings, findings_of, merged
from checkers.delivery.hindrances import Span, concerned, hindering
from checkers.delivery.origin import MISROUTED
from checkers.delivery.stuck import STUCK, asked, silences
from checkers.pubsub.loss import out_of_reach
from checkers.pubsub.view import FeedView, Stay

OVER_DETAILS = ("delivered after a confirmed unsubscribe",)


def stuck_cases(part: Part) -> pa.Table:
    """Find times, longer than the bound, in which a subscriber asked and was given nothing, although a message waited.

    Evidence: `op` subscribed; `other_op` had sent `value`, which was waiting when the bound ended, at `at_ns`.
    """
    view = part.view(FeedView)
    log = view.log
    active = log.operations.process[np.concatenate([log.sends.operation, log.receives.operation])]
    faults = hindering(log.setting, concerned(part.operations, log, np.unique(active).tolist()))
    stuck = []
    for stay in view.single:
        own = log.operations.process[log.receives.operation] == log.operations.process[stay.row]
        spans = [*silences(log.setting, faults, log.receives.received_ns[own], stay.from_ns, stay.until_ns)]
        if spans:
            stuck.append(_unread(view, stay, spans))
    return merged(stuck)


def _unread(view: FeedView, stay: Stay, silent: list[Span]) -> pa.Table:
    """Return a finding for each of these silences of a subscriber in which a message waited for it."""
    log, rows, bound_ns = view.log, view.log.operations, view.log.setting.bound_ns
    sends = np.flatnonzero(log.acked)
    operation = log.sends.operation[sends]
    due = (rows.start_ns[operation] >= stay.from_ns) & ~out_of_reach(view, stay, sends)
    sends, acked_ns = sends[due], rows.end_ns[operation[due]]
    first_ns = np.full(log.values.size, NEVER_NS)
    mine = np.flatnonzero(view.member_of[log.intact.operation] == stay.member)
    np.minimum.at(first_ns, log.intact_values[mine], log.intact.received_ns[mine])
    came_ns = first_ns[log.sent_values[sends]]
    waited: list[tuple[int, int]] = []
    for silent_ns, over_ns in silent:
        from_ns, until_ns = asked(rows, int(rows.process[stay.row]), silent_ns, over_ns)
        early = acked_ns + bound_ns < until_ns
        waiting = np.flatnonzero(early & (came_ns >= over_ns) & (came_ns < NEVER_NS))[:1]
        if waiting.size and until_ns - from_ns > bound_ns:
            waited.append((int(sends[waiting[0]]), max(from_ns, int(acked_ns[waiting[0]])) + bound_ns))
    send, at_ns = np.array(waited, np.int64).reshape(-1, 2).T
    return findings_of(
        log.setting,
        STUCK,
        value=log.sends.value[send],
        position=np.full(send.size, NONE),
        op=np.full(send.size, rows.op[stay.row]),
        other_op=rows.op[log.sends.operation[send]],
        at_ns=at_ns,
    )


def over_cases(view: FeedView) -> pa.Table:
    """Find what a client was given although its subscription was over before the message was sent: `misrouted`.

    Evidence: `op` received it at `at_ns`; `other_op` had sent it.
    """
    log, rows = view.log, view.log.operations
    changes = rows.rows_of(view.promises.op)
    ended = ~view.promises.began
    known = log.first_sends[log.intact_values]
    sent_ns = np.append(rows.start_ns[log.sends.operation], NONE)[known]
    process, at_ns = rows.process[log.intact.operation], log.intact.received_ns
    rows_given = [np.zeros(0, np.int64)]
    for over in changes[ended & (rows.end_ns[changes] != NONE)].tolist():
        over_ns = int(rows.end_ns[over]) + log.setting.apart_ns
        until_ns = _until_ns(view, changes[~ended], over)
        own = (process == rows.process[over]) & (sent_ns > over_ns) & (at_ns > over_ns) & (at_ns < until_ns)
        rows_given.append(np.flatnonzero(own))
    row = np.unique(np.concatenate(rows_given))
    other_op = rows.op[log.sends.operation[known[row]]]
    return delivery_findings(log, MISROUTED, row, OVER_DETAILS, other_op=other_op)


def _until_ns(view: FeedView, joins: Ints, over: int) -> int:
    """Return when a client asked for a subscription again after this end of one, or lost its connection."""
    rows = view.log.operations
    process, since_ns = rows.process[over], rows.start_ns[over]
    later = np.maximum(rows.end_ns[joins], rows.start_ns[joins]) >= rows.end_ns[over]
    again = joins[(rows.process[joins] == process) & later]
    gone = np.flatnonzero(rows.takes & (rows.outcome == FAIL) & (rows.process == process))
    gone = gone[np.maximum(rows.end_ns[gone], rows.start_ns[gone]) >= since_ns]
    return int(min(rows.start_ns[again].min(initial=NEVER_NS), rows.start_ns[gone].min(initial=NEVER_NS)))
