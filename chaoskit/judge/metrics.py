"""Counts, latency and availability of a run, computed from its history; vectorised.

Send latency is measured from the intended send time, so that stalls of a broker count (this avoids
coordinated omission); `send_from_actual` is measured from the call. Unavailability is the longest time
without a completed send while sends were due.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base.latency import histogram, summary, write_histogram
from chaoskit.history.reader import History, read_messages
from chaoskit.history.schema import AUDITOR, SENDING

Nanoseconds = npt.NDArray[np.int64]

_MILLION = 1e6


Span = tuple[int, int | None]
"""When a fault began, and when it was proved healed (None if it was not), ns since the start of the run."""


def spans_of(faults: Sequence[Mapping[str, Any]]) -> list[Span]:
    """Return when the faults of a run (rows of faults.parquet) began and ended."""
    return [(row["start_ns"], row["healed_ns"]) for row in faults]


def measure(history: History, latency_folder: Path, faults: Sequence[Span], load_start_ns: int) -> dict[str, Any]:
    """Return counts, rates, availability and latency as in verdict.json, and write the histograms.

    Counts include warm-up sends before `load_start_ns`; the other figures do not. The auditor's operations
    are never included.

    Args:
        history: the history of the run.
        latency_folder: folder for the `.hgrm` files.
        faults: the faults of the run.
        load_start_ns: when all clients started together, ns since the start of the run.
    """
    operations = history.operations.filter(pc.invert(_is(history.operations["client"], AUDITOR)))
    sends = operations.filter(pc.is_in(operations["f"].cast(pa.string()), value_set=pa.array(SENDING)))
    load = sends.filter(pc.greater_equal(sends["start_ns"], load_start_ns))
    acked = load.filter(_is(load["outcome"], "ok"))
    intended, end_to_end, received = _times(history, operations, load_start_ns)
    ends, starts = acked["end_ns"].to_numpy(), load["start_ns"].to_numpy()
    begin, end = (int(starts.min()), int(starts.max())) if len(starts) else (0, 0)
    distributions = {
        "send": histogram(ends - intended[acked["op"].to_numpy()]),
        "send_from_actual": histogram(ends - acked["start_ns"].to_numpy()),
        "end_to_end": histogram(end_to_end),
    }
    for name, recorded in distributions.items():
        write_histogram(recorded, latency_folder / f"{name}.hgrm")
    seconds = max((end - begin) / 1e9, 1e-9)
    return {
        "counts": counts(sends, received),
        "rates": {
            "sends_per_s": round(load.num_rows / seconds, 1),
            "acks_per_s": round(acked.num_rows / seconds, 1),
        },
        "availability": availability(ends, begin, end, faults),
        "latency": {name: summary(recorded) for name, recorded in distributions.items()},
    }


def counts(sends: pa.Table, received: int) -> dict[str, int]:
    """Return the number of sends by outcome, and the number of received messages."""
    outcomes = {row["values"]: row["counts"] for row in pc.value_counts(sends["outcome"].cast(pa.string())).to_pylist()}
    return {
        "sent": sends.num_rows,
        "acked": outcomes.get("ok", 0),
        "failed": outcomes.get("fail", 0),
        "indeterminate": outcomes.get("info", 0),
        "received": received,
    }


def availability(
    ok_ends_ns: Nanoseconds, load_start_ns: int, load_end_ns: int, faults: Sequence[Span]
) -> dict[str, Any]:
    """Return the longest time without a completed send, and the longest from a healing to the next one.

    The latter is None if no fault was healed while sends were due, or no send completed afterwards. `by_fault`
    has both for each fault alone, considering only gaps that overlap it; None for a fault outside the load.

    Args:
        ok_ends_ns: completion times of acknowledged sends.
        load_start_ns, load_end_ns: interval in which sends were due.
        faults: the faults; those healed after the end of the load do not count for recovery.
    """
    ends = np.sort(ok_ends_ns)
    inside = ends[(ends >= load_start_ns) & (ends <= load_end_ns)]
    after_load = ends[len(ends) - np.count_nonzero(ends > load_end_ns) :][:1]
    last = after_load if len(after_load) else [load_end_ns]
    instants = np.concatenate(([load_start_ns], inside, last)).astype(np.int64)
    after = [_next(ends, healed) for _, healed in faults if healed is not None and healed < load_end_ns]
    known = [each for each in after if each is not None]
    return {
        "longest_unavailable_ms": _milliseconds(np.diff(instants).max()) if load_end_ns > load_start_ns else 0,
        "recovered_after_heal_ms": _milliseconds(max(known)) if known and known == after else None,
        "by_fault": [_around(fault, instants, ends) for fault in faults],
    }


def _around(fault: Span, instants: Nanoseconds, ends: Nanoseconds) -> dict[str, float | None]:
    start, healed = fault
    first = max(int(np.searchsorted(instants, start, "right")) - 1, 0)
    until = instants[-1] if healed is None else healed
    touched = instants[first : int(np.searchsorted(instants, until, "left")) + 1]
    after = None if healed is None or healed >= instants[-1] else _next(ends, healed)
    within = start < instants[-1] and until > instants[0] and len(touched) > 1
    return {
        "unavailable_ms": _milliseconds(np.diff(touched).max()) if within else None,
        "recovered_after_heal_ms": None if after is None else _milliseconds(after),
    }


def _milliseconds(duration_ns: int) -> float:
    return round(float(duration_ns) / _MILLION, 3)


def _next(ends: Nanoseconds, instant: int) -> int | None:
    """Return the time from an instant to the next completed send; None if there is none."""
    index = int(np.searchsorted(ends, instant))
    return int(ends[index] - instant) if index < len(ends) else None


def _times(history: History, load: pa.Table, load_start_ns: int) -> tuple[Nanoseconds, Nanoseconds, int]:
    """Return the intended send times by op, end-to-end latencies, and the number of messages that the load received."""
    intended = history.operations["start_ns"].to_numpy().copy()
    in_load = np.zeros(history.operations.num_rows, dtype=bool)
    in_load[load["op"].to_numpy()] = True
    latencies, received_count = [np.zeros(0, np.int64)], 0
    for partition in history.partitions:
        messages = read_messages(partition)
        sent = messages.filter(_is(messages["direction"], "sent"))
        sent = sent.filter(pc.is_valid(sent["intended_ns"]))
        intended[sent["op"].to_numpy()] = sent["intended_ns"].to_numpy()
        reads = messages.filter(_is(messages["direction"], "received"))
        reads = reads.filter(pa.array(in_load[reads["op"].to_numpy()]))
        received_count += reads.num_rows
        whole = reads.filter(_is(reads["payload"], "ok"))
        whole = whole.filter(pc.and_(pc.is_valid(whole["intended_ns"]), pc.is_valid(whole["received_ns"])))
        begun = whole["intended_ns"].to_numpy()
        latencies.append((whole["received_ns"].to_numpy() - begun)[begun >= load_start_ns])
    return intended, np.concatenate(latencies), received_count


def _is(column: pa.ChunkedArray, text: str) -> pa.ChunkedArray:
    return pc.equal(column.cast(pa.string()), text)
