"""Turns a run folder into a verdict: the findings of the checkers, judged by the guarantees.

Used at the end of a run and by `chaoskit check`, which also judges what a killed run left behind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base import durable, parquet, store
from chaoskit.base.errors import BadInput
from chaoskit.base.latency import Ints
from chaoskit.base.reading import RESTORE
from chaoskit.contract import installed
from chaoskit.contract.checkers.anomaly import Anomaly
from chaoskit.contract.guarantees.guarantee import Allowance
from chaoskit.contract.workloads.traits import Group, Routed
from chaoskit.history.compacting.drivers import apart_ns
from chaoskit.history.compacting.faults import FAULTS_FILE
from chaoskit.history.compacting.finish import finish
from chaoskit.history.compacting.manifest import JUDGED, RECORDED, seal, verify
from chaoskit.history.compacting.placements import Placements
from chaoskit.history.digesting.live import digested
from chaoskit.history.reading.reader import History
from chaoskit.judge.digested.messages import Digested
from chaoskit.judge.digested.several import Several, digest_of, sure_of
from chaoskit.judge.explaining.attribution import Cause, Explained, undecided
from chaoskit.judge.explaining.crashes import hosts_of, place_of, with_crashes
from chaoskit.judge.exposure.measuring import recorded_exposure
from chaoskit.judge.faults.at_stake import nothing_at_stake
from chaoskit.judge.faults.chains import chain, with_procedure
from chaoskit.judge.faults.in_flight import nothing_open
from chaoskit.judge.faults.rows import fault_rows
from chaoskit.judge.findings.checking import find
from chaoskit.judge.findings.guard import LOG, Guard
from chaoskit.judge.findings.imports import JEPSEN, allowed_of_jepsen
from chaoskit.judge.findings.replays import not_replayed
from chaoskit.judge.findings.unrecorded import unrecorded
from chaoskit.judge.findings.windows import faced, paused
from chaoskit.judge.subject.lateness import after_the_load, other_incidents
from chaoskit.judge.subject.subject import Subject, read_subject
from chaoskit.judge.timing.machine import machine_of, seconds_of
from chaoskit.judge.timing.metrics import figures, measure, not_made
from chaoskit.judge.timing.models import unguarded
from chaoskit.judge.timing.timing import FaultTimes, Timing, faults_of, load_of
from chaoskit.judge.verdict.bounds import compare
from chaoskit.judge.verdict.final_read import final_read
from chaoskit.judge.verdict.headline import missing_of
from chaoskit.judge.verdict.missing import doubts_of_record, require_messages
from chaoskit.judge.verdict.tolerated import tolerated
from chaoskit.judge.verdict.verdict import Found, Verdict, allow, decide, derive, describe_cause
from chaoskit.model.operation import SENDING

EXAMPLES_MAX = 5

_LOOKED_AT = 100_000
"""Number of operations in which the commonest error is looked for."""

_NO_LIVENESS = ("problems", "load_start_ns", "load", "crashed", "answered")
"""Keys of recovery.json that verdict.json has elsewhere."""


def check_run(folder: Path) -> Verdict:
    """Judge a run folder and write its findings and verdict.json.

    A run that was killed has only write-ahead logs, which are compacted first.

    Raises:
        BadInput: the folder does not hold a run, or is damaged.
    """
    verify(folder, RECORDED)
    subject = read_subject(folder)
    if not (folder / "operations.parquet").exists():
        finish(folder)
    if not subject.imported and not (folder / FAULTS_FILE).exists():
        raise BadInput(f"{folder / FAULTS_FILE} is missing: without it nobody knows what was done. {RESTORE}")
    history = History.open(folder)
    faults = faults_of(history.recorded_faults)
    if digested(folder):
        return _check_digested(folder, subject, history, faults)
    timing = Timing(load_of(folder), faults)
    guard = Guard()
    findings = find(history, subject.bound_ns, timing.load, subject.imposed, guard)
    counts, waits = measure(history, timing)
    if not subject.imported:
        require_messages(history, counts)
    return judge(folder, subject, history, findings, figures(counts, waits, timing, folder / "latency"), guard)


def _check_digested(folder: Path, subject: Subject, history: History, faults: tuple[FaultTimes, ...]) -> Verdict:
    declared = subject.plan.declared if subject.plan else None
    routed = declared.get(Routed) if declared else None
    if declared is None or routed is None:
        raise BadInput(f"{folder / store.SCENARIO} does not belong to this run: its logs were digested. {RESTORE}")
    group = declared.get(Group)
    digested_run = Digested(folder, routed.places, group.count if group else 0)
    timing = Timing(digested_run.load(load_of(folder)), faults)
    load = figures(digested_run.counts(timing), digested_run.waits(timing), timing, folder / "latency")
    digest_findings = digested_run.told({place: history.audit(*place) for place in subject.partitions})
    digest = digest_of(digested_run, digest_findings, routed.places)
    sure = sure_of(subject, history, digest_findings, digest)
    unlooked = digested_run.unlooked(
        timing.load, faced(history, subject.bound_ns), paused(subject.liveness), subject.bound_ns
    )
    subject = replace(subject, liveness=_with_problems(subject.liveness, (*digest_findings.doubts, *unlooked)))
    several = Several(digest_findings.count, lambda judged: digested_run.expanded(judged, digest_findings), digest)
    return judge(folder, subject, history, sure, load, Guard(), several)


def _with_problems(liveness: Mapping[str, Any], doubts: Sequence[str]) -> dict[str, Any]:
    return {**liveness, "problems": [*liveness.get("problems", ()), *doubts]}


def judge(  # noqa: PLR0917 - what there is of a run
    folder: Path,
    subject: Subject,
    history: History,
    findings: pa.Table,
    load: Mapping[str, Any],
    guard: Guard,
    several: Several | None = None,
) -> Verdict:
    """Turn the findings of a run into its verdict, and write both into its folder.

    Args:
        folder: the run folder.
        subject: what the run declared.
        history: the history of the run.
        findings: the findings of all checkers.
        load: the result of `chaoskit.judge.timing.metrics.figures`.
        guard: what checkers raised; what is left to do is guarded by it, too.
        several: for how many messages each row stands; None: one.
    """
    crashed = subject.liveness.get("crashed", [])
    placements = history.placements.with_fixed({place_of(crash): hosts_of(crash) for crash in crashed})
    findings = with_crashes(findings, crashed)
    messages = None if several is None else np.append(several.messages, np.ones(len(crashed), np.int64))
    digest = several.digest if several else None
    explained = guard.run(
        lambda: subject.explain(findings, history, placements, messages, digest),
        undecided(findings, f"the rules could not be applied ({LOG})"),
        "a rule",
    )
    counts = _counted(explained.findings, messages)
    if several is not None:
        explained = replace(explained, findings=several.expanded(explained.findings))
    with durable.whole(folder / "findings.parquet") as unfinished:
        parquet.write(explained.findings, unfinished)
    verdict = _verdict(subject, folder, history, placements, explained, load, counts, guard)
    guard.write(folder)
    store.write_json(folder / store.VERDICT, verdict.as_json())
    seal(folder, JUDGED)
    return verdict


def _verdict(  # noqa: PLR0917 - see `judge`
    subject: Subject,
    folder: Path,
    history: History,
    placements: Placements,
    explained: Explained,
    load: Mapping[str, Any],
    counts: Mapping[str, int],
    guard: Guard,
) -> Verdict:
    liveness, anomalies = subject.liveness, _anomalies(subject, history, explained, counts, guard.unjudged())
    seconds = seconds_of(folder)
    took = _explained_by(anomalies)
    faults = tuple(fault_rows(subject, seconds, history, placements, explained, load, took, guard))
    unexposed: dict[str, Any] = {}
    exposure = guard.run(lambda: recorded_exposure(folder, subject), unexposed, "the measurement of exposure")
    availability = {key: value for key, value in load["availability"].items() if key != "by_fault"}
    audit, complete = final_read(subject, history)
    counted = load["counts"]
    in_vain = counted["sent"] and not counted["acked_in_load"]
    problems = (*guard.doubts(), *_problems(subject, folder, history, load, faults))
    bounded = compare(subject.bounds, availability, load["latency"])
    outcome, reasons = decide(
        anomalies,
        recovered=True if subject.imported else liveness["recovered"],
        why=liveness.get("why", ""),
        audit_complete=complete,
        acked=counted["acked_in_load"],
        why_not_acked=_commonest_error(history.operations) if in_vain else "",
        faults=faults,
        problems=problems,
        behind=(liveness.get("group") or {}).get("behind", ()),
        bounds=bounded,
    )
    return Verdict(
        run=store.run_name(folder),
        scenario=subject.name,
        seed=subject.seed,
        verdict=outcome,
        reasons=reasons,
        load_start_s=round(subject.load_start_ns / 1e9, 3),
        replayable=not subject.imported,
        anomalies=anomalies,
        faults=faults,
        audit=audit,
        bounds=bounded,
        liveness={key: value for key, value in liveness.items() if key not in _NO_LIVENESS},
        drivers=tuple(history.drivers),
        machine=machine_of(seconds),
        counts=load["counts"],
        rates=load["rates"],
        availability=availability,
        latency=_with_uncertainty(load["latency"], history),
        exposure=exposure,
        tolerated=tuple(tolerated(subject.plan)) if subject.plan and faults else (),
        problems=problems,
    )


def _anomalies(
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


def _explained_by(anomalies: Mapping[str, Found]) -> dict[int, int]:
    """Return of how many findings of one anomaly each fault is a cause, at most."""
    counts: dict[int, int] = {}
    for cause in (cause for anomaly in anomalies.values() for cause in anomaly.causes):
        for fault in cause["faults"]:
            counts[fault] = max(counts.get(fault, 0), cause["count"])
    return counts


def _problems(
    subject: Subject, folder: Path, history: History, load: Mapping[str, Any], faults: Sequence[Mapping[str, Any]]
) -> tuple[str, ...]:
    """Return what makes a run prove too little, besides its final read, and faults without an effect."""
    declared = subject.plan.declared if subject.plan else None
    return (
        *not_made(load),
        *subject.settings_in_doubt,
        *subject.liveness.get("problems", ()),
        *unguarded(history),
        *not_replayed(history, declared),
        *doubts_of_record(folder, subject, history),
        *after_the_load(faults, load["end_ns"] / 1e6),
        *other_incidents(history.recorded_faults, subject.late_starts(history.recorded_faults)),
        *nothing_at_stake(faults),
        *nothing_open(faults, declared, subject.expect),
    )


def _with_uncertainty(latency: Mapping[str, Any], history: History) -> dict[str, Any]:
    """Say by how much latencies from one client to another may be wrong, if these ran on several machines."""
    if not history.drivers:
        return dict(latency)
    return {**latency, "end_to_end": {**latency["end_to_end"], "uncertainty_ms": apart_ns(history.drivers) / 1e6}}


def _counted(findings: pa.Table, messages: Ints | None) -> dict[str, int]:
    """Return how many messages findings are about, by anomaly."""
    names = findings["anomaly"].combine_chunks()
    counts = np.bincount(names.indices.to_numpy(), messages, minlength=len(names.dictionary))
    return {
        name: int(count) for name, count in zip(names.dictionary.to_pylist(), counts.tolist(), strict=True) if count
    }


def _commonest_error(operations: pa.Table) -> str:
    """Return the error that most sends ended with, of the first operations; empty if none had one."""
    first = operations.slice(0, _LOOKED_AT)
    sends = first.filter(pc.is_in(first["f"].cast(pa.string()), value_set=pa.array(SENDING)))
    errors = Counter(error for error in sends["error"].to_pylist() if error)
    return next((error for error, _ in errors.most_common(1)), "")


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
    causes = explained.causes.get(name, ())
    derived = derive(causes, promise, subject.accept) if causes else promise
    anomaly = installed.anomalies()[name]
    doubt = anomaly.doubt
    if name in explained.open and (derived is None or derived.allowed or not causes):
        open_, missing = explained.open[name]
        doubt = f"nothing proves or excludes what became of {open_:,} of them: {missing}"
    if anomaly.measured and name in subject.bounds:
        derived = Allowance(True, "a measurement; the scenario's bound on it is judged apart")
    allowance = allow(name, count, derived, subject.expect, measured=anomaly.measured, doubt=doubt)
    described = _causes_as_json(causes, rows, history)
    return Found(
        count,
        allowance.allowed,
        allowance.why,
        with_procedure(allowance.remedy or (anomaly.remedy if count else ""), described),
        _between_s(rows),
        tuple(examples(rows, history.operations, subject.describe)),
        described,
        doubt,
        _not_looked_for(anomaly, history, unjudged) if not count and name in subject.expect else "",
        *missing_of(name, rows, history.operations),
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


def _between_s(rows: pa.Table) -> tuple[float, float] | None:
    extent = pc.min_max(rows["at_ns"]).as_py()
    return None if extent["min"] is None else (extent["min"] / 1e9, extent["max"] / 1e9)


def examples(
    rows: pa.Table, operations: pa.Table, describe: Callable[[int], str] | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the first findings as rows, with descriptions of the operations and positions that they refer to.

    Args:
        rows: the findings.
        operations: the operations of the history.
        describe: returns a position in the system's own notation; empty, or None, if positions are plain numbers.
    """
    for row in rows.slice(0, EXAMPLES_MAX).to_pylist():
        example = {key: value for key, value in row.items() if value is not None and key != "anomaly"}
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
