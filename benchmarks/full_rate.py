"""Memory of a run with `record: latency` at full rate: one broker, one producer as fast as it can, one consumer.

Runs `chaoskit run`, and samples the resident memory of its processes every 10 s. Prints one JSON line: verdict, counts,
rate, latency from the call, and for each process its memory in the first and in the last minute of the load (means) and
its highest, MB.

    sudo .venv/bin/python -m benchmarks.full_rate [MINUTES]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from statistics import fmean
from typing import Any

import psutil

from chaoskit.base import yaml
from chaoskit.base.store import VERDICT, find_run, read_json

_SAMPLE_S, _START_S = 10, 30
_MINUTE = 60 // _SAMPLE_S
_KEEP = {"retention.bytes": 2**30, "segment.bytes": 2**27}
_DELETE_SOON = {"log.retention.check.interval.ms": 1000, "log.segment.delete.delay.ms": 1000}
"""By default Kafka looks for old segments every 5 minutes, in which the load writes 15 GB and more."""

Samples = dict[str, list[float]]
"""Resident memory by process, MB, one value each 10 s."""


def scenario(minutes: float) -> dict[str, Any]:
    """Return what is run."""
    return {
        "name": "full-rate",
        "record": "latency",
        "cluster": {
            "system": "kafka", "hosts": 1, "jvm": "production", "disk": {"size": "8GiB"}, "config": _DELETE_SOON,
            "topic": _KEEP,
        },
        "workload": {
            "kind": "log", "rate": "max", "producers": 1, "consumers": 1, "replication": 1, "message_size": 100,
            "duration": f"{minutes * 60:g}s",
        },
    }  # fmt: skip


def sample(run: psutil.Process, ended: threading.Event) -> Samples:
    """Sample a run and its processes until it ends."""
    samples: Samples = defaultdict(list)
    ended.wait(_START_S)
    while not ended.wait(_SAMPLE_S):
        processes = [run]
        with suppress(psutil.Error):  # the run has just ended
            processes += run.children(recursive=True)
        for process in processes:
            with suppress(psutil.Error):  # it has just ended
                if name := "harness" if process == run else _name(process.cmdline()):
                    samples[name].append(process.memory_info().rss / 1e6)
    return samples


def _name(command: list[str]) -> str:
    """Return how a process of a run is told; empty for one that is not chaoskit's."""
    if "chaoskit.run.worker" in command:
        return Path(command[-1]).name.partition(".")[0]
    return "digesting" if "chaoskit.run.digester" in command else ""


def main(minutes: float) -> None:
    """Run, sample, print."""
    program = Path(sys.executable).with_name("chaoskit")
    with tempfile.TemporaryDirectory() as folder:
        path, store = Path(folder) / "scenario.yaml", Path(folder) / "store"
        path.write_text(yaml.dump(scenario(minutes)), encoding="utf-8")
        ended, samples = threading.Event(), Samples()
        with subprocess.Popen([program, "run", path, "--store", store], stdout=subprocess.DEVNULL) as run:
            watching = threading.Thread(target=lambda: samples.update(sample(psutil.Process(run.pid), ended)))
            watching.start()
            run.wait()
            ended.set()
            watching.join()
        verdict = read_json(find_run(store) / VERDICT)
    print(json.dumps({"benchmark": "full_rate", **told(verdict), "memory_mb": memory(samples, minutes)}))


def told(verdict: dict[str, Any]) -> dict[str, Any]:
    """Return what is printed of a verdict."""
    anomalies = {name: anomaly["count"] for name, anomaly in verdict["anomalies"].items()}
    return {
        "verdict": verdict["verdict"],
        "counts": verdict["counts"],
        "acks_per_s": verdict["rates"]["acks_per_s"],
        "anomalies": anomalies,
        "latency": verdict["latency"]["send_from_actual"],
    }


def memory(samples: Samples, minutes: float) -> dict[str, Any]:
    """Return first minute, last minute and highest of each process."""
    load = int(minutes * _MINUTE) - _START_S // _SAMPLE_S
    return {
        name: {
            "first": round(fmean(values[:_MINUTE])),
            "last": round(fmean(values[:load][-_MINUTE:])),
            "max": round(max(values)),
        }
        for name, values in samples.items()
    }


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 10)
