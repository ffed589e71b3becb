"""The data of a run's charts, binned: never one point per message.

Percentiles of a bin are computed from buckets that are 1.1 % wide.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base.latency import Ints
from chaoskit.base.waits import Wait
from chaoskit.history.reading.reader import History, group_sizes, read_messages, read_observations, read_operations
from chaoskit.judge.timing.counting import (
    UNAVAILABLE_MIN_NS,
    CountedSends,
    OperationColumns,
    delivered_rows,
    received_rows,
)
from chaoskit.judge.timing.models import model_of
from chaoskit.judge.timing.timing import Timing

BINS_MAX = 240
_GAPS_MAX = 200
"""At most so many times without an acknowledged send are shown: the longest ones."""

_BIN_NS = [digit * 10**power for power in range(7, 14) for digit in (1, 2, 5)]
_PER_OCTAVE = 64
_AT_ONCE = 2_000_000
_GAP_BINS, _GAP_NS = 3, 2_000_000_000
"""A line is interrupted where more bins, and more time, than this have no value."""

_COLUMNS = ["op", "direction", "payload", "value", "intended_ns", "received_ns"]
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
        """Return for each non-empty bin its start in s, its part, the number of values, and percentiles in ms.

        After a gap without values a new part begins, so that no line is drawn across it.
        """
        cumulated = np.cumsum(self._counts, axis=1)
        totals = cumulated[:, -1]
        begins = self._axis.seconds()
        values = {
            name: 2 ** (np.argmax(cumulated >= np.ceil(totals * point)[:, None], axis=1) / _PER_OCTAVE) / 1000
            for name, point in _POINTS.items()
        }
        used = np.flatnonzero(totals)
        empty = max(_GAP_BINS, _GAP_NS // self._axis.bin_ns)
        parts = np.concatenate([[0], np.cumsum(np.diff(used) > empty)]) if used.size else used
        return [
            {
                "t": begins[index],
                "part": part,
                "n": int(totals[index]),
                **{name: _short(column[index]) for name, column in values.items()},
            }
            for index, part in zip(used.tolist(), parts.tolist(), strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Series:
    """The binned figures of one run; times in s since its start, durations in ms.

    Attributes:
        axis: the bins.
        send, end_to_end: percentiles by bin.
        throughput: sends per second that were due, made or not, and that were acknowledged.
        unavailable: the longest times in which a send to a partition was due and none was acknowledged, longest first.
    """

    axis: Axis
    send: list[dict[str, float]]
    end_to_end: list[dict[str, float]]
    throughput: list[dict[str, float]]
    unavailable: list[dict[str, Any]]


def series_of(history: History, timing: Timing, last_ns: int = 0) -> Series:
    """Return the figures of a run's load, with the same sends, deliveries and waits as in verdict.json.

    Args:
        history: the history of the run.
        timing: when the sends of the run were due.
        last_ns: the axis reaches at least this far.
    """
    operations, load = _operations(history.folder / "operations.parquet"), timing.load
    latest = max(last_ns, load.end_ns, int(operations.end_ns[operations.acked & operations.sends].max(initial=0)))
    axis = Axis.over(load.begin_ns, max(latest, load.last_ns, load.begin_ns + 1))
    send, end_to_end = Percentiles(axis), Percentiles(axis)
    due, acked, unavailable = _no_counts(axis), _no_counts(axis), []
    made = np.zeros(0, np.int64)
    for partition in history.partitions:
        messages = read_messages(partition).select(_COLUMNS)
        tables = messages, read_observations(partition)
        model = model_of(history, partition.topic)
        sends = CountedSends.of(messages, operations, timing, model)
        due_ns, done_ns = sends.due_ns[sends.acked], sends.done_ns[sends.acked]
        send.add(due_ns, done_ns - due_ns)
        due += np.bincount(axis.of(sends.due_ns), minlength=axis.count)
        acked += np.bincount(axis.of(done_ns), minlength=axis.count)
        made = _sum(made, sends.made(load))
        rows = received_rows(messages, operations)
        rows, _ = delivered_rows(tables, operations, rows, load.begin_ns, model)
        begun, received = (messages[name].take(pa.array(rows)).to_numpy() for name in ("intended_ns", "received_ns"))
        end_to_end.add(begun, received - begun)
        place = f"{partition.topic}/{partition.partition}"
        unavailable += [_gap(wait, place) for wait in sends.waits(timing, model).lasting(UNAVAILABLE_MIN_NS)]
    missing_ns, missing = load.never_made(np.arange(made.size), made)
    np.add.at(due, axis.of(missing_ns), missing)
    worst = sorted(unavailable, key=lambda gap: gap["from"] - gap["to"])[:_GAPS_MAX]
    return Series(axis, send.rows(), end_to_end.rows(), _rates(axis, due, acked), worst)


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


def _operations(path: Path) -> OperationColumns:
    columns = ["op", "f", "client", "start_ns", "end_ns", "outcome"]
    sizes = group_sizes(path)
    return OperationColumns.joined((read_operations(path, [group], columns) for group in range(len(sizes))), sum(sizes))


def _no_counts(axis: Axis) -> Ints:
    return np.zeros(axis.count, np.int64)


def _sum(these: Ints, those: Ints) -> Ints:
    """Return the sums of two arrays of counts; what one has more than the other counts as it is."""
    longer, shorter = (these, those) if these.size >= those.size else (those, these)
    total = longer.copy()
    total[: shorter.size] += shorter
    return total


def _gap(wait: Wait, place: str) -> dict[str, Any]:
    begin_s, end_s = round(wait.begin_ns / 1e9, 3), round(wait.end_ns / 1e9, 3)
    return {"from": begin_s, "to": end_s, "partition": place, "answered": wait.answered}


def _rates(axis: Axis, due: Ints, acked: Ints) -> list[dict[str, float]]:
    per_second = 1e9 / axis.bin_ns
    begins = axis.seconds()
    used = np.flatnonzero(due + acked)
    span = range(int(used[0]), int(used[-1]) + 1) if used.size else range(0)
    counted = {"due": due, "acked": acked}
    return [
        {"t": begins[index], **{name: round(float(column[index]) * per_second, 1) for name, column in counted.items()}}
        for index in span
    ]


def _short(value: float) -> float:
    """Round a value to four significant digits: smaller files, same plots."""
    return float(f"{value:.4g}")
