"""The state of a ledger as reported to clients: its confirmed position and its end.

Positions are one past the last entry. Only reports of `ok` operations count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import Flags, Ints, is_one_of
from chaoskit.model.observations.ledger import LedgerEnds
from checkers.arrays.ends import OK
from checkers.arrays.rows import Operations, Rows

_ENDING = ("recover", "close")
_OPENING = ("create", "open", "recover")


@dataclass(frozen=True, slots=True)
class ReportedEnds(Rows):
    """Positions reported by operations, in order of invocation.

    Attributes:
        position: one past the last entry.
        operation: row of the operation.
        ends: whether the operation closes a ledger (rather than only observing that it is closed).
        opens: whether it starts a new read of the ledger.
    """

    position: Ints
    operation: Ints
    ends: Flags
    opens: Flags


@dataclass(frozen=True, slots=True)
class Standings:
    """Reports about one ledger."""

    confirmed: ReportedEnds
    ended: ReportedEnds

    @classmethod
    def of(cls, observations: pa.Table, operations: pa.Table, rows: Operations) -> Self:
        """Read the rows of one ledger.

        Args:
            observations: schema `OBSERVATIONS`.
            operations: schema `OPERATIONS`.
            rows: the same operations as arrays.
        """
        ends = LedgerEnds.read(observations)
        operation = rows.rows_of(ends.op)
        believed = rows.outcome[operation] == OK
        ended, operation = ends.ended[believed], operation[believed]
        reports = ReportedEnds(
            ends.end[believed],
            operation,
            is_one_of(operations["f"], _ENDING)[operation],
            is_one_of(operations["f"], _OPENING)[operation],
        )
        return cls(reports.take(np.flatnonzero(~ended)), reports.take(np.flatnonzero(ended)))
