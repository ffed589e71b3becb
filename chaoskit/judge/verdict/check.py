"""Checks a run folder: finds what its history shows, and judges it.

Used at the end of a run and by `chaoskit check`, which also judges what a killed run left behind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from chaoskit.base import store
from chaoskit.base.errors import BadInput
from chaoskit.base.reading import RESTORE
from chaoskit.contract.workloads.traits import Group, Routed
from chaoskit.history.compacting.faults import FAULTS_FILE
from chaoskit.history.compacting.finish import finish
from chaoskit.history.compacting.manifest import RECORDED, verify
from chaoskit.history.digesting.live import digested
from chaoskit.history.reading.reader import History
from chaoskit.judge.digested.messages import Digested
from chaoskit.judge.digested.several import Several, digest_of, sure_of
from chaoskit.judge.findings.checking import find
from chaoskit.judge.findings.guard import Guard
from chaoskit.judge.findings.windows import faced, paused
from chaoskit.judge.subject.subject import Subject, read_subject
from chaoskit.judge.timing.metrics import figures, measure
from chaoskit.judge.timing.timing import FaultTimes, Timing, faults_of, load_of
from chaoskit.judge.verdict.judging import judge
from chaoskit.judge.verdict.missing import require_messages
from chaoskit.judge.verdict.verdict import Verdict


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
        raise BadInput(f"{folder / FAULTS_FILE} is missing: without it the faults are unknown. {RESTORE}")
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
    measured = digested_run.figures
    timing = Timing(measured.load(load_of(folder)), faults)
    load = figures(measured.counts(timing), measured.waits(timing), timing, folder / "latency")
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
