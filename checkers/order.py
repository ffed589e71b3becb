"""Messages that lie, or were read, out of order.

A producer is one ordered pipeline: it invokes its sends in the order of their sequence, so the log
must keep that order for each key (messages without a key are one group). A consumer moves forward,
one visible message at a time, until it is repositioned. What cannot be concluded: the order of
messages whose position nobody knows, and a skip over positions that nobody read.

Cost: O(n) time for unkeyed messages, a radix sort for keyed ones; 24 bytes a message.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from chaoskit.history.schema import PRODUCER_SHIFT
from checkers.columns import NONE, Ints, first_rows, marked, running_maximum, stable_order
from checkers.findings import findings_of
from checkers.view import LogView

REORDERED = ("completed before the next was invoked", "one ordered pipeline")
MOVED = ("internal", "between polls")


def reordered_cases(view: LogView) -> pa.Table:
    """Find sends that lie below an earlier send of the same producer and key.

    A send lies where it was first received, or if it never was, where its acknowledgement says.
    Jepsen: int-nonmonotonic-send, nonmonotonic-send. Evidence: `op` is the later send, completed at
    `at_ns`; `other_` is the earlier one that lies highest.
    """
    sends, operations = view.sends, view.operations
    rows, group, place = _pipelines(view)
    rank, highest = running_maximum(group, place, view.positions.size)
    below = np.flatnonzero(rank < highest)
    above = np.searchsorted(highest, highest[below])
    later, earlier = sends.operation[rows[below]], sends.operation[rows[above]]
    completed = view.acked[rows[above]] & (operations.end_ns[earlier] < operations.start_ns[later])
    return findings_of(
        view.context,
        "reordered",
        details=REORDERED,
        detail=np.where(completed, 0, 1),
        value=sends.value[rows[below]],
        position=view.positions.numbers(place[below]),
        op=operations.op[later],
        other_value=sends.value[rows[above]],
        other_position=view.positions.numbers(place[above]),
        other_op=operations.op[earlier],
        at_ns=operations.end_ns[later],
    )


def skipped_cases(view: LogView) -> pa.Table:
    """Find where a consumer moved forward past a position that holds a visible message.

    Jepsen: poll-skip, int-poll-skip. Evidence: `value`, `position` and `op` are where it landed,
    `other_op` is the receive before, `other_position` the first visible position passed over, and
    `other_value` what lies there.
    """
    before, after = view.jumps
    positions = view.positions
    visible = np.flatnonzero(marked(positions.size, view.intact_positions[view.placed]))
    # The appended id lies above all positions: it ends the search, and nobody lands above it.
    visible = np.append(visible, positions.size)
    passed = visible[np.searchsorted(visible, view.read_positions[before], side="right")]
    over = passed < view.read_positions[after]
    before, after, passed = before[over], after[over], passed[over]
    other = view.intact.value[view.first_received_at(passed)]
    return _moves(view, "skipped", before, after, other_value=other, other_position=positions.numbers(passed))


def rewound_cases(view: LogView) -> pa.Table:
    """Find where a consumer went back.

    Jepsen: nonmonotonic-poll, int-nonmonotonic-poll. Evidence: `value`, `position` and `op` are
    where it landed, `other_` is the receive before.
    """
    before, after = view.jumps
    back = view.receives.position[after] < view.receives.position[before]
    previous = view.receives.take(before[back])
    return _moves(
        view,
        "rewound",
        before[back],
        after[back],
        other_value=previous.value,
        other_position=previous.position,
    )


def _moves(view: LogView, anomaly: str, before: Ints, after: Ints, **other: Ints) -> pa.Table:
    """Report moves between two receives (rows); `other` is the evidence that contradicts them."""
    previous, landed = view.receives.take(before), view.receives.take(after)
    return findings_of(
        view.context,
        anomaly,
        details=MOVED,
        detail=np.where(previous.operation == landed.operation, 0, 1),
        value=landed.value,
        position=landed.position,
        op=view.operations.op[landed.operation],
        **other,
        other_op=view.operations.op[previous.operation],
        at_ns=landed.received_ns,
    )


def _pipelines(view: LogView) -> tuple[Ints, Ints, Ints]:
    """Return the sends whose position is known, by producer and key in the order of their values.

    Returns:
        The row of each (the first one where a value was sent repeatedly), its group (ascending),
        and the id of its position.
    """
    sends = view.sends
    rows = first_rows(view.values.size, view.sent_values)
    rows = rows[rows != NONE]
    place = view.lowest_positions[view.sent_values[rows]]
    place = np.where(place == NONE, view.acked_positions[rows], place)
    rows, place = rows[place != NONE], place[place != NONE]
    producer = sends.value[rows] >> PRODUCER_SHIFT
    group = producer * (int(sends.key.max(initial=0)) + 1) + sends.key[rows]
    order = stable_order(group)
    return rows[order], group[order], place[order]
