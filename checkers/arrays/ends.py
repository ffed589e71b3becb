"""How the transactions of a history ended, from its operations alone.

A transaction has committed if its `end` was acknowledged. It has aborted if the `end` failed, or cannot
have committed because no `end` was invoked. A transaction in one operation (`txn`) ends as that operation
does. Cost: O(n) for n operations; none if no operation belongs to a transaction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Ints, codes, integers, is_one_of
from chaoskit.model.outcome import OUTCOMES

OK, FAIL, INFO = range(len(OUTCOMES))
ABORTED = len(OUTCOMES)
"""Fate of a transaction that did not commit; `OK` for one that did, `INFO` if unknown."""


@dataclass(frozen=True, slots=True)
class TransactionEnds:
    """The transactions of some operations, by number.

    Attributes:
        name: the `txn` of each transaction, ascending.
        of_operation: number of the transaction of each operation, or `NONE`.
        fate: `OK`, `INFO` or `ABORTED` for each transaction.
        end: row of the operation that ended each transaction, or `NONE`.
    """

    name: Ints
    of_operation: Ints
    fate: Ints
    end: Ints

    @classmethod
    def of(cls, table: pa.Table) -> TransactionEnds:
        """Read a table of schema `OPERATIONS`."""
        txn = integers(table["txn"])
        member = np.flatnonzero(txn != NONE)
        name, number = np.unique(txn[member], return_inverse=True)
        of_operation = np.full(txn.size, NONE)
        of_operation[member] = number
        ending = np.flatnonzero(is_one_of(table["f"], ["end", "txn"]) & (txn != NONE))
        end = np.full(name.size, NONE)
        end[of_operation[ending]] = ending
        outcome = codes(table["outcome"], OUTCOMES)[end]
        fate = np.where((end == NONE) | (outcome == FAIL), ABORTED, outcome)
        return cls(name, of_operation, fate, end)

    def ending(self, operation: Ints) -> Ints:
        """Return for each of these rows the row of the operation that ended its transaction, or `NONE`."""
        return np.append(self.end, NONE)[self.of_operation[operation]]
