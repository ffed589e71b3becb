"""Which consumers a queue delivers to: to all that have room, or to a single active one until that one ends.

A session of a consumer was active at some time before its first delivery was received, and at some time after the
message among its deliveries that was sent last. An active consumer stays active until it ends, so it was active all the
time in between. Sessions that never received a message that was sent after their first receipt prove nothing.

Cost: O(n + s log s) for n deliveries and s sessions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Flags, Ints
from chaoskit.contract.checkers.anomaly import About, Anomaly
from chaoskit.contract.checkers.checker import FaultWindow
from chaoskit.model.observations.queue import Consuming
from checkers.arrays.columns import first_rows
from checkers.arrays.findings import delivery_findings, findings_of, no_findings
from checkers.arrays.models import QUEUES
from checkers.delivery.hindrances import concerned, hindering
from checkers.delivery.stuck import STUCK, asked, silences
from checkers.queue.view import MS, QueueView
from checkers.subscription.subscriptions import TWO_ACTIVE


def active_cases(view: QueueView) -> pa.Table:
    """Find sessions that began to receive while another one was surely active, and stayed so.

    Evidence: `op` received the session's first message at `at_ns`; `other_` is the first message of the other one.
    """
    log = view.log
    if not view.has("single-active") or not log.intact.value.size:
        return no_findings()
    sessions = view.sessions
    session = sessions.of_operations(log.operations, log.intact.operation)
    size = sessions.begin.size
    sent_ns = np.full(size, NONE)
    np.maximum.at(sent_ns, session, view.sent_ns[log.intact_values])
    first = first_rows(size, session)
    received_ns = log.intact.received_ns[first]
    proper = np.flatnonzero(sessions.consuming & (first != NONE) & (sent_ns > received_ns))
    proper = proper[np.lexsort((proper, received_ns[proper]))]
    until_ns = np.maximum.accumulate(sent_ns[proper])
    later = np.flatnonzero(received_ns[proper[1:]] < until_ns[:-1]) + 1
    # the session that has been active the longest so far
    holder = np.searchsorted(until_ns, until_ns[later - 1])
    others = first[proper[holder]]
    return delivery_findings(
        view.log,
        TWO_ACTIVE,
        first[proper[later]],
        other_value=log.intact.value[others],
        other_op=log.operations.op[log.intact.operation[others]],
    )


FAILOVER_NS = 30_000_000_000
"""How long another consumer may take to become active: longer than a system needs to notice that a connection ended."""

NO_FAILOVER = Anomaly(
    "no-failover",
    "the active consumer ended, and no other one became active although messages were waiting",
    QUEUES,
    about=About.READING,
)


def failover_cases(view: QueueView) -> pa.Table:
    """Find sessions that received nothing for more than 30 s of the load, after all those that had received something
    had ended, although a message was waiting all that time.

    Not judged at the time of a fault or within the bound after it. Evidence: `op` began the session, and `other_op` had
    sent `value`, which was waiting when the 30 s were over, at `at_ns`.
    """
    sessions, end_ns = view.sessions, view.log.setting.load_end_ns
    if not view.has("single-active") or "delay" in view.declared or end_ns is None:
        return no_findings()
    members = _members(view)
    cases: list[tuple[int, int, int]] = []
    for gap_ns in _gaps(view, end_ns):
        from_ns, until_ns = np.maximum(sessions.from_ns, gap_ns[0]), np.minimum(sessions.until_ns, gap_ns[1])
        quiet_ns = np.where(members, until_ns - from_ns, 0)
        session = int(np.argmax(quiet_ns))
        span_ns = int(from_ns[session]), int(until_ns[session])
        waiting = (view.stored_ns != NONE) & (view.stored_ns <= span_ns[0]) & (view.received_ns >= span_ns[1])
        if quiet_ns[session] > FAILOVER_NS and waiting.any() and not _disturbed(view, *span_ns):
            values = np.flatnonzero(waiting)
            cases.append((session, int(values[np.argmin(view.stored_ns[values])]), span_ns[0] + FAILOVER_NS))
    return _kept_waiting(view, NO_FAILOVER, cases)


def _gaps(view: QueueView, end_ns: int) -> list[tuple[int, int]]:
    """Return the times, longer than allowed, in which no session was open that had received something."""
    log, sessions = view.log, view.sessions
    session = sessions.of_operations(log.operations, log.intact.operation)
    first_ns = np.full(sessions.begin.size, np.iinfo(np.int64).max)
    np.minimum.at(first_ns, session, log.intact.received_ns)
    receiving = np.flatnonzero(sessions.consuming & (first_ns < end_ns))
    receiving = receiving[np.argsort(first_ns[receiving], kind="stable")]
    ends_ns = np.maximum.accumulate(sessions.gone_ns[receiving])
    next_ns = np.append(first_ns[receiving[1:]], np.full(min(receiving.size, 1), end_ns))
    long = np.flatnonzero(next_ns - ends_ns > FAILOVER_NS)
    return list(zip(ends_ns[long].tolist(), next_ns[long].tolist(), strict=True))


def _members(view: QueueView) -> Flags:
    """Return whether each session is one of a consumer of this queue.

    Consumers are known from a `subscribed`, or from what they received. Where no `subscribed` was recorded and there
    are no dead letters, whose consumers are others, every consumer consumes.
    """
    sessions, rows = view.sessions, view.log.operations
    subscribed: Ints = rows.rows_of(Consuming.ops(view.observations))
    here = rows.process[np.concatenate([subscribed, view.log.receives.operation])]
    members = sessions.consuming & sessions.open
    if not subscribed.size and not (view.has("dead-letters") or view.has("dead-letters-of")):
        return members
    chosen: Flags = members & np.isin(sessions.process, np.unique(here))
    return chosen


def stuck_cases(view: QueueView) -> pa.Table:
    """Find times, longer than the bound, in which a queue delivered nothing to a connected consumer that had room and
    asked, although a message was waiting that was delivered later.

    With a single active consumer, all those that are connected must have room. Evidence: `op` began the session;
    `other_op` had sent `value`, which was waiting when the bound ended, at `at_ns`.
    """
    if view.has("application"):  # whether it asked is not known
        return no_findings()
    log, sessions, setting = view.log, view.sessions, view.log.setting
    members = np.flatnonzero(_members(view))
    delay_ns = view.declared.get("delay", 0) * MS
    cases: list[tuple[int, int, int]] = []
    for gap_ns in silences(setting, _hindering(view), log.receives.received_ns, 0, setting.load_end_ns or 0):
        silent_ns, over_ns = np.maximum(sessions.from_ns, gap_ns[0]), np.minimum(sessions.until_ns, gap_ns[1])
        from_ns, until_ns = np.zeros_like(silent_ns), np.zeros_like(over_ns)
        for member in members.tolist():
            span = asked(log.operations, int(sessions.process[member]), int(silent_ns[member]), int(over_ns[member]))
            from_ns[member], until_ns[member] = span
        present = members[until_ns[members] > from_ns[members]]
        room = _room(view, silent_ns, present)
        if view.has("single-active") and not room.all():
            continue
        able = present[room & (until_ns[present] - from_ns[present] > setting.bound_ns)]
        for session in able[np.argsort(from_ns[able] - until_ns[able], kind="stable")][:1].tolist():
            ready_ns = np.where(view.stored_ns == NONE, until_ns[session], view.stored_ns + delay_ns)
            early = ready_ns + setting.bound_ns < until_ns[session]
            waiting = np.flatnonzero(early & (view.received_ns >= over_ns[session]))
            if waiting.size:
                value = int(waiting[np.argmin(ready_ns[waiting])])
                since_ns = max(int(from_ns[session]), int(ready_ns[value]))
                cases.append((session, value, since_ns + setting.bound_ns))
    return _kept_waiting(view, STUCK, cases)


def _hindering(view: QueueView) -> list[FaultWindow]:
    """Return the faults that may have kept messages from consumers, in order of time; where messages wait for their
    time, also what makes clocks wrong."""
    if "delay" in view.declared:
        return sorted(view.log.setting.faults, key=lambda fault: fault.start_ns)
    consumers = np.unique(view.sessions.process[_members(view)])
    return hindering(view.log.setting, concerned(view.operations, view.log, consumers.tolist()))


def _kept_waiting(view: QueueView, anomaly: Anomaly, cases: Sequence[tuple[int, int, int]]) -> pa.Table:
    """Return a finding for each session, with the value (id) that was kept waiting, and when that was too long."""
    log = view.log
    session, value, at_ns = np.array(cases, np.int64).reshape(-1, 3).T
    send = log.first_acks[value]
    return findings_of(
        log.setting,
        anomaly,
        value=log.sends.value[send],
        position=np.full(send.size, NONE),
        op=log.operations.op[view.sessions.begin[session]],
        other_op=log.operations.op[log.sends.operation[send]],
        at_ns=at_ns,
    )


def _room(view: QueueView, at_ns: Ints, chosen: Ints) -> Flags:
    """Return whether each of the chosen sessions had fewer unsettled deliveries than its prefetch at its time."""
    prefetch = view.declared.get("prefetch", 0)
    if prefetch < 1 or view.settled_by_receipt:
        return np.ones(chosen.size, np.bool_)
    log, sessions, rows = view.log, view.sessions, view.log.operations
    took, settled = log.receives.operation, view.settles.operation
    of_takes, of_settles = sessions.of_operations(rows, took), sessions.of_operations(rows, settled)
    held = [
        np.count_nonzero((of_takes == session) & (log.receives.received_ns <= at_ns[session]))
        - np.count_nonzero((of_settles == session) & (rows.start_ns[settled] <= at_ns[session]))
        for session in chosen.tolist()
    ]
    return np.array(held, np.int64) < prefetch


def _disturbed(view: QueueView, from_ns: int, until_ns: int) -> bool:
    """Return whether a fault, or the time after it in which the system may recover, falls into this time."""
    return any(
        fault.start_ns <= until_ns
        and (fault.healed_ns is None or fault.healed_ns + view.log.setting.bound_ns >= from_ns)
        for fault in _hindering(view)
    )
