"""Turns the findings of a run into its verdict, by the guarantees of its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from chaoskit.base import durable, parquet, store
from chaoskit.history.compacting.drivers import apart_ns
from chaoskit.history.compacting.manifest import JUDGED, seal
from chaoskit.history.compacting.placements import Placements
from chaoskit.history.reading.reader import History
from chaoskit.judge.digested.several import Several
from chaoskit.judge.explaining.attribution import Explained, undecided
from chaoskit.judge.explaining.crashes import hosts_of, place_of, with_crashes
from chaoskit.judge.exposure.measuring import recorded_exposure
from chaoskit.judge.faults.instances import InstanceEnd, ended_by_themselves, instance_ends
from chaoskit.judge.faults.rows import fault_rows
from chaoskit.judge.findings.guard import LOG, Guard
from chaoskit.judge.subject.subject import Subject
from chaoskit.judge.timing.machine import machine_of, seconds_of
from chaoskit.judge.verdict.anomalies import anomalies_of, counted, explained_by, longest_ms
from chaoskit.judge.verdict.bounds import compare
from chaoskit.judge.verdict.doubts import commonest_error, doubts_of
from chaoskit.judge.verdict.final_read import final_read
from chaoskit.judge.verdict.tolerated import tolerated
from chaoskit.judge.verdict.verdict import Verdict, decide

_NO_LIVENESS = ("problems", "load_start_ns", "load", "crashed", "answered")
"""Keys of recovery.json that verdict.json has elsewhere."""


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
        lambda: undecided(findings, f"the rules could not be applied ({LOG})"),
        "a rule",
    )
    counts = counted(explained.findings, messages)
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
    liveness, anomalies = subject.liveness, anomalies_of(subject, history, explained, counts, guard.unjudged())
    seconds = seconds_of(folder)
    took = explained_by(anomalies)
    ends = guard.run(lambda: instance_ends(history, subject), list[InstanceEnd], "how instances ended")
    faults = tuple(fault_rows(subject, seconds, history, placements, explained, load, took, ends, guard))
    exposure = guard.run(lambda: recorded_exposure(folder, subject), dict[str, Any], "the measurement of exposure")
    availability = {key: value for key, value in load["availability"].items() if key != "by_fault"}
    audit, complete = final_read(subject, history)
    totals = load["counts"]
    in_vain = totals["sent"] and not totals["acked_in_load"]
    problems = (*guard.doubts(), *doubts_of(subject, folder, history, load, faults))
    longest = longest_ms(subject.bounds, anomalies, history, guard.unjudged())
    bounded = compare(subject.bounds, availability, load["latency"], longest)
    outcome, reasons = decide(
        anomalies,
        recovered=True if subject.imported else liveness["recovered"],
        why=liveness.get("why", ""),
        audit_complete=complete,
        acked=totals["acked_in_load"],
        why_not_acked=commonest_error(history.operations) if in_vain else "",
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
        replayable=subject.replayable,
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
        ended=tuple(ended_by_themselves(ends, load["end_ns"])),
    )


def _with_uncertainty(latency: Mapping[str, Any], history: History) -> dict[str, Any]:
    """Say by how much latencies from one client to another may be wrong, if these ran on several machines."""
    if not history.drivers:
        return dict(latency)
    return {**latency, "end_to_end": {**latency["end_to_end"], "uncertainty_ms": apart_ns(history.drivers) / 1e6}}
