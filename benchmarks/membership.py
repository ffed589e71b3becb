"""What it costs to record the membership about once a second: sends a second, p99, and processor time.

Rounds alternate without and with the recording (`chaoskit.run.survey`) on one running cluster of three brokers, with
a topic of three partitions. Sends: 100-byte messages at the maximum rate, acks=all; p99: at 2,000/s, from the call.
Processor time: what the machine uses while nothing is sent, cores. Prints one JSON line a system.

    sudo .venv/bin/python -m benchmarks.membership [ROUNDS] [SECONDS]
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.latency import recorded as latencies
from benchmarks.recording import TOPIC, in_process, recorded, running
from chaoskit.contract.datamodel import LOG
from chaoskit.contract.service import Service
from chaoskit.contract.topic import Topic
from chaoskit.run.survey import Survey
from clusters.kafka.settings import KafkaOptions
from clusters.pulsar.settings import PulsarOptions
from clusters.rabbitmq.settings import RabbitOptions

_RATE = 2_000
_SYSTEMS = {
    "kafka": KafkaOptions(topic={"min.insync.replicas": 2}),
    "rabbitmq": RabbitOptions(),
    "pulsar": PulsarOptions(),
}


@contextmanager
def surveyed(cluster: Service) -> Iterator[None]:
    """Record the membership meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        survey = Survey(cluster, Path(folder), time.monotonic_ns(), str)
        survey.start()
        try:
            yield
        finally:
            survey.close()


def used(seconds: float) -> float:
    """Return how many cores the machine uses in the next seconds, on average."""
    before = psutil.cpu_times()
    time.sleep(seconds)
    after = psutil.cpu_times()
    busy = sum(getattr(after, each) - getattr(before, each) for each in ("user", "nice", "system", "irq", "softirq"))
    return float(busy) / seconds


def p99(connection: dict[str, Any], seconds: float) -> float:
    """Return the 99th percentile from the call of send to its acknowledgement, ms."""
    return float(np.percentile(latencies(connection, _RATE, round(seconds))[:, 0], 99))


def pairs(cluster: Service, measure: Callable[[], float], rounds: int) -> dict[str, Any]:
    """Measure without and with the recording, in turns."""
    without, recording = [], []
    for _ in range(rounds):
        without.append(measure())
        with surveyed(cluster):
            recording.append(measure())
    ratios = [b / a for a, b in zip(without, recording, strict=True)]
    return {
        "without": [round(each, 4) for each in without],
        "with": [round(each, 4) for each in recording],
        "median_of_each": [round(statistics.median(each), 4) for each in (without, recording)],
        "median_ratio": round(statistics.median(ratios), 4),
    }


def main(rounds: int, seconds: float) -> None:
    """Measure and print."""
    for name, options in _SYSTEMS.items():
        with running(name, 3, options) as cluster:
            cluster.create_topic(Topic(TOPIC, LOG, 3, 3))
            told = {"cores": pairs(cluster, partial(used, seconds), rounds)}
            if name == "kafka":
                connection = cluster.client_settings()
                for key, measure in (("sends_per_s", recorded), ("p99_ms", p99)):
                    in_process(measure, connection, seconds)  # brokers warm up
                    told[key] = pairs(cluster, partial(in_process, measure, connection, seconds), rounds)
        print(json.dumps({name: told}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8, float(sys.argv[2]) if len(sys.argv) > 2 else 10)
