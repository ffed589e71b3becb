"""Violations of real-time order: between producers, and messages that appear behind a reader.

All clients share one clock (docs/history.md), so it is known across clients whether one operation was acknowledged
before another was invoked.

Cost: O(n) time; where producers overlap, O(k log k) for the k sends with a lower position than an earlier one.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Ints
from chaoskit.base.realtime import below_earlier
from chaoskit.contract.checkers.anomaly import About, Anomaly
from checkers.arrays.columns import NEVER_NS, marked
from checkers.arrays.findings import findings_of, merged, no_findings
from checkers.arrays.models import LOGS
from checkers.arrays.view import LogView

ORDER_VIOLATION_DETAILS = ("acknowledged before the other was invoked", "one operation's positions skip over another's")
LATE_DETAILS = ("acknowledged before it was passed", "acknowledged after it was passed")


ORDER_VIOLATION = Anomaly(
    "order-violation",
    "a message has a lower position than one that was acknowledged before it was sent",
    LOGS,
    about=About.PAIR,
)


def order_violation_cases(view: LogView) -> pa.Table:
    """Find messages with a lower position than one, of any producer, that was acknowledged before they were sent.

    Also sends of one operation with another operation's message between their positions. Jepsen: int-send-skip.
    Evidence: `op` sent the message and began at `at_ns`; `other_` is the message with the higher position that was
    acknowledged before, or the message in between.
    """
    return merged([_behind_acknowledged(view), _torn_apart(view)])


LATE = Anomaly(
    "late",
    "an acknowledged message appeared behind a reader that had passed its position",
    LOGS,
    implies=("passed-over",),
    about=About.READING,
)


def late_cases(view: LogView) -> pa.Table:
    """Find acknowledged messages that appeared behind a reader: it had already passed their position when they were
    first seen.

    Evidence: `op` sent it and `at_ns` is when it was first seen; `other_op` is the poll that passed it first, and
    `other_position` is where that poll landed.
    """
    _, after, first, count = view.passed
    if not count.size:
        return no_findings()
    timed = view.receives.received_ns[after] != NONE
    after, first, count = after[timed], first[timed], count[timed]
    jump = np.repeat(np.arange(count.size), count)
    passed = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count - first, count)
    reads = view.receives
    earliest = np.lexsort((reads.operation[after[jump]], reads.received_ns[after[jump]], passed))
    earliest = earliest[np.flatnonzero(np.diff(passed[earliest], prepend=NONE))]
    jump, passed = jump[earliest], view.visible_positions[passed[earliest]]
    value = view.intact_values[view.first_received_at(passed)]
    seen_ns = _first_seen_ns(view, value)
    send = view.first_acks[value]
    chosen = (seen_ns > reads.received_ns[after[jump]]) & (send != NONE)
    send, passer, passed, seen_ns = send[chosen], after[jump[chosen]], passed[chosen], seen_ns[chosen]
    acked_ns = view.operations.end_ns[view.sends.operation[send]]
    return findings_of(
        view.setting,
        LATE,
        details=LATE_DETAILS,
        detail=np.where(acked_ns <= reads.received_ns[passer], 0, 1),
        value=view.sends.value[send],
        position=view.positions.numbers(passed),
        op=view.operations.op[view.sends.operation[send]],
        other_position=reads.position[passer],
        other_op=view.operations.op[reads.operation[passer]],
        at_ns=seen_ns,
    )


def _behind_acknowledged(view: LogView) -> pa.Table:
    sends, operations = view.sends, view.operations
    rows, place = view.places
    invoked = np.argsort(rows, kind="stable")
    rows, place = rows[invoked], place[invoked]
    suspects = np.flatnonzero(place < np.maximum.accumulate(place)) if rows.size else rows
    acked = np.flatnonzero(view.acked[rows]) if suspects.size else rows[:0]
    start_ns = operations.start_ns[sends.operation[rows[suspects]]]
    end_ns = operations.end_ns[sends.operation[rows[acked]]]
    below, above = below_earlier(start_ns, place[suspects], end_ns, place[acked])
    later, earlier = suspects[below], acked[above]
    return _violations(view, 0, rows=rows[later], place=place[later], other=rows[earlier], other_place=place[earlier])


def _torn_apart(view: LogView) -> pa.Table:
    operation = view.sends.operation
    second = np.flatnonzero(operation[1:] == operation[:-1]) + 1
    if not second.size:
        return findings_of(view.setting, ORDER_VIOLATION, value=second, position=second, op=second)
    rows, place = view.places
    places = np.full(operation.size, NONE)
    places[rows] = place
    low, high = places[second - 1], places[second]
    second, low, high = (array[(low != NONE) & (high > low)] for array in (second, low, high))
    occupied = np.argsort(place, kind="stable")
    between = np.searchsorted(place[occupied], low, side="right")
    other = rows[occupied[np.minimum(between, occupied.size - 1)]]
    foreign = (places[other] > low) & (places[other] < high) & (operation[other] != operation[second])
    rows, other = second[foreign], other[foreign]
    return _violations(view, 1, rows=rows, place=high[foreign], other=other, other_place=places[other])


def _violations(view: LogView, detail: int, *, rows: Ints, place: Ints, other: Ints, other_place: Ints) -> pa.Table:
    sends, operations = view.sends, view.operations
    return findings_of(
        view.setting,
        ORDER_VIOLATION,
        details=ORDER_VIOLATION_DETAILS,
        detail=detail,
        value=sends.value[rows],
        position=view.positions.numbers(place),
        op=operations.op[sends.operation[rows]],
        other_value=sends.value[other],
        other_position=view.positions.numbers(other_place),
        other_op=operations.op[sends.operation[other]],
        at_ns=operations.start_ns[sends.operation[rows]],
    )


def _first_seen_ns(view: LogView, values: Ints) -> Ints:
    """Return when each of these visible values (ids) was first received by any client."""
    wanted = marked(view.values.size, values)
    rows = np.flatnonzero(wanted[view.intact_values]) if values.size else values
    seen_ns = np.full(view.values.size if values.size else 0, NEVER_NS)
    np.minimum.at(seen_ns, view.intact_values[rows], view.intact.received_ns[rows])
    first: Ints = seen_ns[values]
    return first
