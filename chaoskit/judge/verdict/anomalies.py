"""What was found of each anomaly of a run, whether that is allowed, and a few of the findings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base.latency import Ints
from chaoskit.base.quantities import MILLISECOND
from chaoskit.contract import installed
from chaoskit.contract.checkers.anomaly import Anomaly
from chaoskit.contract.guarantees.guarantee import Allowance
from chaoskit.history.digesting.live import digested
from chaoskit.history.reading.reader import History
from chaoskit.judge.explaining.attribution import Cause, Explained
from chaoskit.judge.faults.chains import chain, with_procedure
from chaoskit.judge.findings.imports import JEPSEN, allowed_of_jepsen
from chaoskit.judge.findings.unrecorded import unrecorded
from chaoskit.judge.subject.subject import Subject
from chaoskit.judge.verdict.blamed import with_blamed
from chaoskit.judge.verdict.headline import missing_of
from chaoskit.judge.verdict.ids import with_ids
from chaoskit.judge.verdict.verdict import Found, Lasted, LastedDetail, allow, derive, describe_cause

EXAMPLES_MAX = 5


def counted(findings: pa.Table, messages: Ints | None) -> dict[str, int]:
    """Return how many messages findings are about, by anomaly."""
    names = findings["anomaly"].combine_chunks()
    counts = np.bincount(names.indices.to_numpy(), messages, minlength=len(names.dictionary))
    return {
        name: int(count) for name, count in zip(names.dictionary.to_pylist(), counts.tolist(), strict=True) if count
    }


def anomalies_of(
    subject: Subject,
    history: History,
    explained: Explained,
    counts: Mapping[str, int],
    unjudged: Mapping[str, str],
) -> dict[str, Found]:
    """Return what was found of every anomaly that was found or expected, or that could not be judged."""
    promises = subject.promises()
    if subject.origin == JEPSEN:
        promises = allowed_of_jepsen(explained.findings, history)
    return {
        name: _judged_anomaly(name, subject, history, explained, promises.get(name), counts.get(name, 0), unjudged)
        for name in installed.anomalies()
        if name in counts or name in subject.expect
    }


def longest_ms(
    bounded: Collection[str], anomalies: Mapping[str, Found], history: History, unjudged: Collection[str]
) -> dict[str, float | None]:
    """Return how long the longest finding of each anomaly lasted that lasts and has a bound, milliseconds: 0 if there
    is none, None if not everything could be found."""
    longest: dict[str, float | None] = {}
    for name, anomaly in installed.anomalies().items():
        if name not in bounded or not anomaly.lasting:
            continue
        lasted_ms = anomalies[name].lasted_ms if name in anomalies else None
        if name in unjudged or digested(history.folder) or unrecorded(anomaly, history):
            longest[name] = None
        else:
            longest[name] = 0.0 if lasted_ms is None else lasted_ms.max
    return longest


def explained_by(anomalies: Mapping[str, Found]) -> dict[int, int]:
    """Return of how many findings of one anomaly each fault is a cause, at most."""
    counts: dict[int, int] = {}
    for cause in (cause for anomaly in anomalies.values() for cause in anomaly.causes):
        for fault in cause["faults"]:
            counts[fault] = max(counts.get(fault, 0), cause["count"])
    return counts


def _judged_anomaly(  # noqa: PLR0917 - see `judge`
    name: str,
    subject: Subject,
    history: History,
    explained: Explained,
    promise: Allowance | None,
    count: int,
    unjudged: Mapping[str, str],
) -> Found:
    """Return what was found of one anomaly; `promise` is why it must not occur."""
    findings = explained.findings
    rows = findings.filter(pc.equal(findings["anomaly"].cast(pa.string()), name))
    anomaly = installed.anomalies()[name]
    if anomaly.lasting:
        rows = rows.take(pa.array(np.argsort(-_took_ms(rows), kind="stable")))  # the longest first
    causes = explained.causes.get(name, ())
    derived = derive(causes, promise, subject.accept) if causes else promise
    doubt = anomaly.doubt
    if name in explained.open and (derived is None or derived.allowed or not causes):
        open_, missing = explained.open[name]
        doubt = f"{open_:,} of them cannot be explained or excluded: {missing}"
    if anomaly.measured and name in subject.bounds:
        derived = Allowance(True, "a measurement; the scenario's bound on it is judged separately")
    allowance = allow(name, count, derived, subject.expect, measured=anomaly.measured, doubt=doubt)
    described = _causes_as_json(causes, rows, history)
    shown = with_blamed(examples(rows, history.operations, subject.describe), history.operations)
    return Found(
        count,
        allowance.allowed,
        allowance.why,
        with_procedure(allowance.remedy or (anomaly.remedy if count else ""), described),
        _between_s(rows, "since_ns" if anomaly.lasting else "at_ns"),
        tuple(with_ids(shown, history.folder)),
        described,
        doubt,
        _not_looked_for(anomaly, history, unjudged) if not count and name in subject.expect else "",
        *missing_of(name, rows, history.operations),
        _lasted_ms(rows) if anomaly.lasting else None,
    )


def _not_looked_for(anomaly: Anomaly, history: History, unjudged: Mapping[str, str]) -> str:
    """Return why nothing of an anomaly can have been found; empty if it could."""
    if anomaly.name in unjudged:
        return f"{unjudged[anomaly.name]} raised an exception"
    return unrecorded(anomaly, history)


def _causes_as_json(
    causes: Sequence[tuple[Cause | None, int]], rows: pa.Table, history: History
) -> tuple[dict[str, Any], ...]:
    """Return causes as in verdict.json; those of one rule and the same faults are one."""
    merged: dict[tuple[str, str, str], dict[str, Any]] = {}
    for cause, count in causes:
        if cause is not None:
            described = {**describe_cause(cause, count), "chain": _chain(cause, rows, history)}
            same = merged.setdefault(
                (described["rule"], described["what"], described["chain"]), {**described, "count": 0}
            )
            same["count"] += count
    return tuple(merged.values())


def _chain(cause: Cause, rows: pa.Table, history: History) -> str:
    """Return what had happened before the faults of a cause, as to the partition of the first finding."""
    if not rows.num_rows:
        return ""
    place = rows["topic"][0].as_py(), rows["partition"][0].as_py()
    return chain([effect.number for effect in cause.story.faults], history.recorded_faults, history.placements, place)


def _between_s(rows: pa.Table, first: str) -> tuple[float, float] | None:
    last_ns = pc.max(rows["at_ns"]).as_py()
    return None if last_ns is None else (pc.min(rows[first]).as_py() / 1e9, last_ns / 1e9)


def _took_ms(rows: pa.Table) -> npt.NDArray[np.float64]:
    """Return how long each of some findings that last took."""
    took_ms: npt.NDArray[np.float64] = (rows["at_ns"].to_numpy() - rows["since_ns"].to_numpy()) / MILLISECOND
    return took_ms


def _lasted_ms(rows: pa.Table) -> Lasted | None:
    """Return how long findings lasted; None if there are none."""
    if not rows.num_rows:
        return None
    took_ms, detail = _took_ms(rows), np.array(rows["detail"].to_pylist(), np.str_)
    of_detail = {str(name): took_ms[detail == name] for name in np.unique(detail)}
    by_detail = {name: LastedDetail(own.size, *_median_and_longest(own)) for name, own in of_detail.items()}
    return Lasted(*_median_and_longest(took_ms), by_detail)


def _median_and_longest(lasted_ms: npt.NDArray[np.float64]) -> tuple[float, float]:
    return round(float(np.median(lasted_ms)), 3), round(float(lasted_ms.max()), 3)


def examples(
    rows: pa.Table, operations: pa.Table, describe: Callable[[int], str] | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the first findings as rows, with descriptions of the operations and positions that they refer to.

    Args:
        rows: the findings.
        operations: the operations of the history.
        describe: returns a position in the system's own notation; empty, or None, if positions are plain numbers.
    """
    lasting = {name for name, anomaly in installed.anomalies().items() if anomaly.lasting}
    for row in rows.slice(0, EXAMPLES_MAX).to_pylist():
        example = {key: value for key, value in row.items() if value is not None and key != "anomaly"}
        if row.get("anomaly") in lasting:
            example["lasted_ms"] = round((row["at_ns"] - row["since_ns"]) / MILLISECOND, 3)
        for key in ("op", "other_op"):
            if key in example:
                example[key.replace("op", "operation")] = _describe(operations, example[key])
        for key in ("position", "other_position"):
            if describe and key in example and (text := describe(example[key])):
                example[f"{key}_text"] = text
        yield example


def _describe(operations: pa.Table, op: int) -> str:
    row = operations.slice(op, 1).to_pylist()[0]
    ended = "never completed" if row["end_ns"] is None else f"{row['outcome']} at {row['end_ns'] / 1e9:.3f} s"
    error = f" ({row['error']})" if row["error"] else ""
    return f"{row['f']} by {row['client']} at {row['start_ns'] / 1e9:.3f} s, {ended}{error}"
