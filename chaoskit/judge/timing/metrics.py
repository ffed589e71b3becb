"""The figures of a run's load, from the measurements of its partitions: counts, rates, availability and latency.

Send latency counts from when a send was due, so that stalls of a broker count (this avoids coordinated omission);
`send_from_actual` counts from the call. Availability is that of the worst partition: an acknowledgement of another one
ends no wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hdrh.histogram import HdrHistogram

from chaoskit.base.latency import Ints, buckets, merged, summary, write_histogram
from chaoskit.history.reading.reader import History, read_messages, read_observations
from chaoskit.judge.timing.behaviour import behaviour
from chaoskit.judge.timing.counting import WAITS, OperationColumns
from chaoskit.judge.timing.counts import of_series, summed, total
from chaoskit.judge.timing.measuring import operations_counted, partition_measured
from chaoskit.judge.timing.models import model_of
from chaoskit.judge.timing.slowest import slowest
from chaoskit.judge.timing.timing import PHASES, Load, Timing
from chaoskit.judge.timing.unmade import unmade
from chaoskit.model.outcome import OUTCOMES

PARTITIONS_TOLD = 20
"""verdict.json names at most this many partitions: the worst ones."""

_MILLION = 1e6


def measure(history: History, timing: Timing) -> tuple[pa.Table, pa.Table]:
    """Return COUNTS and WAITS of a history; see `chaoskit.judge.timing.measuring`."""
    counts, wait_tables = [operations_counted(history.operations)], [WAITS.empty_table()]
    operations = OperationColumns.of(history.operations)
    for partition in history.partitions:
        tables = read_messages(partition), read_observations(partition)
        counted, waits = partition_measured(partition, model_of(history, partition.topic), tables, operations, timing)
        counts.append(counted)
        wait_tables.append(waits)
    return summed(counts), pa.concat_tables(wait_tables)


def figures(counts: pa.Table, waits: pa.Table, timing: Timing, latency_folder: Path) -> dict[str, Any]:
    """Return counts, rates, availability, latency and `behaviour` as in verdict.json, and write the histograms.

    `end_ns` is when the load ended, ns since the start of the run; `unmade` see `chaoskit.judge.timing.unmade`.

    Counts include warm-up sends; the other figures do not. The auditor's operations are never included.

    Args:
        counts: COUNTS of the run.
        waits: WAITS of the run.
        timing: what they were measured with.
        latency_folder: folder for the `.hgrm` files.
    """
    load = timing.load
    outcome = of_series(counts, "outcome")
    became = np.bincount(outcome["bucket"].to_numpy(), weights=outcome["count"].to_numpy(), minlength=len(OUTCOMES))
    ok, failed, indeterminate = became.astype(np.int64).tolist()
    missing = never_made(counts, load)
    seconds = max(load.seconds, 1e-9)
    return {
        "counts": {
            "sent": ok + failed + indeterminate,
            "acked": ok,
            "acked_in_load": total(counts, "send"),
            "failed": failed,
            "indeterminate": indeterminate,
            "never_made": None if load.every_ns is None else int(missing[1].sum()),
            "received": total(counts, "received"),
        },
        "unmade": unmade(counts, waits, timing, int(missing[1].sum())),
        "rates": {
            "sends_per_s": round(total(counts, "sends") / seconds, 1),
            "acks_per_s": round(total(counts, "acks") / seconds, 1),
            "due_per_s": round(load.due_per_s, 1),
        },
        "availability": availability(waits, timing),
        "latency": latency(counts, missing, timing, latency_folder),
        "behaviour": behaviour(counts, waits, timing),
        "end_ns": load.end_ns,
    }


def not_made(figures: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the doubt that the load was not made, if it was not, given the figures of a run."""
    counts, without = figures["counts"], figures.get("unmade", 0)
    if not without:
        return ()
    missing, due = counts["never_made"], counts["never_made"] + counts["sent"]
    reason = "no fault prevented clients from making them"
    if without < missing:
        reason = f"no fault prevented clients from making {without:,} of them"
    return (f"the load was not made: {missing:,} of {due:,} sends were never made, though due; {reason}",)


def never_made(counts: pa.Table, load: Load) -> tuple[Ints, Ints]:
    """Return when the sends that were never made were due, and how many; see `Load.never_made`."""
    made = of_series(counts, "made")
    return load.never_made(made["segment"].to_numpy(), made["count"].to_numpy())


def latency(counts: pa.Table, missing: tuple[Ints, Ints], timing: Timing, folder: Path) -> dict[str, Any]:
    """Return the latencies as in verdict.json, and write their histograms.

    Args:
        counts: COUNTS of the run.
        missing: when sends that were never made were due, and how many.
        timing: what they were measured with.
        folder: folder for the `.hgrm` files.
    """
    due_ns, number = missing
    end_ns = np.full(due_ns.size, timing.load.end_ns, np.int64)
    waited, phase = buckets(end_ns - due_ns), timing.phases(due_ns, end_ns)

    def sends(chosen: int | None) -> dict[str, Any]:
        took, gave_up = (of_series(counts, series, chosen) for series in ("took", "gave_up"))
        rows = slice(None) if chosen is None else phase == chosen
        without = np.concatenate([gave_up["bucket"].to_numpy(), waited[rows]])
        times = np.concatenate([gave_up["count"].to_numpy(), number[rows]])
        acked, acks = took["bucket"].to_numpy(), took["count"].to_numpy()
        whole = merged(np.concatenate([acked, without]), np.concatenate([acks, times]))
        recorded = merged(acked, acks)
        if chosen is None:
            write_histogram(recorded, folder / "send.hgrm")
            write_histogram(whole, folder / "send_all_due.hgrm")
        return _percentiles(recorded, int(times.sum()), whole)

    deliveries = histogram(counts, "end_to_end")
    undelivered = total(counts, "undelivered") if deliveries.get_total_count() else 0
    late = histogram(counts, "late")
    lateness = _percentiles(_written(late, folder, "late"), 0) if late.get_total_count() else None
    from_actual = _written(histogram(counts, "send_from_actual"), folder, "send_from_actual")
    return {
        "send": {**sends(None), **_slowest(counts, "send", timing)},
        "send_from_actual": _percentiles(from_actual, total(counts, "gave_up")),
        "end_to_end": {
            **_percentiles(_written(deliveries, folder, "end_to_end"), undelivered),
            **_slowest(counts, "travelled", timing),
        },
        **({"late": lateness} if lateness else {}),
        **{
            name: {
                "send": sends(index),
                "end_to_end": summary(histogram(counts, "end_to_end", index)),
            }
            for index, name in enumerate(PHASES)
        },
        **_paid(counts),
    }


def _paid(counts: pa.Table) -> dict[str, Any]:
    """Return what sends of producers took that faults hit, and meanwhile those of others; empty unless there are
    both."""
    hit, spared = (histogram(counts, series) for series in ("took_hit", "took_spared"))
    if not hit.get_total_count() or not spared.get_total_count():
        return {}
    return {"hit_producers": summary(hit), "other_producers": summary(spared)}


def availability(waits: pa.Table, timing: Timing) -> dict[str, Any]:
    """Return the longest waits and recoveries: of all, of the worst partitions, and of each fault.

    Each figure is that of its worst partition. Recovery is None if no fault was healed while sends were due.
    """
    load = timing.load
    waits = pa.concat_tables([waits, _never_again(waits, timing)])
    longest = max([_worst(_of(waits, "load")), _stuck_ns(waits, load)])
    recoveries = _recoveries(waits)
    return {
        "longest_unavailable_ms": _milliseconds(longest),
        **recoveries,
        **_silences(waits, "unheard"),
        "partitions": list(_partitions(waits)),
        "by_fault": [
            {"unavailable_ms": None, "unavailable_in": None, "unheard_ms": None, **_of_fault(waits, number)}
            for number in range(len(timing.faults))
        ],
    }


def _of_fault(waits: pa.Table, number: int) -> dict[str, Any]:
    own = waits.filter(pc.equal(waits["number"], number))
    longest = _of(own, "fault")
    content: dict[str, Any] = _recoveries(own)
    if longest.num_rows:
        index = int(np.argmax(_lasted(longest)))
        content["unavailable_ms"] = _milliseconds(_lasted(longest)[index])
        content["unavailable_in"] = _place(longest.slice(index, 1).to_pylist()[0])
    return content | _silences(own, "unheard-fault")


def _silences(waits: pa.Table, of: str) -> dict[str, Any]:
    """Return the longest silence of a reader, whose it was, and the longest time from a healing to a receive, and how
    many readers received nothing after it; empty if nothing is known of readers."""
    silences, heard = _of(waits, of), _of(waits, "heard")
    if not silences.num_rows:
        return {}
    index = int(np.argmax(_lasted(silences)))
    row = silences.slice(index, 1).to_pylist()[0]
    deaf = heard.filter(pc.invert(heard["answered"]))
    return {
        "unheard_ms": _milliseconds(_lasted(silences)[index]),
        "unheard_by": {"reader": row["reader"], "partition": _place(row), "from_s": round(row["begin_ns"] / 1e9, 3)},
        "heard_after_heal_ms": _milliseconds(_worst(heard)) if heard.num_rows else None,
        "not_heard": deaf.group_by(["topic", "partition", "reader"]).aggregate([]).num_rows,
    }


def _recoveries(waits: pa.Table) -> dict[str, Any]:
    """Return the longest times from the healing and from the undoing of a fault to the next acknowledgement, and in how
    many partitions there was none; the time then counts until sends were given up."""
    healed, undone = _of(waits, "healed"), _of(waits, "undone")
    both = pa.concat_tables([healed, undone])
    never = both.filter(pc.invert(both["answered"]))
    return {
        "recovered_after_heal_ms": _milliseconds(_worst(healed)) if healed.num_rows else None,
        "recovered_after_undoing_ms": _milliseconds(_worst(undone)) if undone.num_rows else None,
        "not_recovered": len({_place(row) for row in never.select(["topic", "partition"]).to_pylist()}),
    }


def _partitions(waits: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield the availability of the worst partitions, worst first."""
    longest = _of(waits, "load")
    worst = np.argsort(-_lasted(longest), kind="stable")[:PARTITIONS_TOLD]
    for row in longest.take(pa.array(worst)).to_pylist():
        here = pc.and_(pc.equal(waits["topic"], row["topic"]), pc.equal(waits["partition"], row["partition"]))
        recoveries = _recoveries(waits.filter(here))
        yield {
            "partition": _place(row),
            "longest_unavailable_ms": _milliseconds(row["end_ns"] - row["begin_ns"]),
            "from_s": round(row["begin_ns"] / 1e9, 3),
            "recovered_after_heal_ms": recoveries["recovered_after_heal_ms"],
            "recovered_after_undoing_ms": recoveries["recovered_after_undoing_ms"],
            "recovered": not recoveries["not_recovered"],
        }


def _never_again(waits: pa.Table, timing: Timing) -> pa.Table:
    """Return a wait for each healing and undoing after which nothing at all was acknowledged though sends were due, and
    no partition tells of it, because each may have been abandoned, like a ledger."""
    load = timing.load
    sends, rows = _of(waits, "sends").sort_by("end_ns").to_pylist()[-1:], []
    last_ns = max(_of(waits, "acks")["end_ns"].to_pylist(), default=-1)
    for number, fault in enumerate(timing.faults):
        kinds = set(waits.filter(pc.equal(waits["number"], number))["of"].to_pylist())
        for of, at_ns in (("healed", fault.healed_ns), ("undone", fault.heal_ns)):
            if at_ns is None or at_ns >= load.end_ns or (load.last_ns < at_ns and load.stuck_ns is None):
                continue
            if of not in kinds and last_ns < at_ns:
                wait = {"of": of, "number": number, "begin_ns": at_ns, "end_ns": load.end_ns, "answered": False}
                rows += [{**send, **wait} for send in sends]
    return pa.Table.from_pylist(rows, WAITS)


def _stuck_ns(waits: pa.Table, load: Load) -> int:
    """Return how long nothing at all was acknowledged before the end of the load while nothing was sent, though due."""
    if load.stuck_ns is None:
        return 0
    last_ns = max(_of(waits, "acks")["end_ns"].to_pylist(), default=load.begin_ns)
    return max(load.end_ns - max(last_ns, load.stuck_ns), 0)


def _of(waits: pa.Table, of: str) -> pa.Table:
    return waits.filter(pc.equal(waits["of"], of))


def _lasted(waits: pa.Table) -> Ints:
    lasted: Ints = waits["end_ns"].to_numpy() - waits["begin_ns"].to_numpy()
    return lasted


def _worst(waits: pa.Table) -> int:
    return int(_lasted(waits).max(initial=0))


def _place(row: Mapping[str, Any]) -> str:
    return f"{row['topic']}/{row['partition']}"


def _milliseconds(duration_ns: float) -> float:
    return round(float(duration_ns) / _MILLION, 3)


def histogram(counts: pa.Table, series: str, segment: int | None = None) -> HdrHistogram:
    """Return the durations of a series of COUNTS, of all segments or of one."""
    rows = of_series(counts, series, segment)
    return merged(rows["bucket"].to_numpy(), rows["count"].to_numpy())


def _written(recorded: HdrHistogram, folder: Path, name: str) -> HdrHistogram:
    write_histogram(recorded, folder / f"{name}.hgrm")
    return recorded


def _slowest(counts: pa.Table, series: str, timing: Timing) -> dict[str, Any]:
    worst = slowest(counts, series, timing)
    return {} if worst is None else {"slowest": worst}


def _percentiles(recorded: HdrHistogram, without: int, whole: HdrHistogram | None = None) -> dict[str, Any]:
    """Return percentiles, and how many have none; `whole` counts these as well. Empty if there is nothing at all."""
    if not recorded.get_total_count() and not without:
        return {}
    percentiles: dict[str, Any] = {**summary(recorded), "without": without}
    return percentiles if whole is None else {**percentiles, "all_due": summary(whole)}
