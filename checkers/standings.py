"""Where a ledger stood, as its clients were told: confirmed up to where, ended where.

Positions are one past the last entry. Only what an operation that is `ok` told is believed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa

from chaoskit.history.schema import DIRECTIONS
from checkers.columns import Flags, Ints, codes, integers, is_one_of
from checkers.ends import OK
from checkers.rows import CONFIRMED, ENDED, Operations, Rows

_ENDING = ("recover", "close")
_OPENING = ("create", "open", "recover")


@dataclass(frozen=True, slots=True)
class Told(Rows):
    """Positions that operations told, in order of invocation.

    Attributes:
        position: one past the last entry.
        operation: row of the operation.
        ends: whether the operation is one that ends a ledger, and does not only see that it ended.
        opens: whether it begins a new look at the ledger.
    """

    position: Ints
    operation: Ints
    ends: Flags
    opens: Flags


@dataclass(frozen=True, slots=True)
class Standings:
    """What was told of one ledger."""

    confirmed: Told
    ended: Told

    @classmethod
    def of(cls, messages: pa.Table, operations: pa.Table, rows: Operations) -> Self | None:
        """Read the rows of one partition; None where it is no ledger.

        Args:
            messages: schema `MESSAGES`.
            operations: schema `OPERATIONS`.
            rows: the same.
        """
        direction = codes(messages["direction"], DIRECTIONS)
        telling = np.flatnonzero((direction == CONFIRMED) | (direction == ENDED))
        if not telling.size:
            return None
        operation = rows.rows_of(integers(messages["op"].take(pa.array(telling))))
        believed = rows.outcome[operation] == OK
        telling, operation = telling[believed], operation[believed]
        told = Told(
            integers(messages["position"])[telling],
            operation,
            is_one_of(operations["f"], _ENDING)[operation],
            is_one_of(operations["f"], _OPENING)[operation],
        )
        ended = direction[telling] == ENDED
        return cls(told.take(np.flatnonzero(~ended)), told.take(np.flatnonzero(ended)))
