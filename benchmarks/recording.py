"""How fast producers and consumers run with everything recorded, against the bare client in the same loop.

100-byte messages at the maximum rate, acks=all. Rounds alternate bare and recorded, each in a process of its own, so
that a drift of the machine hits both. Sends go to librdkafka's mock cluster, which costs little, and to a real
three-broker Kafka on the same cores, from which they are then read. Prints one JSON line.

    sudo .venv/bin/python -m benchmarks.recording [ROUNDS] [SECONDS]
"""

from __future__ import annotations

import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from benchmarks.lab import hosts
from chaoskit.contract import installed
from chaoskit.contract.systems.service import Service
from chaoskit.contract.systems.system import Rooted
from chaoskit.contract.workloads.datamodel import LOG
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.workload import Job, Task
from chaoskit.history.recording.recorder import WalRecorder
from chaoskit.history.recording.wal import WalWriter
from chaoskit.load.consumer import consume
from chaoskit.load.producer import produce
from chaoskit.model.progress import Progress
from chaoskit.run.deployment import start
from clusters.kafka.clients.clients import KafkaClients
from clusters.kafka.clients.settings import CONSUMER_DEFAULTS, resolve_producer
from clusters.kafka.connection import librdkafka
from clusters.kafka.settings import KafkaOptions
from workloads.log.options import LogOptions

Result = TypeVar("Result")

_SIZE = 100
TOPIC = "log-0"
_MOCK = {"test.mock.num.brokers": 3, "log_level": 0}


class _Timer:
    """A `chaoskit.contract.workloads.workload.Control` that stops after a time."""

    def __init__(self, seconds: float) -> None:
        self.paused = False
        self._seconds = seconds
        self._deadline = float("inf")
        self.progress = Progress()

    @property
    def stopping(self) -> bool:
        return time.monotonic() > self._deadline

    def wait_start(self, meanwhile: Callable[[], object] | None = None) -> int:
        if meanwhile:
            meanwhile()
        self._deadline = time.monotonic() + self._seconds
        return time.monotonic_ns()

    def report(self, progress: Progress) -> None:
        self.progress = progress

    def result(self, result: Mapping[str, Any]) -> None:
        """Nothing: no auditor runs here."""


def recorded_by(  # noqa: PLR0917 - what a client is
    folder: Path,
    task: Task,
    options: LogOptions,
    act: Callable[[Job[Any]], None],
    connection: dict[str, Any],
    seconds: float,
) -> tuple[Progress, float]:
    """Return what a client of the log workload did, and how long that took, s; its log is in `folder`."""
    timer = _Timer(seconds)
    with WalWriter(folder, task.client, 0) as wal:
        began = time.monotonic()
        act(Job(task, options, KafkaClients(connection), WalRecorder(wal, 1), timer, 0))
        return timer.progress, time.monotonic() - began


def _recorded(
    task: Task, act: Callable[[Job[Any]], None], connection: dict[str, Any], seconds: float
) -> tuple[Progress, float]:
    options = LogOptions(rate="max", message_size=_SIZE)
    with tempfile.TemporaryDirectory() as folder:
        return recorded_by(Path(folder), task, options, act, connection, seconds)


def recorded(connection: dict[str, Any], seconds: float) -> float:
    """Return sends a second of the log workload's producer."""
    progress, took_s = _recorded(Task("producer", 0), produce, connection, seconds)
    return progress.acked / took_s


def bare(connection: dict[str, Any], seconds: float) -> float:
    """Return sends a second of confluent-kafka alone: a constant payload, completions only counted."""
    acked = 0

    def delivered(error: object, message: object) -> None:
        nonlocal acked
        acked += error is None

    producer = Producer({**librdkafka(connection), **resolve_producer({})})
    payload = os.urandom(_SIZE)
    in_flight = LogOptions().in_flight
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        for _ in range(min(64, in_flight - len(producer))):
            producer.produce(TOPIC, payload, partition=0, on_delivery=delivered)
        producer.poll(0)
    producer.flush(30)
    return acked / (time.monotonic() - began)


def received(connection: dict[str, Any], seconds: float) -> float:
    """Return messages a second of the log workload's consumer."""
    progress, took_s = _recorded(Task("consumer", 0), consume, connection, seconds)
    return progress.received / took_s


def bare_received(connection: dict[str, Any], seconds: float) -> float:
    """Return messages a second of confluent-kafka alone: messages are only counted."""
    settings = {**librdkafka(connection), **CONSUMER_DEFAULTS, "group.id": "bare", "auto.offset.reset": "error"}
    consumer, count = Consumer(settings), 0
    consumer.assign([TopicPartition(TOPIC, 0, OFFSET_BEGINNING)])
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        count += len(consumer.consume(1000, 0.1))
    consumer.close()
    return count / (time.monotonic() - began)


@contextmanager
def running(name: str, count: int, options: Any) -> Iterator[Service]:
    """Yield a system on so many hosts of its own."""
    system = installed.system(name, "system")
    with hosts(count, system.root(options) if isinstance(system, Rooted) else None) as nodes:
        system.prepare(options)
        cluster = system.deploy(nodes, options)
        start(cluster)
        cluster.begin_trial("", options)
        cluster.wait_ready(60)
        yield cluster


@contextmanager
def kafka(count: int, options: KafkaOptions) -> Iterator[dict[str, Any]]:
    """Yield the connection to a cluster that has the topic, one partition on all its brokers."""
    with running("kafka", count, options) as cluster:
        cluster.create_topic(Topic(TOPIC, LOG, 1, count))
        yield cluster.client_settings()


def main(rounds: int, seconds: float) -> None:
    """Measure and print."""
    with kafka(3, KafkaOptions(topic={"min.insync.replicas": 2})) as connection:
        in_process(bare, connection, seconds)  # brokers warm up
        figures = {
            "mock": _rounds(bare, recorded, {**connection, **_MOCK}, rounds, seconds),
            "sends": _rounds(bare, recorded, connection, rounds, seconds),
            "receives": _rounds(bare_received, received, connection, rounds, seconds),
        }
    print(json.dumps(figures))


def _rounds(
    plain: Callable[[dict[str, Any], float], float],
    measured: Callable[[dict[str, Any], float], float],
    connection: dict[str, Any],
    rounds: int,
    seconds: float,
) -> dict[str, Any]:
    pairs = [(in_process(plain, connection, seconds), in_process(measured, connection, seconds)) for _ in range(rounds)]
    return {
        "bare_per_s": [round(a) for a, _ in pairs],
        "recorded_per_s": [round(b) for _, b in pairs],
        "median_ratio": round(statistics.median(b / a for a, b in pairs), 3),
    }


def in_process(measure: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measure, arguments)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5, float(sys.argv[2]) if len(sys.argv) > 2 else 8)
