"""The columns of the Parquet files that an analysis writes (docs/analysis.md)."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from chaoskit.judge.timing.timing import PHASES

_TEXTS, _TIME = pa.list_(pa.string()), pa.timestamp("us", "UTC")


def _of(kind: pa.DataType, names: Iterable[str]) -> list[pa.Field]:
    return [pa.field(name, kind) for name in names]


_PERCENTILES = _of(pa.float64(), ["p50_ms", "p90_ms", "p99_ms", "p999_ms", "max_ms"])
_HISTOGRAM = _of(pa.string(), ["histogram"])

SCHEMAS = {
    "runs": pa.schema(
        [
            *_of(pa.string(), ["run", "scenario"]),
            *_of(pa.int64(), ["seed"]),
            *_of(_TIME, ["time"]),
            *_of(pa.string(), ["system", "configuration", "verdict", "headline"]),
            *_of(_TEXTS, ["reasons"]),
            *_of(pa.int64(), ["sent", "acked", "failed", "indeterminate", "never_made", "received"]),
            pa.field("anomalies", pa.map_(pa.string(), pa.int64())),
            *_of(_TEXTS, ["disallowed"]),
            *_of(pa.int64(), ["lost"]),
            *_of(pa.float64(), ["seconds", "acks_per_s", "longest_unavailable_ms", "recovered_after_heal_ms"]),
            *_PERCENTILES,
            *_of(pa.float64(), ["due_p99_ms"]),
            *_of(pa.int64(), ["without"]),
            *_of(pa.bool_(), ["machine_full"]),
            *_of(pa.float64(), [f"{name}_p99_ms" for name in PHASES]),
            *_HISTOGRAM,
        ]
    ),
    "fault_windows": pa.schema(
        [
            *_of(pa.string(), ["run", "scenario"]),
            *_of(pa.int64(), ["fault"]),
            *_of(pa.string(), ["kind", "phase"]),
            *_of(pa.int64(), ["start_ns", "end_ns", "due", "acked"]),
            *_of(pa.float64(), ["acked_per_s", "longest_gap_ms", "recovery_ms"]),
            *_of(pa.int64(), ["count"]),
            *_PERCENTILES,
            *_HISTOGRAM,
        ]
    ),
    "fault_kinds": pa.schema(
        [
            *_of(pa.string(), ["system", "kind", "phase"]),
            *_of(pa.int64(), ["faults"]),
            *_of(pa.float64(), ["acked_per_s"]),
            *_of(pa.int64(), ["count"]),
            *_PERCENTILES,
            *_of(pa.float64(), ["longest_gap_ms", "recovery_ms"]),
            *_HISTOGRAM,
        ]
    ),
    "unavailable": pa.schema(
        [
            *_of(pa.string(), ["run", "topic"]),
            *_of(pa.int64(), ["partition", "start_ns", "end_ns"]),
            *_of(pa.bool_(), ["answered"]),
        ]
    ),
    "lost_ages": pa.schema(
        [*_of(pa.string(), ["run", "kind"]), *_of(pa.float64(), ["from_ms", "to_ms"]), *_of(pa.int64(), ["count"])]
    ),
    "configurations": pa.schema(
        [
            *_of(pa.string(), ["system", "configuration", "settings"]),
            *_of(pa.int64(), ["runs", *("valid", "invalid", "unknown"), "acked", "lost", "runs_with_loss"]),
            pa.field("anomalies", pa.map_(pa.string(), pa.int64())),
            *_of(_TEXTS, ["disallowed"]),
            *_of(pa.float64(), ["acks_per_s", "under_faults_p99_ms", "longest_unavailable_ms"]),
            *_of(pa.int64(), ["without", "runs_on_full_machines"]),
            *_PERCENTILES,
            *_HISTOGRAM,
        ]
    ),
    "trends": pa.schema(
        [
            *_of(pa.string(), ["scenario", "run"]),
            *_of(_TIME, ["time"]),
            *_of(pa.string(), ["verdict", "headline"]),
            *_of(pa.float64(), ["due_p99_ms", "acks_per_s", "longest_unavailable_ms", "recovered_after_heal_ms"]),
            *_of(pa.int64(), ["lost"]),
            *_of(_TEXTS, ["regressions"]),
        ]
    ),
}
"""Schemas by name of the file, without `.parquet`."""
