"""What subscribers should have been told is found by the check by Spark, too: each time that they asked counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from runs import FEED, FeedRun, counts_of

from chaoskit.judge.verdict.verdict import Verdict

pytest.importorskip("pyspark", reason="pip install 'chaoskit[spark]'")

from tasks_here import run_here

from spark_analysis import check
from spark_analysis.runs import open_run


def silent(folder: Path) -> tuple[Path, Verdict]:
    """Return a run whose publisher stopped for 15 s, and whose subscriber asked twice a second, and was not told."""
    promise = "at-most-once", False, None
    run = FeedRun(folder, {"rate": 5}, promise, {"system": "cyclonedds", "hosts": 3}, given=[("deadline", 300_000_000)])
    run.join("consumer-0", 0.01)
    for number in range(150):
        at = 1 + 0.2 * number + (15 if number >= 75 else 0)
        run.send("producer-0", number, at, topic=FEED)
        run.get("consumer-0", [number], at + 0.01)
    for number in range(28):
        run.op("consumer-0", "receive", 16.1 + 0.5 * number)
    run.probed(50, ("consumer-0",))
    verdict = run.judged(47, 5)
    return run.folder, verdict


def test_a_silence_that_nobody_was_told_of_is_found_in_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, in_process = silent(tmp_path)

    monkeypatch.setattr(check, "run_tasks", run_here)
    monkeypatch.setattr(check, "task_rows", lambda *_: 1_000_000)

    by_spark = check.check(None, open_run(0, folder, recheck=True))  # type: ignore[arg-type]

    assert counts_of(in_process)["unnoticed"][0] > 0
    assert json.dumps(by_spark.as_json()) == json.dumps(in_process.as_json())
