"""Whether the latency that chaoskit records is that of the system: beside a bare client in C with the same settings.

Rounds alternate: a producer in C on the same librdkafka (`bare_latency.c`), and the log workload's producer with
everything recorded. One broker with `jvm: production`, one partition, 100-byte messages at 10,000/s, acks=all,
linger.ms=1, after a warm-up. Prints one JSON line: percentiles of each, ms from the call of send to its
acknowledgement and from when it was due, and the ratios of their medians.

    sudo .venv/bin/python -m benchmarks.latency [ROUNDS] [SECONDS] [RATE]
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from importlib import resources
from pathlib import Path
from typing import Any

import confluent_kafka
import numpy as np
import numpy.typing as npt

from benchmarks.recording import TOPIC, in_process, kafka, recorded_by
from chaoskit.contract.workloads.workload import Task
from chaoskit.history.format.record import COMPLETE, SEND
from chaoskit.history.recording.recover import recover
from chaoskit.load.producer import produce
from chaoskit.model.outcome import OK
from clusters.common.properties import text
from clusters.kafka.clients.settings import resolve_producer
from clusters.kafka.connection import librdkafka
from clusters.kafka.settings import KafkaOptions
from workloads.log.options import LogOptions

_SIZE = 100
_PRODUCER = {"linger.ms": 1}
_WARM_UP_S = 30
_POINTS = {"p50": 50, "p90": 90, "p99": 99, "p99.9": 99.9}
_WAYS = ("from_call", "from_due")

Took = npt.NDArray[np.float64]
"""Of each message, ms from the call and from when it was due to its acknowledgement."""


def in_c(program: Path, connection: dict[str, Any], rate: int, seconds: int) -> Took:
    """Return what the bare client measured."""
    settings = {**librdkafka(connection), **resolve_producer(_PRODUCER)}
    properties = [f"{name}={text(value)}" for name, value in settings.items()]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "took"
        subprocess.run([program, out, TOPIC, str(rate), str(seconds), str(_SIZE), *properties], check=True)
        return np.fromfile(out, np.int64).reshape(-1, 2) / 1e6


def acknowledged(connection: dict[str, Any], options: LogOptions, seconds: float) -> tuple[Any, npt.NDArray[np.int64]]:
    """Return the sends that the log workload's producer recorded, and when each was acknowledged, ns; 0: it was not."""
    with tempfile.TemporaryDirectory() as folder:
        recorded_by(Path(folder), Task("producer", 0), options, produce, connection, seconds)
        [log] = recover(Path(folder))
        records = np.concatenate([np.asarray(segment) for segment in log.segments])
    sends, completed = records[records["kind"] == SEND], records[records["kind"] == COMPLETE]
    done = np.zeros(len(sends), np.int64)
    good = completed[completed["code"] == OK]
    done[good["op"]] = good["end_ns"]
    return sends, done


def recorded(connection: dict[str, Any], rate: int, seconds: int) -> Took:
    """Return what the log workload's producer recorded."""
    options = LogOptions(rate=rate, message_size=_SIZE, producer=_PRODUCER)
    sends, done = acknowledged(connection, options, seconds)
    counted = (done > 0) & (sends["intended_ns"] != sends["start_ns"])
    ends, sent = done[counted], sends[counted]
    return np.stack([ends - sent["start_ns"], ends - sent["intended_ns"]], axis=1) / 1e6


def main(rounds: int, seconds: int, rate: int) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder, kafka(1, KafkaOptions(jvm=["production"])) as connection:
        program = _compiled(Path(folder))
        in_c(program, connection, rate, _WARM_UP_S)
        pairs = [
            (in_c(program, connection, rate, seconds), in_process(recorded, connection, rate, seconds))
            for _ in range(rounds)
        ]
    percentiles = {name: _percentiles([pair[index] for pair in pairs]) for index, name in enumerate(("c", "recorded"))}
    ratio = {
        way: {
            point: round(
                statistics.median(percentiles["recorded"][way][point])
                / statistics.median(percentiles["c"][way][point]),
                3,
            )
            for point in _POINTS
        }
        for way in _WAYS
    }
    print(json.dumps({**percentiles, "ratio": ratio}))


def _percentiles(rounds: list[Took]) -> dict[str, dict[str, list[float]]]:
    return {
        way: {
            point: [round(float(np.percentile(took[:, column], level)), 3) for took in rounds]
            for point, level in _POINTS.items()
        }
        for column, way in enumerate(_WAYS)
    }


def _compiled(folder: Path) -> Path:
    bundled = Path(str(resources.files(confluent_kafka))).parent / "confluent_kafka.libs"
    [library] = bundled.glob("librdkafka*.so*")
    program, source = folder / "bare_latency", Path(__file__).with_name("bare_latency.c")
    subprocess.run(
        ["cc", "-O2", "-Wall", "-Wextra", source, library, f"-Wl,-rpath,{bundled}", "-lpthread", "-o", program],
        check=True,
    )
    return program


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    main(*[*given, *(5, 20, 10_000)[len(given) :]])
