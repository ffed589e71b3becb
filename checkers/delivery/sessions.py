"""The sessions of a queue's consumers.

A session is the part of a process from one operation that ends a consumer (`subscribe`, `crash`, `close`, or any
operation that found its connection gone) to the next one, or to the last thing that it did. A settlement that failed
is not the end of one: the connection that its deliveries came on had been gone before. What belongs to an operation
that ends a session, such as the messages of a `receive` that failed, still belongs to that session.

Cost: O(n) for n operations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Flags, Ints, is_one_of
from chaoskit.model.outcome import NOT_CONNECTED
from checkers.arrays.columns import first_rows
from checkers.arrays.ends import FAIL, OK
from checkers.arrays.rows import Operations
from checkers.delivery.deliveries import ENDING, last_ns

SETTLING = ("ack", "nack", "reject")
_CONSUMING = ("receive", *SETTLING)
_CLOSING = ("crash", "close")


@dataclass(frozen=True, slots=True)
class Sessions:
    """Sessions in order of process and time; those of producers are among them, and have no deliveries.

    Attributes:
        begin: row of the operation with which it began.
        process: its process.
        consuming: whether the process is a consumer of the load, not the auditor.
        open: whether it may receive: it did not begin with a `crash` or `close`, and had a connection.
        last: whether its process has no later one.
        joined_ns: when the last `subscribe` of its process began, up to then; `NONE` if there was none.
        from_ns: when the operation with which it began had ended.
        until_ns: when the operation that ended it began; for the last one of a process, when that was last active.
        gone_ns: when the operation that ended it had ended.
    """

    begin: Ints
    process: Ints
    consuming: Flags
    open: Flags
    last: Flags
    joined_ns: Ints
    from_ns: Ints
    until_ns: Ints
    gone_ns: Ints
    _key: Ints
    _operations: int

    @classmethod
    def of(cls, table: pa.Table, rows: Operations) -> Sessions:
        """Find the sessions in operations; `rows` are those of `table`."""
        size = max(rows.op.size, 1)
        consumes = is_one_of(table["f"], _CONSUMING)
        # a settlement that failed came after the end of the connection, which another operation found
        late = is_one_of(table["f"], SETTLING) & (rows.outcome == FAIL)
        ending = np.flatnonzero(is_one_of(table["f"], ENDING) | ((rows.outcome != OK) & consumes & ~late))
        first = first_rows(int(rows.process.max(initial=0)) + 1, rows.process)
        first = first[first != NONE]
        # An operation's key is even, so that the first session of a process begins just before its first operation.
        key = np.concatenate([_keys(rows, ending, size), _keys(rows, first, size) - 1])
        begin = np.concatenate([ending, first])
        order = np.argsort(key)
        key, begin = key[order], begin[order]
        began_itself = key % 2 == 0
        process = rows.process[begin].astype(np.int64)
        last = np.append(process[1:] != process[:-1], np.ones(min(process.size, 1), np.bool_))
        done_ns = np.maximum(rows.start_ns, rows.end_ns)
        active_ns = last_ns(rows)[process]
        subscribes = is_one_of(table["f"], ["subscribe"])
        joins = subscribes[begin] & began_itself
        join = np.maximum.accumulate(np.where(joins | ~began_itself, np.arange(begin.size), 0))
        following = np.append(begin[1:], begin[:1])
        closing = is_one_of(table["f"], _CLOSING)
        unconnected = np.zeros(rows.op.size, np.bool_)
        unconnected[ending] = is_one_of(table["error"].take(pa.array(ending)), [NOT_CONNECTED])
        members = np.zeros(int(rows.process.max(initial=0)) + 1, np.bool_)
        members[rows.process[(consumes | subscribes) & ~rows.audits]] = True
        return cls(
            begin=begin,
            process=process,
            consuming=members[process],
            open=~(closing[begin] & began_itself) & (last | ~unconnected[following]),
            last=last,
            joined_ns=np.where(joins[join], rows.start_ns[begin[join]], NONE),
            from_ns=np.where(began_itself, done_ns[begin], rows.start_ns[begin]),
            until_ns=np.where(last, active_ns, rows.start_ns[following]),
            gone_ns=np.where(last, active_ns, done_ns[following]),
            _key=key,
            _operations=size,
        )

    def of_operations(self, rows: Operations, operation: Ints) -> Ints:
        """Return the session of each of these operations (rows)."""
        return np.searchsorted(self._key, _keys(rows, operation, self._operations), side="left") - 1


def _keys(rows: Operations, operation: Ints, size: int) -> Ints:
    """Return numbers that order operations by process, then time."""
    return 2 * (rows.process[operation].astype(np.int64) * size + operation)
