"""A producer's sequence as seen by a reader, which deduplication must preserve.

Within a session a reader should see each producer's acknowledged messages of one key consecutively and exactly once.
Sequences are identified by `value`. What cannot be concluded: sends that failed, or whose outcome is unknown, may be
missing from the log, so skipping them is not a jump; nor is skipping what compaction may have removed.

Cost: O(n) time for unkeyed messages, a radix sort for keyed ones; about 40 bytes per message.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Flags, Ints
from chaoskit.contract.checkers.anomaly import About, Anomaly
from chaoskit.model.message import PRODUCER_SHIFT
from checkers.arrays.columns import marked, stable_order
from checkers.arrays.findings import no_findings, received_after
from checkers.arrays.models import LOGS
from checkers.arrays.rows import INTACT
from checkers.arrays.view import LogView

SEQUENCE_JUMP_DETAILS = ("new, forward", "new, back", "seen, forward", "seen, back")


SEQUENCE_JUMP = Anomaly(
    "sequence-jump",
    "a reader received a producer's messages in a different sequence than they were sent",
    LOGS,
    about=About.PAIR,
    spans=True,
)


def sequence_jump_cases(view: LogView) -> pa.Table:
    """Find where a reader's next message of a producer is not the next one that the producer sent.

    Forward: an acknowledged message was skipped. Back: the same or an earlier message. Seen: the reader had already
    received it in this session; otherwise new. Evidence: `value`, `position` and `op` are where the reader landed;
    `other_` is the previous receive of the same producer and key.
    """
    if _in_order(view):
        return no_findings()
    row, session = _readings(view)
    value = view.intact_values[row]
    group, rank, acked = _sequences(view)
    pipeline = session * (int(group.max()) + 1) + group[value]
    order = stable_order(pipeline)
    row, session, value, pipeline = row[order], session[order], value[order], pipeline[order]
    forward = rank[value[1:]] - rank[value[:-1]] > acked[value[1:]]
    back = value[1:] <= value[:-1]
    after = np.flatnonzero((forward | back) & (pipeline[1:] == pipeline[:-1])) + 1
    detail = 2 * _seen(view, session, value, after) + back[after - 1]
    previous, landed = view.intact.take(row[after - 1]), view.intact.take(row[after])
    more = {"details": SEQUENCE_JUMP_DETAILS, "detail": detail, "other_position": previous.position}
    return received_after(view, SEQUENCE_JUMP, previous, landed, **more)


def _in_order(view: LogView) -> bool:
    """Return whether no reader can have seen a jump: the log has every producer's messages in order, each once and
    alone at its position, no acknowledged one is missing, and every reader read all of it forward."""
    before, after = view.jumps
    return not (
        view.intact is not view.receives
        or view.copied.size
        or view.conflicts[0].size
        or view.inversions[0].size
        or view.passed[0].size
        or np.any(view.receives.position[after] <= view.receives.position[before])
        or np.any(view.acked & ~view.visible[view.sent_values])
    )


def _readings(view: LogView) -> tuple[Ints, Ints]:
    """Return the rows of intact receives of messages that were sent here, in the order of reading, with sessions."""
    row, session = view.reading.lasting()
    if view.intact is not view.receives:
        intact = view.receives.payload == INTACT
        chosen = intact[row]
        row, session = (np.cumsum(intact) - 1)[row[chosen]], session[chosen]
    known = view.sent[view.intact_values[row]]
    return (row, session) if known.all() else (row[known], session[known])


def _sequences(view: LogView) -> tuple[Ints, Ints, Flags]:
    """Return for each value id its producer and key as one number, the number of acknowledged messages of these up to
    it, and whether it is acknowledged itself."""
    acked = marked(view.values.size, view.sent_values[view.acked]) & ~view.removable
    sent = np.flatnonzero(view.first_sends != NONE)
    sends = view.sends.take(view.first_sends[sent])
    group = np.zeros(view.values.size, np.int64)
    group[sent] = (sends.value >> PRODUCER_SHIFT) * (int(sends.key.max(initial=0)) + 1) + sends.key
    order = sent[stable_order(group[sent])]
    rank = np.zeros(view.values.size, np.int64)
    rank[order] = np.cumsum(acked[order])
    return group, rank, acked


def _seen(view: LogView, session: Ints, value: Ints, after: Ints) -> Flags:
    """Return for each of these rows whether its session had already received its value."""
    related = np.flatnonzero(marked(view.values.size, value[after])[value])
    reading = session[related].astype(np.int64) * view.values.size + value[related]
    _, first, which = np.unique(reading, return_index=True, return_inverse=True)
    earliest = np.zeros(value.size, np.int64)
    earliest[related] = related[first[which]]
    return np.less(earliest[after], after)
