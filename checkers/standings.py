"""Where a ledger stood, as its clients were told: confirmed up to where, ended where.

Positions are one past the last entry. Only what an operation that is `ok` told is believed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa

from checkers.columns import Flags, Ints, integers, is_one_of
from checkers.ends import OK
from checkers.rows import Operations, Rows

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
    def of(cls, observations: pa.Table, operations: pa.Table, rows: Operations) -> Self:
        """Read the rows of one ledger.

        Args:
            observations: schema `OBSERVATIONS`.
            operations: schema `OPERATIONS`.
            rows: the same.
        """
        ended = is_one_of(observations["kind"], ["ended"])
        telling = np.flatnonzero(ended | is_one_of(observations["kind"], ["confirmed"]))
        operation = rows.rows_of(integers(observations["op"])[telling])
        believed = rows.outcome[operation] == OK
        telling, operation = telling[believed], operation[believed]
        told = Told(
            integers(observations["position"])[telling],
            operation,
            is_one_of(operations["f"], _ENDING)[operation],
            is_one_of(operations["f"], _OPENING)[operation],
        )
        return cls(told.take(np.flatnonzero(~ended[telling])), told.take(np.flatnonzero(ended[telling])))
