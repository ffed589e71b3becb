"""Spark judges with a history that holds few operations at a time: the verdict is that of the check in process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from runs import kill_of_the_leader

from chaoskit.base import store
from chaoskit.history.reading.reader import History
from chaoskit.judge.findings.checking import find
from chaoskit.judge.findings.guard import Guard
from chaoskit.judge.subject.subject import read_subject
from chaoskit.judge.timing.metrics import figures, measure
from chaoskit.judge.timing.timing import Timing, faults_of, load_of
from chaoskit.judge.verdict.judging import judge

outcome = pytest.importorskip("spark_analysis.outcome", reason="pip install pyspark")


def test_a_run_with_faults_and_losses_is_judged_alike(tmp_path: Path) -> None:
    folder = kill_of_the_leader(tmp_path)
    in_process = store.read_json(folder / store.VERDICT, dict[str, Any])

    subject, history = read_subject(folder), History.open(folder)
    timing = Timing(load_of(folder), faults_of(history.recorded_faults))
    findings = find(history, subject.bound_ns, timing.load, subject.imposed)
    load = figures(*measure(history, timing), timing, folder / "latency")
    lean = judge(folder, subject, outcome.LeanHistory.open(folder), findings, load, Guard())

    assert json.loads(json.dumps(lean.as_json())) == in_process
    assert lean.anomalies["lost"].causes[0]["rule"] == "kafka.acks-one"
