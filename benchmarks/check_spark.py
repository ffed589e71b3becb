"""The Spark check of one large run against the check in process: same verdict, how long, how much memory.

    python -m benchmarks.check_spark [MESSAGES] [--partitions N] [--skew SHARE] [--run FOLDER] [--master URL]

Prints one JSON line. Memory is the highest sum over the job's processes (driver, JVM, Python workers), as
resident size and as proportional size, which counts memory that processes share once (Linux). Needs some
12 GB for the check in process; `--no-in-process` leaves it out.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from chaoskit.base.store import find_run
from chaoskit.judge.verdict.check import check_run
from spark_analysis.check import check
from spark_analysis.runs import open_run
from spark_analysis.session import start

_EVERY_S = 0.2
_TIMEOUT_S = 3600


def main() -> None:
    """Make a run unless one is named, check it both ways in processes of their own, print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("messages", nargs="?", default="10M")
    parser.add_argument("--partitions", default="16")
    parser.add_argument("--skew", help="share of one partition")
    parser.add_argument("--run", type=Path, help="check this run folder instead of a new one")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--spark-conf", action="append", default=[])
    parser.add_argument("--no-in-process", action="store_true")
    parser.add_argument("--child", choices=["spark", "process"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        _check(options.child, options.run, options.master, options.spark_conf)
        return
    with tempfile.TemporaryDirectory(prefix="check-spark-") as scratch:
        run = options.run or _synthesized(Path(scratch), options)
        print(json.dumps(_compared(find_run(run), options)))


def _synthesized(scratch: Path, options: argparse.Namespace) -> Path:
    command = ["synthesize", "--store", str(scratch), "--messages", options.messages]
    command += ["--partitions", options.partitions, "--inject", "lost-message=3", "--inject", "wrong-partition=3"]
    command += ["--skew", options.skew] if options.skew else []
    program = [sys.executable, "-c", "from chaoskit.cli.main import main; main()"]
    subprocess.run([*program, *command], check=True, timeout=_TIMEOUT_S, stdout=subprocess.DEVNULL)
    return scratch


def _compared(run: Path, options: argparse.Namespace) -> dict[str, Any]:
    rows = [pq.read_metadata(path).num_rows for path in (run / "messages.parquet").glob("*.parquet")]
    figures: dict[str, Any] = {
        "messages": sum(rows),
        "operations": pq.read_metadata(run / "operations.parquet").num_rows,
    }
    figures |= _measured("spark", run, options)
    if options.no_in_process:
        return figures
    by_spark = _results(run)
    figures |= _measured("process", run, options)
    figures["identical"] = by_spark == _results(run)
    figures["ratio"] = round(figures["spark_s"] / figures["process_s"], 2)
    return figures


def _measured(kind: str, run: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Run one kind of check in a process of its own; return its figures and the highest memory."""
    command = [sys.executable, "-m", "benchmarks.check_spark", "--child", kind, "--run", str(run)]
    command += ["--master", options.master, *(part for pair in options.spark_conf for part in ("--spark-conf", pair))]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    peaks = {"rss": 0, "pss": 0}
    sampler = threading.Thread(target=_sample, args=(child, peaks), daemon=True)
    sampler.start()
    output, errors = child.communicate(timeout=_TIMEOUT_S)
    if child.returncode:
        sys.exit(errors)
    figures = json.loads(output.splitlines()[-1])
    return {**figures, **{f"{kind}_{name}_gb": round(value / 1e9, 2) for name, value in peaks.items()}}


def _sample(child: subprocess.Popen[str], peaks: dict[str, int]) -> None:
    while child.poll() is None:
        family = _family(child.pid)
        for name, file, key in (("rss", "status", "VmRSS"), ("pss", "smaps_rollup", "Pss")):
            peaks[name] = max(peaks[name], sum(_bytes(pid, file, key) for pid in family))
        time.sleep(_EVERY_S)


def _family(root: int) -> list[int]:
    """Return a process and all that descend from it."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it ended meanwhile
        parents[int(path.parent.name)] = int(fields[1])
    family = [root]
    for pid in family:
        family += [child for child, parent in parents.items() if parent == pid]
    return family


def _bytes(pid: int, file: str, key: str) -> int:
    try:
        match = re.search(rf"^{key}:\s+(\d+) kB", Path(f"/proc/{pid}/{file}").read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(match[1]) * 1024 if match else 0


def _results(run: Path) -> tuple[Any, Any]:
    """Return verdict.json, and the findings in one order."""
    findings = pq.read_table(run / "findings.parquet").to_pandas()
    for name in ("anomaly", "topic", "detail"):
        findings[name] = findings[name].astype(str)
    ordered = findings.sort_values(list(findings.columns)).to_csv(index=False)
    return json.loads((run / "verdict.json").read_text()), ordered


def _check(kind: str, run: Path, master: str, settings: list[str]) -> None:
    began = time.monotonic()
    if kind == "process":
        check_run(run)
        print(json.dumps({"process_s": round(time.monotonic() - began, 1)}))
        return
    shutil.rmtree(run / "latency", ignore_errors=True)
    spark = start(master, dict(pair.split("=", 1) for pair in settings), run / "spark.log")
    started = time.monotonic()
    check(spark, open_run(0, run, recheck=True))
    took_s = time.monotonic() - started
    spark.stop()
    print(json.dumps({"start_s": round(started - began, 1), "spark_s": round(took_s, 1)}))


if __name__ == "__main__":
    main()
