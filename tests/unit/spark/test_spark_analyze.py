"""`chaoskit analyze` over judged, unjudged and damaged runs, as a user runs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hdrh.histogram import HdrHistogram
from test_spark_check import canonical

from chaoskit.base.quantities import SECOND
from chaoskit.base.store import read_json
from chaoskit.judge.findings import checking
from chaoskit.judge.verdict.check import check_run
from spark_analysis.runs import open_run

PROGRAM = [sys.executable, "-c", "from chaoskit.cli.main import main; main()", "analyze"]


def analyze(store: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROGRAM, str(store), *options], capture_output=True, text=True, timeout=600, check=False)


def workers(session: int) -> list[str]:
    """Return the Python workers of a process group."""
    names = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode().split("\0")
            group = int((path.parent / "stat").read_text().rpartition(")")[2].split()[2])
        except OSError:
            continue
        if group == session and "pyspark.daemon" in words:
            names.append(path.parent.name)
    return names


def kill_at_work(store: Path, *options: str) -> None:
    """Begin an analysis, and kill all of it as soon as its workers are at work."""
    quiet = subprocess.DEVNULL
    process = subprocess.Popen([*PROGRAM, str(store), *options], stdout=quiet, stderr=quiet, start_new_session=True)
    while not (seen := workers(process.pid)) and process.poll() is None:
        time.sleep(0.05)
    assert seen, "it ended before a Python worker was seen"
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_a_store_becomes_tables_and_a_report_also_after_an_analysis_that_was_killed(
    make_run: Callable[..., Path], tmp_path: Path
) -> None:
    judged = make_run("a", 0)
    check_run(judged)
    kept = (judged / "verdict.json").stat().st_mtime_ns
    unjudged = make_run("a", 1, inject={"lost-message": 3})
    damaged = make_run("b", 2)
    (damaged / "operations.parquet").write_bytes(b"PAR1")

    store, out = tmp_path / "store", tmp_path / "out"
    options = ("--master", "local[2]", "--out", str(out))
    before = {path: path.stat().st_mtime_ns for path in store.rglob("*") if path.is_file()}

    kill_at_work(store, *options)

    assert {path: path.stat().st_mtime_ns for path in store.rglob("*") if path.is_file()} == before

    done = analyze(store, *options)

    assert done.returncode == 0, done.stderr
    assert "skipped: b/" in done.stdout
    assert "WARN" not in done.stderr
    assert (judged / "verdict.json").stat().st_mtime_ns == kept
    assert read_json(unjudged / "verdict.json")["verdict"] == "invalid"
    findings = canonical(pq.read_table(unjudged / "findings.parquet"))
    assert findings.num_rows
    run = open_run(0, unjudged, recheck=True)
    assert findings.equals(canonical(checking.find(run.history, 60 * SECOND, run.timing.load)))
    runs = pq.read_table(out / "runs.parquet").to_pylist()
    assert [(row["verdict"], row["lost"]) for row in runs] == [("valid", 0), ("invalid", 3)]
    for row, folder in zip(runs, (judged, unjudged), strict=True):
        verdict = read_json(folder / "verdict.json")
        send = verdict["latency"]["send"]
        names = ("p50_ms", "p99_ms", "p999_ms", "max_ms", "without")
        assert [row[name] for name in names] == [send[name] for name in names]
        phases = ("quiet", "under_faults", "after_faults")
        assert [row[f"{name}_p99_ms"] for name in phases] == [
            verdict["latency"][name]["send"].get("p99_ms") for name in phases
        ]
        longest_ms = verdict["availability"]["longest_unavailable_ms"]
        assert row["longest_unavailable_ms"] == longest_ms
        gaps = [gap for gap in pq.read_table(out / "unavailable.parquet").to_pylist() if gap["run"] == row["run"]]
        worst = max(((gap["end_ns"] - gap["start_ns"]) / 1e6 for gap in gaps), default=0)
        assert worst == pytest.approx(longest_ms if longest_ms >= 500 else 0, abs=1e-3)
    (configuration,) = pq.read_table(out / "configurations.parquet").to_pylist()
    assert (configuration["runs"], configuration["valid"], configuration["lost"]) == (2, 1, 3)
    assert HdrHistogram.decode(configuration["histogram"]).get_total_count() <= configuration["acked"]
    windows = pq.read_table(out / "fault_windows.parquet").to_pylist()
    assert {"before", "during", "after"} >= {row["phase"] for row in windows} != set()
    assert sum(row["count"] for row in pq.read_table(out / "lost_ages.parquet").to_pylist()) == 3
    alone = analyze(store, "--out", str(tmp_path / "alone"))
    assert "without Spark" in alone.stderr
    assert not (tmp_path / "alone" / "spark.log").exists()
    for name in (path.name for path in out.glob("*.parquet")):
        assert pq.read_table(tmp_path / "alone" / name).equals(pq.read_table(out / name)), name
    page = (out / "report.html").read_text()
    assert "Cost and durability of each configuration" in page
    assert "Skipped runs" in page
    assert str(damaged.name) in page


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--spark-conf", "x"], "--spark-conf x: is not KEY=VALUE"),
        (["--out", "/proc/nowhere"], "--out /proc/nowhere: cannot be written"),
    ],
)
def test_bad_input_is_named(options: list[str], said: str, make_run: Callable[..., Path], tmp_path: Path) -> None:
    make_run("a")

    done = analyze(tmp_path / "store", *options)

    assert done.returncode == 254
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_store_without_runs_is_refused(tmp_path: Path) -> None:
    done = analyze(tmp_path)

    assert done.returncode == 254
    assert "has no runs that can be analysed" in done.stderr
