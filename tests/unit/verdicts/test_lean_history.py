"""Spark judges with a history that holds few operations at a time: the verdict is that of the check in process."""

from __future__ import annotations

from pathlib import Path

import pytest
from runs import StoryRun

from chaoskit.history.reading.reader import History
from chaoskit.judge.checking import find
from chaoskit.judge.judging import judge
from chaoskit.judge.metrics import figures, measure
from chaoskit.judge.subject import read_subject
from chaoskit.judge.timing import Timing, faults_of, load_of

check = pytest.importorskip("spark_analysis.check", reason="pip install pyspark")


def test_a_run_with_faults_and_losses_is_judged_alike(tmp_path: Path) -> None:
    load = {"kind": "log", "producers": 1, "consumers": 1, "duration": "60s", "producer": {"acks": 1}}
    run = StoryRun(tmp_path, load)
    run.led("n1")
    run.led("n2", 11.5)
    run.fault("kill", ("n1",), 10, 14)
    for value in range(600):
        run.send("producer-0", value, value * 0.1, value)
    run.read_back(100, {value: value for value in range(600) if not 100 <= value < 110}, end=600)
    in_process = run.judged(60)

    subject, history = read_subject(run.folder), History.open(run.folder)
    timing = Timing(load_of(run.folder), faults_of(history.recorded_faults))
    findings = find(history, subject.bound_ns, timing.load, subject.imposed)
    told = figures(*measure(history, timing), timing, run.folder / "latency")
    lean = judge(run.folder, subject, check.LeanHistory.open(run.folder), findings, told)

    assert lean.as_json() == in_process.as_json()
    assert lean.anomalies["lost"].causes[0]["rule"] == "kafka.acks-one"
