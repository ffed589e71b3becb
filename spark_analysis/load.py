"""The figures of a run's load from merged counts, equal to those that `chaoskit.judge.metrics.measure` computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hdrh.histogram import HdrHistogram

from chaoskit.base import parquet
from chaoskit.base.latency import Ints, merged, summary, write_histogram
from chaoskit.history.schema import OUTCOMES
from chaoskit.judge.metrics import availability, spans_of
from spark_analysis.counting import are_sends, is_word
from spark_analysis.runs import Run

DISTRIBUTIONS = ("send", "send_from_actual", "end_to_end")


def load_of(run: Run, counts: pa.Table, ends: pa.Table) -> dict[str, Any] | None:
    """Return counts, rates, availability and latency as in verdict.json, and write the histograms.

    None if the counts are not sufficient: acknowledged sends have no message, or several.
    """
    acked = total(counts, "acked")
    if total(counts, "send") != acked:
        return None
    for name in DISTRIBUTIONS:
        write_histogram(distribution(counts, name), run.folder / "latency" / f"{name}.hgrm")
    outcome = of_series(counts, "outcome")
    became = np.bincount(outcome["bucket"].to_numpy(), weights=outcome["count"].to_numpy(), minlength=len(OUTCOMES))
    ok, failed, indeterminate = became.astype(np.int64).tolist()
    seconds = max((run.end_ns - run.begin_ns) / 1e9, 1e-9)
    return {
        "counts": {
            "sent": ok + failed + indeterminate,
            "acked": ok,
            "failed": failed,
            "indeterminate": indeterminate,
            "received": total(counts, "received"),
        },
        "rates": {
            "sends_per_s": round(total(counts, "sends") / seconds, 1),
            "acks_per_s": round(acked / seconds, 1),
        },
        "availability": available(run, ends),
        "latency": {name: summary(distribution(counts, name)) for name in DISTRIBUTIONS},
    }


def available(run: Run, ends: pa.Table) -> dict[str, Any]:
    """Return availability as in verdict.json.

    Bins give exact values unless a reported gap is not longer than a bin; in that case all completions are read.
    """
    faults = spans_of(run.history.faults.to_pylist())
    told = availability(completions(ends), run.begin_ns, run.end_ns, faults)
    gaps = [told["longest_unavailable_ms"], *(each["unavailable_ms"] for each in told["by_fault"])]
    if not ends.num_rows or all(run.timing.bin_ns < gap * 1e6 for gap in gaps if gap is not None):
        return told
    return availability(_all_completions(run), run.begin_ns, run.end_ns, faults)


def completions(ends: pa.Table) -> Ints:
    """Return completion times of sends, ascending: the first and the last of each bin."""
    return np.unique(np.concatenate([ends["first_ns"].to_numpy(), ends["last_ns"].to_numpy()]))


def of_series(counts: pa.Table, series: str) -> pa.Table:
    """Return COUNTS of one series."""
    return counts.filter(pc.equal(counts["series"], series))


def total(counts: pa.Table, series: str) -> int:
    """Return the sum of a series."""
    return pc.sum(of_series(counts, series)["count"]).as_py() or 0


def distribution(counts: pa.Table, series: str, segments: tuple[int, int] | None = None) -> HdrHistogram:
    """Return a series as one histogram: all segments, or those from the first up to, but not including, the last."""
    rows = of_series(counts, series)
    if segments is not None:
        within = pc.and_(pc.greater_equal(rows["segment"], segments[0]), pc.less(rows["segment"], segments[1]))
        rows = rows.filter(within)
    return merged(rows["bucket"].to_numpy(), rows["count"].to_numpy())


def _all_completions(run: Run) -> Ints:
    """Return the completion time of each acknowledged send of the load; takes 8 bytes per send."""
    file = parquet.opened(run.folder / "operations.parquet")
    parts = [np.zeros(0, np.int64)]
    for group in range(file.num_row_groups):
        table = file.read_row_group(group, columns=["f", "client", "start_ns", "end_ns", "outcome"])
        chosen = are_sends(table) & is_word(table["outcome"], "ok")
        chosen &= table["start_ns"].to_numpy() >= run.timing.load_start_ns
        parts.append(table["end_ns"].fill_null(0).to_numpy()[chosen])
    return np.concatenate(parts)
