"""The rows of one partition's history as arrays: operations, sends and receives.

Row numbers of operations join the tables: `sends.operation[i]` is the row in `Operations` of the operation that
sent message `i`. Cost: about 30 bytes per message; columns are copied once.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Flags, Ints, codes, group_numbers, integers, is_one_of
from chaoskit.base.errors import BadInput
from chaoskit.model.message import DIRECTIONS, PAYLOADS
from chaoskit.model.operation import ASKING, AUDITOR, REPOSITIONING
from chaoskit.model.outcome import DUPLICATE, OUTCOMES
from checkers.arrays.ends import OK, TransactionEnds

INTACT, DAMAGED, FOREIGN = range(len(PAYLOADS))
SENT, RECEIVED = range(len(DIRECTIONS))


@dataclass(frozen=True, slots=True)
class Operations:
    """Operations in order of invocation; `end_ns` is `NONE` for operations that never completed.

    Attributes:
        outcome: outcome of the operation itself.
        fate: outcome considering its transaction: `ABORTED` or `INFO` if that did not, or may not have, committed.
        takes: whether it received from a subscription, which is not reading in order.
        wants: whether it asked for messages.
        duplicate: whether it was acknowledged as a duplicate.
        asks: whether it is the final read, which asks for the end positions when it begins.
        deletes: whether it sent a message that deletes its key.
        stays: whether it is a whole transaction that did not, or may not have, committed: its consumer goes on from
            where the last one that did had left it.
    """

    op: Ints
    process: Ints
    start_ns: Ints
    end_ns: Ints
    outcome: Ints
    fate: Ints
    duplicate: Flags
    repositions: Flags
    audits: Flags
    asks: Flags
    takes: Flags
    wants: Flags
    deletes: Flags
    stays: Flags

    @classmethod
    def of(cls, table: pa.Table) -> Operations:
        """Read a table of schema `OPERATIONS`."""
        outcome = codes(table["outcome"], OUTCOMES)
        return cls(
            op=integers(table["op"]),
            process=integers(table["process"]),
            start_ns=integers(table["start_ns"]),
            end_ns=integers(table["end_ns"]),
            outcome=outcome,
            fate=_fates(table, outcome),
            duplicate=(outcome == OK) & is_one_of(table["error"], [DUPLICATE]),
            repositions=is_one_of(table["f"], REPOSITIONING),
            audits=is_one_of(table["client"], [AUDITOR]),
            asks=is_one_of(table["f"], ["audit"]),
            takes=is_one_of(table["f"], ["receive"]),
            wants=is_one_of(table["f"], ASKING),
            deletes=is_one_of(table["f"], ["delete"]),
            stays=is_one_of(table["f"], ["txn"]) & (outcome != OK),
        )

    def rows_of(self, op: Ints) -> Ints:
        """Return the rows of these operations.

        Raises:
            BadInput: an operation is missing.
        """
        dense = self.op.size > 0 and self.op[-1] - self.op[0] + 1 == self.op.size
        rows = op - self.op[0] if dense else np.searchsorted(self.op, op)
        inside = not rows.size or (rows.min() >= 0 and rows.max() < self.op.size)
        if not inside or not (dense or np.array_equal(self.op[rows], op)):
            raise BadInput("the history has messages of missing operations")
        return rows


def _fates(table: pa.Table, outcome: Ints) -> Ints:
    if table["txn"].null_count == table.num_rows:
        return outcome
    transactions = TransactionEnds.of(table)
    member = np.flatnonzero(transactions.of_operation != NONE)
    ended = transactions.fate[transactions.of_operation[member]]
    fate = outcome.copy()
    fate[member] = np.where(ended == OK, outcome[member], ended)
    return fate


@dataclass(frozen=True, slots=True)
class Rows:
    """Arrays of equal length."""

    def take(self, rows: Ints) -> Self:
        """Return a subset of the rows."""
        return type(self)(**{column.name: getattr(self, column.name)[rows] for column in fields(self)})


@dataclass(frozen=True, slots=True)
class Sends(Rows):
    """Sent messages, in order of invocation. `position` is from the acknowledgement, or `NONE`."""

    value: Ints
    position: Ints
    key: Ints
    operation: Ints


@dataclass(frozen=True, slots=True)
class Receives(Rows):
    """Received messages, in order of invocation, and within one poll in delivery order."""

    value: Ints
    position: Ints
    payload: Ints
    received_ns: Ints
    operation: Ints


def split_messages(table: pa.Table, operations: Operations) -> tuple[Sends, Receives]:
    """Read a table of schema `MESSAGES`."""
    direction = codes(table["direction"], DIRECTIONS)
    sent, received = np.flatnonzero(direction == SENT), np.flatnonzero(direction == RECEIVED)
    value, position = integers(table["value"]), integers(table["position"])
    operation = operations.rows_of(integers(table["op"]))
    sends = Sends(value[sent], position[sent], group_numbers(table["key"])[sent], operation[sent])
    receives = Receives(
        value=value[received],
        position=position[received],
        payload=codes(table["payload"], PAYLOADS)[received],
        received_ns=integers(table["received_ns"])[received],
        operation=operation[received],
    )
    return sends, receives
