"""Messages that are stored, or were read, out of order.

A producer is one ordered pipeline: it invokes its sends in sequence order, so the log must keep that order for each
key (messages without a key are one group). A consumer moves forward, one visible message at a time, until it is
repositioned; a replay leads it to a message that it sought, or before it. What cannot be concluded: the order of
messages with unknown position, and a skip over positions that no client read.

Cost: O(n) time for unkeyed messages, a radix sort for keyed ones; 24 bytes per message.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Ints
from chaoskit.contract.checkers.anomaly import About, Anomaly
from checkers.arrays.columns import changes
from checkers.arrays.ends import OK
from checkers.arrays.findings import findings_of, merged
from checkers.arrays.models import LOGS
from checkers.arrays.view import LogView

REORDERED_DETAILS = ("completed before the next was invoked", "one ordered pipeline")
MOVED = ("internal", "between polls", "past what a replay sought")


REORDERED = Anomaly(
    "reordered",
    "messages of one producer are stored in a different order than they were sent",
    LOGS,
    implies=("order-violation", "sequence-jump"),
    about=About.PAIR,
    tabled=True,
)


def reordered_cases(view: LogView) -> pa.Table:
    """Find sends with a lower position than an earlier send of the same producer and key.

    The position of a send is that of its first receive, or, if there is none, the one in its acknowledgement.
    Jepsen: int-nonmonotonic-send, nonmonotonic-send. Evidence: `op` is the later send, completed at `at_ns`;
    `other_` is the earlier one with the highest position.
    """
    sends, operations = view.sends, view.operations
    rows, _, place = view.pipelines
    below, above = view.inversions
    later, earlier = sends.operation[rows[below]], sends.operation[rows[above]]
    completed = view.acked[rows[above]] & (operations.end_ns[earlier] < operations.start_ns[later])
    return findings_of(
        view.setting,
        REORDERED,
        details=REORDERED_DETAILS,
        detail=np.where(completed, 0, 1),
        value=sends.value[rows[below]],
        position=view.positions.numbers(place[below]),
        op=operations.op[later],
        other_value=sends.value[rows[above]],
        other_position=view.positions.numbers(place[above]),
        other_op=operations.op[earlier],
        at_ns=operations.end_ns[later],
    )


SKIPPED = Anomaly(
    "skipped", "a consumer skipped a message without a seek", LOGS, implies=("sequence-jump",), about=About.READING
)


def skipped_cases(view: LogView) -> pa.Table:
    """Find where a consumer moved forward past a position with a visible message, or a replay led it behind one that it
    sought.

    Jepsen: poll-skip, int-poll-skip. Evidence: `value`, `position` and `op` are where it landed; `other_op` is the
    previous receive, or the replay, `other_position` the first visible position that was passed over, and
    `other_value` the message there.
    """
    before, after, first, _ = view.passed
    first_of_each = changes(before, after)
    before, after, first = before[first_of_each], after[first_of_each], first[first_of_each]
    passed = view.visible_positions[first]
    other = view.intact.value[view.first_received_at(passed)]
    moved = _moves(view, SKIPPED, before, after, other_value=other, other_position=view.positions.numbers(passed))
    return merged([moved, _missed(view)])


def _missed(view: LogView) -> pa.Table:
    """Find replays after which the consumer began behind a visible position that it sought, and that did not expire."""
    visible = view.positions.numbers(view.visible_positions)
    low = view.setting.bounds.low if view.setting.bounds else 0
    landings = [_landed(view, int(replay)) for replay in view.sought[0]]
    known = np.array([landed is not None for landed in landings], np.bool_) & (view.sought[1] != NONE)
    replays, targets = (column[known] for column in view.sought)
    landed = np.array(landings)[known].astype(np.int64)
    firsts = np.searchsorted(visible, np.maximum(targets, low))
    ends = np.searchsorted(visible, view.receives.position[landed])
    firsts = _first_needed(view, firsts, ends, view.receives.received_ns[landed])
    missed = firsts < ends
    at, passed = view.receives.take(landed[missed]), view.visible_positions[firsts[missed]]
    return findings_of(
        view.setting,
        SKIPPED,
        details=MOVED,
        detail=np.full(passed.size, 2),
        value=at.value,
        position=at.position,
        op=view.operations.op[at.operation],
        other_value=view.intact.value[view.first_received_at(passed)],
        other_position=view.positions.numbers(passed),
        other_op=view.operations.op[replays[missed]],
        at_ns=at.received_ns,
    )


def _first_needed(view: LogView, firsts: Ints, ends: Ints, at_ns: Ints) -> Ints:
    """Return the first of each of these ranges of visible positions that had to be found then, or its end."""
    if view.keyed is None:
        return firsts
    needed = [
        first + np.flatnonzero(view.needed_at(np.arange(first, end), np.full(max(end - first, 0), now_ns)))
        for first, end, now_ns in zip(firsts.tolist(), ends.tolist(), at_ns.tolist(), strict=True)
    ]
    return np.array([own[0] if own.size else end for own, end in zip(needed, ends.tolist(), strict=True)], np.int64)


def _landed(view: LogView, replay: int) -> int | None:
    """Return the first receive after a replay that certainly happened; None if the consumer was moved again before."""
    rows, reads, read = view.operations, view.receives, view.reading.row
    if rows.outcome[replay] != OK:
        return None
    polls, ended_ns = reads.operation[read], rows.end_ns[replay]
    after = read[(rows.process[polls] == rows.process[replay]) & (rows.start_ns[polls] >= ended_ns)]
    if not after.size:
        return None
    moves_ns = rows.start_ns[rows.repositions & (rows.process == rows.process[replay])]
    again = (moves_ns >= ended_ns) & (moves_ns <= rows.end_ns[reads.operation[after[0]]])
    return None if again.any() else int(after[0])


REWOUND = Anomaly(
    "rewound", "a consumer moved back without a seek", LOGS, implies=("sequence-jump",), about=About.READING
)


def rewound_cases(view: LogView) -> pa.Table:
    """Find where a consumer moved back.

    Jepsen: nonmonotonic-poll, int-nonmonotonic-poll. Evidence: `value`, `position` and `op` are where it landed,
    `other_` is the previous receive.
    """
    before, after = view.jumps
    back = view.receives.position[after] < view.receives.position[before]
    previous = view.receives.take(before[back])
    return _moves(
        view,
        REWOUND,
        before[back],
        after[back],
        other_value=previous.value,
        other_position=previous.position,
    )


def _moves(view: LogView, anomaly: Anomaly, before: Ints, after: Ints, **other: Ints) -> pa.Table:
    """Report moves between two receives (rows); `other` is the evidence that contradicts them."""
    previous, landed = view.receives.take(before), view.receives.take(after)
    return findings_of(
        view.setting,
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
