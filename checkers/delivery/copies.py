"""Messages that exist, or were delivered, more than once, and positions that hold two messages.

Only receives prove a duplicate: if an acknowledgement reports another position than that of the message,
this shows up as an offset conflict, or not at all. What cannot be concluded: a duplicate that was not
read.

Cost: O(n) time, 16 bytes per message; only rows that disagree are sorted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Ints
from chaoskit.contract.checkers.anomaly import About, Anomaly
from checkers.arrays.columns import changes, distinct, marked, run_starts, running_maximum
from checkers.arrays.findings import findings_of, merged, received_after
from checkers.arrays.models import FEEDS, LOGS, SENT
from checkers.arrays.rows import Rows
from checkers.arrays.view import LogView

REDELIVERED_DETAILS = ("internal", "between polls")
OFFSET_CONFLICT_DETAILS = ("received", "acknowledged")

_Some = TypeVar("_Some", bound=Rows)


DUPLICATE = Anomaly(
    "duplicate", "a message is in the log twice", SENT, implies=("sequence-jump",), tabled=True, notable=True
)
COPY_DETAILS = ("acknowledged at one position, and read at another",)


def duplicate_cases(view: LogView) -> pa.Table:
    """Find values received at two or more positions, without those that were truncated: they are in the log no more;
    and values acknowledged at one position and received at another only.

    Jepsen: duplicate, which counts those that were truncated, too. One finding per additional position. Evidence:
    `position`, `op` and `at_ns` are the copy's first receive, `other_` has the same for the copy at the lowest
    position, or the send that was acknowledged at another one.
    """
    copies = view.intact.take(view.copied)
    gone = view.truncated(copies.position, view.intact_positions[view.copied], copies.received_ns)
    copies = copies.take(np.flatnonzero(~gone))
    copies = copies.take(distinct(copies.value, copies.position))
    original, further = _first_and_further(copies, copies.value)
    received = received_after(view, DUPLICATE, original, further, other_position=original.position)
    return merged([received, _acknowledged_elsewhere(view)])


def _acknowledged_elsewhere(view: LogView) -> pa.Table:
    """Find values that were sent once, and are at one position, which is not that of their acknowledgement."""
    here = view.lowest_positions[view.sent_values]
    row = np.flatnonzero((view.acked_positions != NONE) & (here != NONE) & (view.acked_positions != here))
    several = marked(view.values.size, view.intact_values[view.copied])
    several |= np.bincount(view.sent_values, minlength=view.values.size) > 1 if row.size else False
    row = row[~several[view.sent_values[row]]]
    reads = view.intact.take(view.first_received_at(here[row]))
    return findings_of(
        view.setting,
        DUPLICATE,
        details=COPY_DETAILS,
        value=view.sends.value[row],
        position=reads.position,
        op=view.operations.op[reads.operation],
        other_value=view.sends.value[row],
        other_position=view.sends.position[row],
        other_op=view.operations.op[view.sends.operation[row]],
        at_ns=reads.received_ns,
    )


REDELIVERED = Anomaly(
    "redelivered",
    "a consumer received the same position again without a seek, or a subscriber the same message",
    (*LOGS, *FEEDS),
    implies=("sequence-jump",),
    about=About.READING,
)


def redelivered_cases(view: LogView) -> pa.Table:
    """Find receives of a position that the same process had already received in the same session.

    Jepsen does not count these; at-least-once allows them. Evidence: `op` received it again, after
    `other_op`, whose value at that position is `other_value`.
    """
    reads = view.receives
    read, session = view.reading.lasting()
    position = view.read_positions[read]
    rank, highest = running_maximum(session, position, view.positions.size)
    suspects = position[1:][rank[1:] <= highest[:-1]]
    rows = np.flatnonzero(marked(view.positions.size, suspects)[position])
    rows = rows[np.lexsort((position[rows], session[rows]))]
    again = np.flatnonzero(~changes(session[rows], position[rows]))
    before, after = reads.take(read[rows[again - 1]]), reads.take(read[rows[again]])
    how = np.where(before.operation == after.operation, 0, 1)
    return received_after(view, REDELIVERED, before, after, details=REDELIVERED_DETAILS, detail=how)


OFFSET_CONFLICT = Anomaly(
    "offset-conflict", "two messages were observed at the same position: the log diverged", LOGS, about=About.PAIR
)


def offset_conflict_cases(view: LogView, anomaly: Anomaly = OFFSET_CONFLICT) -> pa.Table:
    """Find positions at which two values were observed: the log diverged.

    Observations are intact receives, and acknowledgements that report a position. Jepsen:
    inconsistent-offsets; in ledgers: `entry-conflict`. The first receive at the position, or without one the first
    acknowledged send, is considered correct and is `other_`; one finding per additional value.
    """
    observations = _conflicting(view)
    observations = observations.take(distinct(observations.position, observations.value))
    by_evidence = (observations.row, observations.operation, observations.kind, observations.position)
    observations = observations.take(np.lexsort(by_evidence))
    truth, further = _first_and_further(observations, observations.position)
    return findings_of(
        view.setting,
        anomaly,
        details=OFFSET_CONFLICT_DETAILS,
        detail=further.kind,
        value=further.value,
        position=further.position,
        op=view.operations.op[further.operation],
        other_value=truth.value,
        other_position=truth.position,
        other_op=view.operations.op[truth.operation],
        at_ns=further.at_ns,
    )


@dataclass(frozen=True, slots=True)
class _Observations(Rows):
    """Observations of a value at a position, in order (`row`); `kind` is an index into `OFFSET_CONFLICT_DETAILS`."""

    row: Ints
    value: Ints
    position: Ints
    operation: Ints
    at_ns: Ints
    kind: Ints


def _conflicting(view: LogView) -> _Observations:
    """Return all observations of positions with disagreement, receives first."""
    receives, sends = view.conflicts
    received, sent = view.intact.take(receives), view.sends.take(sends)
    return _Observations(
        row=np.arange(received.value.size + sent.value.size),
        value=np.concatenate([received.value, sent.value]),
        position=np.concatenate([received.position, sent.position]),
        operation=np.concatenate([received.operation, sent.operation]),
        at_ns=np.concatenate([received.received_ns, view.operations.end_ns[sent.operation]]),
        kind=np.repeat([0, 1], [received.value.size, sent.value.size]),
    )


def _first_and_further(rows: _Some, subject: Ints) -> tuple[_Some, _Some]:
    """Return the rows that are not the first of their subject, and for each the first one."""
    starts = run_starts(subject)
    further = np.flatnonzero(starts != np.arange(starts.size))
    return rows.take(starts[further]), rows.take(further)
