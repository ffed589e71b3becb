"""The data of a run's charts, binned: never one point per message.

Percentiles of a bin are computed from buckets that are 1.1 % wide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base import parquet
from chaoskit.history.reader import History, read_messages
from chaoskit.history.schema import AUDITOR, SENDING

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

BINS_MAX = 240
UNAVAILABLE_MIN_NS = 500_000_000
"""Shorter times without an acknowledged send are not shown as unavailability."""

_BIN_NS = [digit * 10**power for power in range(7, 14) for digit in (1, 2, 5)]
_PER_OCTAVE = 64
_AT_ONCE = 2_000_000
_COLUMNS = ["op", "direction", "payload", "intended_ns", "received_ns"]
_BUCKETS = 32 * _PER_OCTAVE  # up to 2**32 us, more than an hour
_POINTS = {"p50": 0.5, "p99": 0.99, "max": 1.0}


@dataclass(frozen=True, slots=True)
class Axis:
    """Time in bins of equal length, ns since the start of the run."""

    start_ns: int
    bin_ns: int
    count: int

    @classmethod
    def over(cls, start_ns: int, end_ns: int) -> Axis:
        """Return at most BINS_MAX bins of a round length that cover both instants."""
        for bin_ns in _BIN_NS:
            first = start_ns // bin_ns
            count = end_ns // bin_ns - first + 1
            if count <= BINS_MAX:
                break
        return cls(first * bin_ns, bin_ns, min(count, BINS_MAX))

    def of(self, instants_ns: Ints) -> Ints:
        """Return the bin of each instant; instants outside are assigned to the outermost bins."""
        return np.clip((instants_ns - self.start_ns) // self.bin_ns, 0, self.count - 1)

    def seconds(self) -> list[float]:
        """Return the start of each bin, s since the start of the run."""
        return [round((self.start_ns + index * self.bin_ns) / 1e9, 3) for index in range(self.count)]


class Percentiles:
    """Durations by bin."""

    def __init__(self, axis: Axis) -> None:
        self._axis = axis
        self._counts = np.zeros((axis.count, _BUCKETS), np.int64)

    def add(self, instants_ns: Ints, durations_ns: Ints) -> None:
        """Count durations, each at its instant."""
        for first in range(0, durations_ns.size, _AT_ONCE):
            part = slice(first, first + _AT_ONCE)
            micros = np.maximum(durations_ns[part] / 1000, 1)
            bucket = np.clip(np.ceil(np.log2(micros) * _PER_OCTAVE), 0, _BUCKETS - 1).astype(np.int64)
            key = self._axis.of(instants_ns[part]) * _BUCKETS + bucket
            self._counts += np.bincount(key, minlength=self._counts.size).reshape(self._counts.shape)

    def rows(self) -> list[dict[str, float]]:
        """Return for each non-empty bin its start in s, the number of values, and percentiles in ms."""
        cumulated = np.cumsum(self._counts, axis=1)
        totals = cumulated[:, -1]
        begins = self._axis.seconds()
        values = {
            name: 2 ** (np.argmax(cumulated >= np.ceil(totals * point)[:, None], axis=1) / _PER_OCTAVE) / 1000
            for name, point in _POINTS.items()
        }
        return [
            {
                "t": begins[index],
                "n": int(totals[index]),
                **{name: _short(each[index]) for name, each in values.items()},
            }
            for index in np.flatnonzero(totals).tolist()
        ]


@dataclass(frozen=True, slots=True)
class Series:
    """The binned figures of one run; times in s since its start, durations in ms."""

    axis: Axis
    send: list[dict[str, float]]
    end_to_end: list[dict[str, float]]
    throughput: list[dict[str, float]]
    unavailable: list[dict[str, float]]


def series_of(history: History, load_start_ns: int, last_ns: int = 0) -> Series:
    """Return the figures of a run's load.

    The operations are read one row group at a time; 18 bytes per operation stay in memory.

    Args:
        history: the history of the run.
        load_start_ns: when all clients started together.
        last_ns: the axis reaches at least this far.
    """
    path = history.folder / "operations.parquet"
    due_ns, end_ns, load, audits = _operations(path, load_start_ns)
    acked = end_ns >= 0
    first = int(due_ns[load].min()) if load.any() else load_start_ns
    latest = max(last_ns, int(end_ns.max(initial=0)), int(due_ns.max(initial=0)))
    axis = Axis.over(min(first, load_start_ns), max(latest, first + 1))
    send, end_to_end = Percentiles(axis), Percentiles(axis)
    for partition in history.partitions:
        messages = read_messages(partition).select(_COLUMNS)
        received = messages.filter(_is(messages["direction"], "received"))
        received = received.filter(_is(received["payload"], "ok"))
        whole = received.filter(pc.and_(pc.is_valid(received["intended_ns"]), pc.is_valid(received["received_ns"])))
        whole = whole.filter(pc.greater_equal(whole["intended_ns"], load_start_ns))
        whole = whole.filter(pa.array(~audits[whole["op"].to_numpy()]))
        begun = whole["intended_ns"].to_numpy()
        end_to_end.add(begun, whole["received_ns"].to_numpy() - begun)
        sent = messages.filter(pc.and_(_is(messages["direction"], "sent"), pc.is_valid(messages["intended_ns"])))
        due_ns[sent["op"].to_numpy()] = sent["intended_ns"].to_numpy()
    send.add(due_ns[acked], (end_ns - due_ns)[acked])
    ends = np.sort(end_ns[acked])
    due = due_ns[load]
    last_due = int(due.max(initial=first))
    return Series(axis, send.rows(), end_to_end.rows(), _rates(axis, due, ends), _gaps(first, ends, last_due))


def anomalies_of(findings: pa.Table, axis: Axis) -> list[dict[str, Any]]:
    """Return the number of occurrences of each anomaly in each bin: name, t, n."""
    dated = findings.filter(pc.is_valid(findings["at_ns"]))
    named = dated["anomaly"].cast(pa.string())
    rows = []
    for name in sorted(pc.unique(named).to_pylist()):
        bins = np.bincount(axis.of(dated.filter(pc.equal(named, name))["at_ns"].to_numpy()), minlength=axis.count)
        begins = axis.seconds()
        rows += [{"name": name, "t": begins[index], "n": int(bins[index])} for index in np.flatnonzero(bins).tolist()]
    return rows


def _operations(path: Path, load_start_ns: int) -> tuple[Ints, Ints, Flags, Flags]:
    """Return for each operation: its start; its end if it is an acknowledged send of the load, else -1;
    whether it is a send of the load; whether it belongs to the auditor."""
    file = parquet.opened(path)
    parts = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_), np.zeros(0, np.bool_))]
    for group in range(file.num_row_groups):
        table = file.read_row_group(group, columns=["f", "client", "start_ns", "end_ns", "outcome"])
        audits = _is(table["client"], AUDITOR).to_numpy()
        start_ns = table["start_ns"].to_numpy()
        sends = pc.is_in(table["f"].cast(pa.string()), value_set=pa.array(SENDING)).to_numpy()
        load = sends & ~audits & (start_ns >= load_start_ns)
        acked = load & _is(table["outcome"], "ok").to_numpy()
        parts.append((start_ns, np.where(acked, table["end_ns"].fill_null(-1).to_numpy(), -1), load, audits))
    starts, ends, loads, audited = zip(*parts, strict=True)
    return np.concatenate(starts), np.concatenate(ends), np.concatenate(loads), np.concatenate(audited)


def _rates(axis: Axis, due: Ints, ends: Ints) -> list[dict[str, float]]:
    per_second = 1e9 / axis.bin_ns
    counted = {
        "due": np.bincount(axis.of(due), minlength=axis.count),
        "acked": np.bincount(axis.of(ends), minlength=axis.count),
    }
    begins = axis.seconds()
    used = np.flatnonzero(counted["due"] + counted["acked"])
    span = range(int(used[0]), int(used[-1]) + 1) if used.size else range(0)
    return [
        {"t": begins[index], **{name: round(float(each[index]) * per_second, 1) for name, each in counted.items()}}
        for index in span
    ]


def _gaps(first: int, ends: Ints, last_due: int) -> list[dict[str, float]]:
    """Return the intervals of at least UNAVAILABLE_MIN_NS in which sends were due and none completed."""
    inside = ends[(ends >= first) & (ends <= last_due)]
    after: Sequence[int] = ends[len(ends) - np.count_nonzero(ends > last_due) :][:1].tolist() or [last_due]
    points = np.concatenate(([first], inside, after))
    return [
        {"from": round(points[index] / 1e9, 3), "to": round(points[index + 1] / 1e9, 3)}
        for index in np.flatnonzero(np.diff(points) >= UNAVAILABLE_MIN_NS).tolist()
    ]


def _is(column: pa.ChunkedArray, text: str) -> pa.ChunkedArray:
    return pc.equal(column.cast(pa.string()), text)


def _short(value: float) -> float:
    """Round a value to four significant digits: smaller files, same plots."""
    return float(f"{value:.4g}")
