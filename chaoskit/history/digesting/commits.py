"""What a client committed for its group, in bounded memory: of each time between two assignments, where it began, and
how far it came.

A commit whose beginning and end are in different segments is left out, and so is one that was not acknowledged.
"""

from __future__ import annotations

import numpy as np

from chaoskit.history.format.intervals import Ints
from chaoskit.history.format.record import COMPLETE, INVOKE, OBSERVED, Records
from chaoskit.model.observations.row import KINDS
from chaoskit.model.outcome import OK

NAME, PARTITION, GROUP, SESSION, STARTED, FIRST, REACHED, HIGHEST = range(8)
"""Columns of commits: topic, partition and group (numbers of names), session of the client; when its first commit
began, and its position; when the one with the highest position had ended, and that position."""

WIDTH = 8
_SAME = [NAME, PARTITION, GROUP, SESSION]


def committed(known: Ints, records: Records, session: Ints) -> tuple[Ints, int]:
    """Return the rows with further commits added, and how many of these were below one before in their session.

    Args:
        known: the rows so far.
        records: further records of the client, in the order written.
        session: the session of each.
    """
    kind = records["kind"]
    at = np.flatnonzero((kind == OBSERVED) & (records["code"] == KINDS.index("committed")))
    starts, ends = _by_op(records, kind == INVOKE), _by_op(records, (kind == COMPLETE) & (records["code"] == OK))
    by_second = {tuple(row[_SAME].tolist()): row[len(_SAME) :].tolist() for row in known}
    back = 0
    for row in at.tolist():  # one for each partition and second
        op, position = int(records["op"][row]), int(records["position"][row])
        if op not in starts or op not in ends:
            continue
        place = int(records["name"][row]), int(records["partition"][row]), int(records["key"][row]), int(session[row])
        start_ns, end_ns = int(records["start_ns"][starts[op]]), int(records["end_ns"][ends[op]])
        before = by_second.setdefault(place, [start_ns, position, end_ns, position])
        back += position < before[3]
        if position > before[3]:
            before[2:] = end_ns, position
    rows = [[*place, *values] for place, values in by_second.items()]
    return np.array(rows, np.int64).reshape(-1, WIDTH), back


def _by_op(records: Records, chosen: Ints) -> dict[int, int]:
    """Return the rows of these records by operation."""
    rows = np.flatnonzero(chosen)
    return dict(zip(records["op"][rows].tolist(), rows.tolist(), strict=True))
