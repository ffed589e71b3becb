"""The check by Spark finds and says what the check in process does, also when workers die."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import cloudpickle
from tasks_here import run_here

from chaoskit.base.quantities import SECOND
from chaoskit.base.store import write_json
from chaoskit.contract.checkers.checker import FINDINGS
from chaoskit.contract.installed import checkers
from chaoskit.contract.workloads.datamodel import LOG
from chaoskit.history.compacting.placements import PlacementLog, Standing
from chaoskit.history.format.models import write_topics
from chaoskit.history.format.origin import write_origin
from chaoskit.history.reading.reader import History
from chaoskit.judge.findings import checking
from chaoskit.judge.verdict.check import check_run
from chaoskit.judge.verdict.verdict import Verdict
from spark_analysis import check
from spark_analysis.runs import open_run
from spark_analysis.session import run_tasks
from spark_analysis.task import RESULTS, work
from spark_analysis.units import SparkTask, into_tasks

NO_FURTHER = "there was no further acknowledgement"
LOSSY = {"lost-message": 3, "wrong-partition": 4, "ghost": 2, "resent-batch": 1}
MODES: dict[str, dict[str, Any]] = {
    "correct": {},
    "lossy": {"inject": LOSSY},
    "many-topics": {"topics": 3, "partitions": 5, "inject": {"wrong-partition": 4}},
    "group": {"mode": "group", "inject": {"commit-back": 1}},
    "transactions": {"mode": "transactions", "transactions": 2_000, "inject": {"aborted-visible": 2}},
}


def canonical(findings: pa.Table) -> pa.Table:
    """Return findings as plain words in one order."""
    names = FINDINGS.names
    plain = pa.schema(
        [
            (field.name, field.type.value_type if pa.types.is_dictionary(field.type) else field.type)
            for field in FINDINGS
        ]
    )
    table = findings.select(names).cast(plain)
    return table.sort_by([(name, "ascending") for name in names if not pa.types.is_list(table.schema.field(name).type)])


def said(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as it is written."""
    return dict(json.loads(json.dumps(verdict.as_json())))


@pytest.mark.parametrize("mode", MODES)
def test_findings_and_verdict_are_those_of_the_check_in_process(
    mode: str, spark: Any, make_run: Callable[..., Path]
) -> None:
    folder = make_run(mode, **MODES[mode])
    in_process = said(check_run(folder))
    files = {path.name: path.read_text() for path in (folder / "latency").iterdir()}
    findings = canonical(pq.read_table(folder / "findings.parquet"))

    by_spark = said(check.check(spark, open_run(0, folder, recheck=True)))

    assert by_spark == in_process
    assert canonical(pq.read_table(folder / "findings.parquet")).equals(findings)
    assert {path.name for path in (folder / "latency").iterdir()} == set(files)


def test_figures_of_a_load_that_got_stuck_are_those_of_the_check_in_process(
    spark: Any, make_run: Callable[..., Path]
) -> None:
    folder = make_run("stuck", faults=2, inject={"stall": 1, "lost-message": 2})
    starts = History.open(folder).operations["start_ns"].to_numpy()
    begin_ns, end_ns = int(np.median(starts)), int(starts.max()) + 15 * SECOND
    paced = {"per_second": 5_000, "clients": 3}
    recovery = {"recovered": True, "bound_s": 60, "took_s": 1, "load_start_ns": begin_ns}
    write_json(folder / "recovery.json", {**recovery, "load": {"end_ns": end_ns, "paced": paced}})
    in_process = said(check_run(folder))
    assert in_process["counts"]["never_made"] > 14 * 5_000
    assert in_process["availability"]["longest_unavailable_ms"] >= 14_900
    endless = [
        detail for detail in pq.read_table(folder / "findings.parquet")["detail"].to_pylist() if detail == NO_FURTHER
    ]
    assert len(endless) == len(History.open(folder).partitions)
    findings = canonical(pq.read_table(folder / "findings.parquet"))

    assert said(check.check(spark, open_run(0, folder, recheck=True))) == in_process
    assert canonical(pq.read_table(folder / "findings.parquet")).equals(findings)


def test_runs_checked_together_are_kept_apart(spark: Any, make_run: Callable[..., Path]) -> None:
    folders = [make_run("a", 0), make_run("b", 1, inject={"lost-message": 2}), make_run("c", 2, partitions=1)]
    runs = [open_run(number, folder, recheck=True) for number, folder in enumerate(folders)]

    outcomes = check.survey(spark, runs)

    for run in runs:
        findings = canonical(check.findings_of(spark, run, outcomes[run.number]))
        assert findings.equals(canonical(checking.find(run.history, 60_000_000_000, run.timing.load)))


def test_a_damaged_run_does_not_end_the_others(spark: Any, make_run: Callable[..., Path]) -> None:
    sound, damaged = make_run("a"), make_run("b", 1)
    runs = [open_run(0, sound, recheck=True), open_run(1, damaged, recheck=True)]
    path = next((damaged / "messages.parquet").iterdir())
    content = bytearray(path.read_bytes())
    content[100:3000] = bytes(2900)
    path.write_bytes(content)

    outcomes = check.survey(spark, runs)

    assert outcomes[0].error is None
    assert path.name in str(outcomes[1].error)


def test_torn_findings_are_no_verdict(make_run: Callable[..., Path]) -> None:
    folder = make_run("a")
    check_run(folder)
    assert open_run(0, folder, recheck=False).subject is None

    path = folder / "findings.parquet"
    path.write_bytes(path.read_bytes()[:-20])

    assert open_run(0, folder, recheck=False).subject is not None


def _killed_once(task: SparkTask, marker: Path) -> Iterator[pa.RecordBatch]:
    """Work on a task; the first worker that gets here dies half way."""
    for number, batch in enumerate(work(task)):
        yield batch
        if number == 1:
            try:
                marker.touch(exist_ok=False)
            except FileExistsError:
                continue
            os.kill(os.getpid(), signal.SIGKILL)


def test_the_history_of_a_killed_run_is_finished_with_its_placements(tmp_path: Path) -> None:
    (tmp_path / "wal").mkdir()
    write_origin(tmp_path / "wal")
    write_topics(tmp_path / "wal", {"log-0": LOG.name})
    (tmp_path / "scenario.yaml").write_text("name: killed\nimported: {}\n")
    log = PlacementLog(tmp_path / "wal")
    log.record(("log-0", 0), Standing(5, "n1", frozenset(["n1", "n2"])))
    log.close()

    history = open_run(0, tmp_path, recheck=True).history

    assert history.placements.holders(("log-0", 0), 0, None) == frozenset({"n1", "n2"})
    assert (tmp_path / "manifest.json").exists()


def test_a_killed_worker_changes_nothing(spark: Any, make_run: Callable[..., Path], tmp_path: Path) -> None:
    run = open_run(0, make_run("a", inject={"lost-message": 3}), recheck=True)
    tasks = into_tasks(run.units(), task_rows=6_000)
    marker = tmp_path / "killed"

    # Workers cannot import this file. The function has no types.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    rows = run_tasks(spark, tasks, partial(_killed_once, marker=marker))

    assert marker.exists()
    expected = [batch for task in tasks for batch in work(task)]
    keys = [(name, "ascending") for name in ("run", "place", "kind", "checker", "content")]
    assert rows.cast(RESULTS).sort_by(keys).equals(pa.Table.from_batches(expected).sort_by(keys))


def test_what_a_checker_raised_comes_back_from_the_tasks(
    spark: Any, make_run: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = open_run(0, make_run("a", inject={"lost-message": 3}), recheck=True)
    broken = checkers()[0]
    monkeypatch.setattr(type(broken), "check", lambda *_: 1 // 0)
    in_process = check_run(run.folder)

    monkeypatch.setattr(check, "run_tasks", run_here)

    by_spark = check.check(spark, run)

    assert any("raised ZeroDivisionError" in reason for reason in in_process.reasons)
    assert said(by_spark) == said(in_process)
