"""The last client of a run: does every partition accept and deliver again, and what is in it?

One probe message is sent to every partition; then everything is read, from the first position that
the brokers hold to the end that they report.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from chaoskit.base.errors import ChaoskitError
from chaoskit.contract.client import FAIL, INFO, OK, Auditor
from chaoskit.contract.workload import Job
from chaoskit.history.schema import PRODUCER_SHIFT
from chaoskit.history.wal import NO_POSITION
from workloads import payload
from workloads.consuming import Reader

if TYPE_CHECKING:
    from workloads.log import LogOptions

_STALL_S = 45
"""A final read that receives nothing for this long ends incomplete: longer than a transaction stays open whose
producer is gone."""

_BOUNDS_TIMEOUT_S = 10

Bounds = dict[tuple[str, int], tuple[int, int]]


def audit(job: Job) -> None:
    """Probe, read everything, record per partition whether the end was reached."""
    options: LogOptions = job.options
    job.control.wait_start()
    accepted = _probe(job, options)
    consumer = job.clients.auditor(options.consumer)
    reader = Reader(job, consumer)
    op = job.wal.invoke(job.wal.name("audit"), time.monotonic_ns())
    bounds: Bounds = {}
    for topic, partition in options.all_partitions():
        try:
            bounds[topic, partition] = consumer.bounds(topic, partition, _BOUNDS_TIMEOUT_S)
        except ChaoskitError:
            continue
    reader.assign(list(bounds))
    reached = _read_to_end(job, reader, consumer, bounds)
    for (topic, partition), (low, end) in bounds.items():
        job.wal.audit(job.wal.name(topic), partition, low, end, reached[topic, partition])
    ends = [reached[where] >= end for where, (_, end) in bounds.items()]
    complete = all(ends) and len(ends) == len(options.all_partitions())
    job.wal.complete(op, time.monotonic_ns(), OK if complete else INFO)
    consumer.close()
    job.control.report(reader.progress)
    job.control.result({"accepted": accepted, "audited": complete})


def _read_to_end(job: Job, reader: Reader, consumer: Auditor, bounds: Bounds) -> dict[tuple[str, int], int]:
    """Return the position up to which each partition was read."""
    reached = {where: low for where, (low, _) in bounds.items()}
    deadline = time.monotonic() + _STALL_S
    while time.monotonic() < deadline and not job.control.stopping:
        if all(reached[where] >= end for where, (_, end) in bounds.items()):
            break
        if reader.poll():
            deadline = time.monotonic() + _STALL_S
        reached = {where: max(at, consumer.position(*where)) for where, at in reached.items()}
    return reached


def _probe(job: Job, options: LogOptions) -> bool:
    """Send one message to every partition, acknowledged by all replicas; return whether all were."""
    outcomes: dict[int, int] = {}

    def completed(token: int, outcome: int, error: str | None, position: int | None) -> None:
        outcomes[token] = outcome
        error_id = 0 if error is None else job.wal.name(error)
        at = NO_POSITION if position is None else position
        job.wal.complete(token, time.monotonic_ns(), outcome, error_id, at)

    producer = job.clients.producer(dict(options.producer), completed)
    writer = payload.Writer(job.control.run_id, options.message_size)
    partitions = options.all_partitions()
    for sequence, (topic, partition) in enumerate(partitions):
        value = options.producers << PRODUCER_SHIFT | sequence
        now = time.monotonic_ns()
        token = job.wal.send(job.wal.name(topic), partition, 0, value, now, now)
        if not producer.send(topic, partition, None, writer.build(value, now, now), token):
            completed(token, FAIL, "queue full", None)
    producer.close(job.bound_ns / 1e9)
    return all(outcome == OK for outcome in outcomes.values()) and len(outcomes) == len(partitions)
