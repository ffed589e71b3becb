"""Pairs the entries of a Jepsen history to operations: each invocation with its completion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from chaoskit.base.errors import BadInput
from chaoskit.interop.jepsen.lines import FS, TYPES, Block
from chaoskit.model.outcome import OUTCOMES
from chaoskit.model.tables import OPERATIONS

INVOKE = TYPES.index("invoke")
CRASH, IGNORED, TXN = FS.index("crash"), FS.index("debug-topic-partitions"), FS.index("txn")
_REBALANCE = FS.index("assign")
_NAMES = [{"crash": "close"}.get(name, name) for name in FS]
_NONE = -1
_GROUP = 1_000_000


@dataclass(frozen=True, slots=True)
class Paired:
    """A block's entries.

    Attributes:
        op: operation of each entry; _NONE if it has none.
        invokes: whether the entry is an invocation.
        inserted: operations inserted for rebalances during other operations.
    """

    op: np.ndarray
    invokes: np.ndarray
    inserted: list[int]


@dataclass(slots=True)
class _Done:
    op: list[np.ndarray] = field(default_factory=list)
    end_ns: list[np.ndarray] = field(default_factory=list)
    outcome: list[np.ndarray] = field(default_factory=list)


class EventPairing:
    """Numbers operations in order of invocation; takes 24 bytes per operation of the whole history."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._open: dict[int, tuple[int, int]] = {}
        self._started: list[np.ndarray] = []
        self._done = _Done()
        self._count = 0
        self._clock_ns = 0

    @property
    def count(self) -> int:
        """Number of operations so far."""
        return self._count

    def add(self, block: Block) -> Paired:
        """Number the operations of a block.

        Raises:
            BadInput: a completion has no invocation, or a process invokes an operation before its last one completed.
        """
        time_ns, kind, process, f = (block.entries[name] for name in ("time_ns", "type", "process", "f"))
        kept = np.flatnonzero(f != IGNORED)
        partner, before = self._partners(kept, process, kind, f, block)
        invokes = np.zeros(kind.size, np.bool_)
        invokes[kept] = partner == _NONE
        invokes[kept[before >= 0]] = False
        entries = np.flatnonzero(invokes)
        rebalanced = [entry for entry, _ in block.rebalances]
        born = np.sort(np.concatenate((entries, np.array(rebalanced, np.int64)))) if rebalanced else entries
        number = self._count + np.searchsorted(born, entries, side="right") - 1
        op = np.full(kind.size, _NONE)
        op[entries] = number
        inside = partner >= 0
        op[kept[inside]] = op[partner[inside]]
        op[kept[before >= 0]] = before[before >= 0]
        inserted = [self._count + int(np.searchsorted(born, entry)) for entry in rebalanced]
        self._keep(born, invokes, time_ns, process, f)
        self._complete(np.flatnonzero(~invokes & (op >= 0)), op, time_ns, kind)
        self._reopen(kept, process, op, invokes, f)
        self._count += born.size
        return Paired(op, invokes, inserted)

    def _partners(
        self, kept: np.ndarray, process: np.ndarray, kind: np.ndarray, f: np.ndarray, block: Block
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return for each completion its invocation: the entry, or the operation if it is in an earlier block.

        Both are _NONE for invocations.
        """
        order = kept[np.argsort(process[kept], kind="stable")]
        starts = kind[order] == INVOKE
        first = np.ones(order.size, np.bool_)
        first[1:] = process[order[1:]] != process[order[:-1]]
        partner, before = np.full(kind.size, _NONE), np.full(kind.size, _NONE)
        for at in np.flatnonzero(first).tolist():
            held = self._open.pop(int(process[order[at]]), None)
            if held is None:
                continue
            if starts[at]:
                raise self._bad(
                    block, int(order[at]), f"process {process[order[at]]} invokes while its last operation is open"
                )
            before[order[at]] = held[0]
            if f[order[at]] != held[1]:
                raise self._bad(block, int(order[at]), f"completes :{FS[held[1]]} as :{FS[f[order[at]]]}")
        follows = np.zeros(order.size, np.bool_)
        follows[1:] = starts[:-1] & ~first[1:]
        lone = ~starts & ~follows & (before[order] == _NONE)
        again = starts & follows
        if lone.any():
            raise self._bad(block, int(order[lone].min()), "completion without an invocation")
        if again.any():
            raise self._bad(
                block, int(order[again].min()), "invokes an operation before the last one of its process completed"
            )
        done = np.flatnonzero(follows)
        differs = f[order[done]] != f[order[done - 1]]
        if differs.any():
            at = int(order[done][differs].min())
            raise self._bad(block, at, f"completes a different operation as :{FS[f[at]]}")
        partner[order[done]] = order[done - 1]
        return partner[kept], before[kept]

    def _keep(
        self, born: np.ndarray, invokes: np.ndarray, time_ns: np.ndarray, process: np.ndarray, f: np.ndarray
    ) -> None:
        """Store start, process and f of operations; one without an invocation is a rebalance."""
        rows = np.empty(born.size, [("start_ns", "<i8"), ("process", "<i4"), ("f", "i1")])
        rows["start_ns"], rows["process"] = time_ns[born], process[born]
        rows["f"] = np.where(invokes[born], f[born], _REBALANCE)
        self._started.append(rows)
        rebalances = np.flatnonzero(~invokes[born])
        self._finish(self._count + rebalances, time_ns[born[rebalances]], np.zeros(rebalances.size, np.int8))

    def _complete(self, entries: np.ndarray, op: np.ndarray, time_ns: np.ndarray, kind: np.ndarray) -> None:
        self._finish(op[entries], time_ns[entries], (kind[entries] - 1).astype(np.int8))

    def _finish(self, op: np.ndarray, end_ns: np.ndarray, outcome: np.ndarray) -> None:
        self._done.op.append(op)
        self._done.end_ns.append(end_ns)
        self._done.outcome.append(outcome)

    def _reopen(
        self, kept: np.ndarray, process: np.ndarray, op: np.ndarray, invokes: np.ndarray, f: np.ndarray
    ) -> None:
        """Store the operations in flight at the end of the block."""
        order = kept[np.argsort(process[kept], kind="stable")]
        last = np.ones(order.size, np.bool_)
        last[:-1] = process[order[1:]] != process[order[:-1]]
        for entry in order[last & invokes[order]].tolist():
            self._open[int(process[entry])] = int(op[entry]), int(f[entry])

    def _bad(self, block: Block, entry: int, reason: str) -> BadInput:
        line = block.entries["line"][entry]
        return BadInput(f"{self._source}, line {line}: {reason}. The history must start at its first operation")

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the completion time (_NONE if never) and the outcome of each operation."""
        end_ns, outcome = np.full(self._count, _NONE), np.full(self._count, OUTCOMES.index("info"), np.int8)
        op = np.concatenate([np.empty(0, np.int64), *self._done.op])
        end_ns[op] = np.concatenate([np.empty(0, np.int64), *self._done.end_ns])
        outcome[op] = np.concatenate([np.empty(0, np.int8), *self._done.outcome])
        return end_ns, outcome

    def starts(self) -> np.ndarray:
        """Return start_ns, process and f of all operations."""
        kind = [("start_ns", "<i8"), ("process", "<i4"), ("f", "i1")]
        return np.concatenate([np.empty(0, kind), *self._started])


def operation_tables(starts: np.ndarray, end_ns: np.ndarray, outcome: np.ndarray) -> Iterator[pa.Table]:
    """Yield operations as tables of schema OPERATIONS."""
    processes = np.unique(starts["process"])
    clients = pa.array([f"process-{process}" for process in processes.tolist()], pa.string())
    for first in range(0, starts.size, _GROUP):
        part = starts[first : first + _GROUP]
        ends = end_ns[first : first + _GROUP]
        op = np.arange(first, first + part.size)
        columns = [
            pa.array(op),
            pa.array(part["process"]),
            _words(np.searchsorted(processes, part["process"]), clients),
            _words(part["f"], pa.array(_NAMES)),
            pa.array(part["start_ns"]),
            pa.array(ends, mask=ends == _NONE),
            _words(outcome[first : first + _GROUP], pa.array(OUTCOMES)),
            pa.nulls(part.size, OPERATIONS.field("error").type),
            pa.array(op, mask=part["f"] != TXN),
        ]
        yield pa.table(columns, schema=OPERATIONS)


def _words(indices: np.ndarray, known: pa.Array) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(indices.astype(np.int32)), known)
