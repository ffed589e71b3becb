"""Exports a history as EDN of Jepsen's Kafka workload (docs/jepsen.md), block by block.

Data that the format cannot represent is omitted: the final read's bounds, commits, keys, times in
payloads. The sends, polls and the end of a transaction become one `:txn`. Memory: 40 bytes per message,
and their texts in blocks; for an imported history also the original texts of its values.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from chaoskit.base.errors import BadInput
from chaoskit.history.digesting.live import require_history
from chaoskit.history.reading.reader import History
from chaoskit.interop.jepsen.lanes import lanes
from chaoskit.interop.jepsen.side import SIDE_FILE
from chaoskit.model.message import DIRECTIONS, PAYLOADS

_SENT = DIRECTIONS.index("sent")
_FS = {
    "send": "send",
    "add": "send",
    "delete": "send",
    "poll": "poll",
    "read": "poll",
    "txn": "txn",
    "assign": "assign",
    "subscribe": "subscribe",
    "close": "crash",
}
_BLOCK = 100_000


@dataclass(slots=True)
class _Messages:
    """All messages, in order of operation; `key` is an index into `keys`, -1 in `position` means unknown.

    `first` holds the index of the first row of each operation, and finally the number of rows.
    """

    first: np.ndarray
    sent: np.ndarray
    key: np.ndarray
    value: np.ndarray
    position: np.ndarray
    keys: list[str]

    def of(self, op: int) -> range:
        """Return the rows of an operation."""
        return range(int(self.first[op]), int(self.first[op + 1]))


class _Names:
    """The representation of keys and values: as imported, or by topic and partition."""

    def __init__(self, folder: Path) -> None:
        self.keys: dict[tuple[str, int], str] = {}
        self.values: dict[int, str] = {}
        self.operations: dict[int, str] = {}
        self.rebalances: dict[int, str] = {}
        self.inserted: set[int] = set()
        if not (folder / SIDE_FILE).exists():
            return
        for row in pq.read_table(folder / SIDE_FILE).to_pylist():
            match row["kind"]:
                case "key":
                    self.keys[row["topic"], row["partition"]] = row["text"]
                case "value":
                    self.values[row["number"]] = row["text"]
                case "operation":
                    self.operations[row["number"]] = row["text"]
                case "rebalance":
                    self.rebalances[row["number"]] = row["text"]
                case "inserted":
                    self.inserted.add(row["number"])

    def key(self, topic: str, partition: int) -> str:
        """Return a key as EDN."""
        return self.keys.get((topic, partition)) or json.dumps(f"{topic}/{partition}")

    def value(self, value: int) -> str:
        """Return a value as EDN."""
        return self.values.get(value, str(value))


class Export:
    """Exports a history to a file.

    Args:
        folder: the run folder.
    """

    def __init__(self, folder: Path) -> None:
        self._history = History.open(folder)
        self._names = _Names(folder)
        self._messages = self._read()
        self._operations = self._history.operations
        self._members = self._transactions()

    def write(self, file: IO[str]) -> int:
        """Write all operations that the format supports; return their number."""
        events = self._events()
        index = 0
        for first in range(0, len(events), _BLOCK):
            part = events[first : first + _BLOCK]
            columns = self._columns(np.unique(part["op"]))
            lines = []
            for time_ns, op, completes in part.tolist():
                lines.append(self._line(index, time_ns, op, columns[op], completes=bool(completes)))
                index += 1
            file.writelines(lines)
        return int(np.count_nonzero(events["completes"] == 0))

    def _read(self) -> _Messages:
        keys, parts = [], []
        for number, partition in enumerate(self._history.partitions):
            table = self._history.messages(partition.topic, partition.partition)
            direction = _codes(table["direction"], DIRECTIONS)
            intact = _codes(table["payload"], PAYLOADS) == 0
            chosen = np.flatnonzero(intact)
            if table.num_rows and table["op"][-1].as_py() >= self._history.operations.num_rows:
                raise BadInput(
                    f"{self._history.folder}: messages refer to operations that are missing from operations.parquet"
                )
            keys.append(self._names.key(partition.topic, partition.partition))
            position = pc.fill_null(table["position"], -1).to_numpy()
            columns = [table["op"].to_numpy(), direction == _SENT, np.full(table.num_rows, number),
                       table["value"].to_numpy(), position]  # fmt: skip
            parts.append([column[chosen] for column in columns])
        joined = [np.concatenate(columns) for columns in zip(*parts, strict=True)] if parts else [np.empty(0, int)] * 5
        # Values of one process ascend in the order of its sends; received messages keep their own order.
        order = np.lexsort((np.where(joined[1], joined[3], np.iinfo(np.int64).max), joined[0]))
        op, sent, key, value, position = (column[order] for column in joined)
        first = np.searchsorted(op, np.arange(self._history.operations.num_rows + 1))
        return _Messages(first, sent.astype(np.bool_), key, value, position, keys)

    def _transactions(self) -> dict[int, list[int]]:
        """Return the sends, polls and the end of each multi-operation transaction, by its `begin`."""
        table = self._operations
        if table["txn"].null_count == table.num_rows:
            return {}
        chosen = pc.and_(pc.is_valid(table["txn"]), pc.not_equal(table["txn"], table["op"]))
        rows = table.filter(chosen).select(["op", "txn"])
        members: dict[int, list[int]] = {}
        for op, txn in zip(rows["op"].to_pylist(), rows["txn"].to_pylist(), strict=True):
            members.setdefault(txn, []).append(op)
        return members

    def _events(self) -> np.ndarray:
        """Return all invocations and completions, in order of time."""
        table = self._operations
        f = table["f"].cast(pa.string())
        op = table["op"].to_numpy()
        known = pc.is_in(f, value_set=pa.array(list(_FS))).to_numpy()
        inside = pc.fill_null(pc.not_equal(table["txn"], table["op"]), False)
        known &= ~inside.to_numpy()
        known[[begin for begin in self._members if begin < known.size]] = True
        known[list(self._names.inserted)] = False
        op = op[known]
        start_ns = table["start_ns"].to_numpy()[known]
        end_ns = pc.fill_null(table["end_ns"], -1).to_numpy().copy()
        fs = f.to_pylist() if self._members else []
        for begin, members in self._members.items():
            ends = [member for member in members if fs[member] == "end"]
            end_ns[begin] = end_ns[ends[0]] if ends else -1
        end_ns = end_ns[known]
        process = table["process"].to_numpy()
        self._lanes = process.copy()
        self._lanes[op] = lanes(process[op], start_ns, end_ns)
        done = end_ns >= 0
        events = np.empty(op.size + int(done.sum()), [("time", "<i8"), ("op", "<i8"), ("completes", "i1")])
        events["time"], events["op"] = np.concatenate((start_ns, end_ns[done])), np.concatenate((op, op[done]))
        events["completes"] = np.arange(events.size) >= op.size
        # At the same instant: completions of earlier operations first, then invocations; a completion never precedes
        # its own invocation.
        after = np.concatenate((2 * op + 1, np.where(start_ns[done] == end_ns[done], 2 * op[done] + 2, -1)))
        return events[np.lexsort((after, events["time"]))]

    def _columns(self, ops: np.ndarray) -> dict[int, dict[str, Any]]:
        names = ["op", "f", "outcome"]
        return {row["op"]: row for row in self._operations.select(names).take(pa.array(ops)).to_pylist()}

    def _line(self, index: int, time_ns: int, op: int, row: dict[str, Any], *, completes: bool) -> str:
        members = self._members.get(op)
        f = "txn" if members is not None else _FS[row["f"]]
        kind, outcome = "invoke", row["outcome"]
        if completes:
            kind = self._outcome(members) if members is not None else outcome
        value = self._value(op, f, members, completes=completes, read=kind == "ok")
        rebalances = self._names.rebalances.get(op)
        extra = f", :rebalance-log {rebalances}" if completes and rebalances else ""
        return (
            f"{{:index {index}, :time {time_ns}, :type :{kind}, :process {self._lanes[op]}, :f :{f}, "
            f":value {value}{extra}}}\n"
        )

    def _outcome(self, members: list[int]) -> str:
        rows = self._operations.select(["f", "outcome"]).take(pa.array(members)).to_pylist()
        return next((str(row["outcome"]) for row in rows if row["f"] == "end"), "info")

    def _value(self, op: int, f: str, members: list[int] | None, *, completes: bool, read: bool) -> str:
        if f == "crash":
            return "nil"
        if f in ("assign", "subscribe"):
            return self._names.operations.get(op) or "[]"
        texts: list[str] = []
        for member in [op] if members is None else members:
            texts += self._micro_ops(member, completes=completes)
        if f == "poll" and not texts:
            return ("[[:poll {}]]" if read else "nil") if completes else "[[:poll]]"
        return f"[{' '.join(texts)}]"

    def _micro_ops(self, op: int, *, completes: bool) -> Iterator[str]:
        messages, names = self._messages, self._names
        polled: dict[int, list[str]] = {}
        for row in messages.of(op):
            key, value = int(messages.key[row]), names.value(int(messages.value[row]))
            position = int(messages.position[row])
            if not messages.sent[row]:
                polled.setdefault(key, []).append(f"[{'nil' if position < 0 else position} {value}]")
            elif completes and position >= 0:
                yield f"[:send {messages.keys[key]} [{position} {value}]]"
            else:
                yield f"[:send {messages.keys[key]} {value}]"
        if polled and not completes:
            yield "[:poll]"
        elif polled:
            yield (
                "[:poll {"
                + ", ".join(f"{messages.keys[key]} [{' '.join(pairs)}]" for key, pairs in polled.items())
                + "}]"
            )


def _codes(column: pa.ChunkedArray, words: tuple[str, ...]) -> np.ndarray:
    return pc.index_in(column.cast(pa.string()), value_set=pa.array(words)).to_numpy()  # type: ignore[no-any-return]


def export_edn(folder: Path, file: IO[str]) -> int:
    """Write a run's history as EDN; return the number of operations.

    Args:
        folder: the run folder.
        file: the output file.

    Raises:
        BadInput: the folder has no history, or it is damaged.
    """
    require_history(folder)
    return Export(folder).write(file)
