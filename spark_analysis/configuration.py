"""The declared configuration of a run as one readable line, and what the runs of each configuration did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from hdrh.histogram import HdrHistogram
from pydantic import ValidationError

from chaoskit.base.errors import BadInput
from chaoskit.base.latency import encoded, merged, percentiles
from chaoskit.contract import installed
from chaoskit.judge.timing.counts import of_series, summed
from chaoskit.judge.timing.metrics import histogram
from chaoskit.judge.timing.timing import QUIET, UNDER
from chaoskit.report.words import release
from chaoskit.scenario.model import LOCAL, ClusterSpec
from spark_analysis.outcome import TaskResults
from spark_analysis.runs import AnalysedRun

_OUTCOMES = ("valid", "invalid", "unknown")
_ELSEWHERE = {"system", "version", "kind", "type", "duration", "attach", "inventory", "prefix"}
"""What is told before the settings, or says neither what the system keeps nor how it is loaded."""

_PLAIN = ("config", "topic", "persistence", "deduplication", "namespace", "policy", "producer", "consumer")
"""Mappings of settings that have names of their own."""


def settings(scenario: Mapping[str, Any]) -> str:
    """Return what the scenario declares of its cluster and load beside the system, without what is the default anyway.

    >>> settings({"cluster": {"system": "mine", "hosts": 3, "topic": {"min.insync.replicas": 2}},
    ...           "workload": {"kind": "log", "rate": 50, "producer": {"acks": "all"}}})
    'log, min.insync.replicas=2, rate=50, acks=all'
    >>> settings({"cluster": {"system": "mine", "topic": {"a": 1}, "config": {"a": 2}}})
    'topic.a=1, config.a=2'
    """
    cluster, workload = scenario.get("cluster") or {}, scenario.get("workload") or {}
    keeps = " ".join(str(workload[key]) for key in ("type", "kind") if workload.get(key))
    usual = {**_usual_cluster(cluster), **_usual("workload", workload.get("kind", ""))}
    declared = [
        setting
        for given in (cluster, workload)
        for key, value in given.items()
        if key not in _ELSEWHERE
        for setting in _flat(key, value, usual.get(key))
    ]
    times = Counter(name for _, name, _ in declared)
    named = [f"{name if times[name] == 1 else f'{of}.{name}'}={value}" for of, name, value in declared]
    return ", ".join([*([keeps] if keeps else []), *named])


def configuration(scenario: Mapping[str, Any]) -> str:
    """Return the system, its release and the settings.

    >>> configuration({"cluster": {"system": "mine"}, "workload": {"kind": "queue", "type": "quorum"}})
    'mine, quorum queue'
    """
    return ", ".join(part for part in (release(scenario), settings(scenario)) if part)


def _usual_cluster(cluster: Mapping[str, Any]) -> dict[str, Any]:
    """Return the defaults of a cluster like this one; of its disk, those of its kind of disk and with its seed."""
    disk, hosts = cluster.get("disk") or {}, cluster.get("provider", LOCAL)
    of_kind = _usual("provider", hosts, kind=disk.get("kind"))
    return {
        **ClusterSpec(system="").model_dump(mode="json"),
        **_usual("system", cluster.get("system", "")),
        "disk": {**of_kind, "kind": _usual("provider", hosts).get("kind"), "seed": disk.get("seed")},
    }


@cache
def _usual(what: str, name: str, **given: Any) -> dict[str, Any]:
    """Return the defaults of a plug-in's options; nothing if it is not installed, or has none of all its options."""
    try:
        options: Any = getattr(installed, what)(name, what).options
        named = {key: value for key, value in given.items() if value is not None}
        return dict(options.model_validate(named).model_dump(mode="json"))
    except (BadInput, ValidationError):
        return {}


def _flat(key: str, value: Any, usual: Any, of: str = "workload") -> Iterator[tuple[str, str, str]]:
    """Yield settings that are not as usual: whose they are, their names, and their values."""
    if value is None or value == usual:
        return
    if not isinstance(value, Mapping):
        yield of, key, str(value).lower() if isinstance(value, bool) else str(value)
        return
    for name, inner in value.items():
        usually = usual.get(name) if isinstance(usual, Mapping) else None
        plain = key in _PLAIN
        yield from _flat(name if plain else f"{key}.{name}", inner, usually, key if plain else of)


def configurations(
    runs: Sequence[AnalysedRun], rows: Sequence[dict[str, Any]], outcomes: Mapping[int, TaskResults]
) -> list[dict[str, Any]]:
    """Return what the runs of each configuration did together.

    Args:
        runs: the runs.
        rows: their rows in `runs.parquet`.
        outcomes: what was read of each, by its number.
    """
    result = []
    for name in sorted({row["configuration"] for row in rows}):
        own = [(run, row) for run, row in zip(runs, rows, strict=True) if row["configuration"] == name]
        counts = summed([outcomes[run.number].counts for run, _ in own])
        quiet, under = histogram(counts, "took", QUIET), _every(counts, UNDER)
        anomalies: dict[str, int] = {}
        for anomaly, count in (pair for _, row in own for pair in row["anomalies"]):
            anomalies[anomaly] = anomalies.get(anomaly, 0) + count
        lost = anomalies.pop("lost", 0)
        seconds = sum(row["seconds"] for _, row in own)
        result.append(
            {
                "system": own[0][1]["system"],
                "configuration": name,
                "settings": settings(own[0][0].scenario),
                "runs": len(own),
                **{outcome: sum(row["verdict"] == outcome for _, row in own) for outcome in _OUTCOMES},
                "acked": sum(row["acked"] for _, row in own),
                "lost": lost,
                "runs_with_loss": sum(row["lost"] > 0 for _, row in own),
                "anomalies": sorted(anomalies.items(), key=lambda pair: -pair[1]),
                "disallowed": sorted({anomaly for _, row in own for anomaly in row["disallowed"]}),
                "acks_per_s": sum(row["acks_per_s"] * row["seconds"] for _, row in own) / seconds if seconds else 0.0,
                **{key: value for key, value in percentiles(quiet).items() if key != "count"},
                "under_faults_p99_ms": percentiles(under)["p99_ms"],
                "longest_unavailable_ms": max((row["longest_unavailable_ms"] or 0.0 for _, row in own), default=None),
                "without": sum(row["without"] or 0 for _, row in own),
                "runs_on_full_machines": sum(row["machine_full"] for _, row in own),
                "histogram": encoded(quiet),
            }
        )
    return result


def _every(counts: pa.Table, phase: int) -> HdrHistogram:
    """Return the latencies of the sends of a phase; those without an acknowledgement count until they were given up."""
    series = [of_series(counts, name, phase) for name in ("took", "gave_up")]
    bucket, count = (np.concatenate([rows[name].to_numpy() for rows in series]) for name in ("bucket", "count"))
    return merged(bucket, count)
