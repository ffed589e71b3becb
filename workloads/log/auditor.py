"""The last client of a run: does every partition accept and deliver again, and what is in it?

One probe message is sent to every partition; then everything is read, from the first position that
the brokers hold to the end that they report.
"""

from __future__ import annotations

import time

from chaoskit.base.errors import ChaoskitError
from chaoskit.contract.client import Auditor, LogClients
from chaoskit.contract.workload import Control, Job
from chaoskit.history import payload
from chaoskit.history.audits import Bounds, Place
from chaoskit.history.schema import FAIL, INFO, OK, PRODUCER_SHIFT
from workloads.log.options import LogOptions
from workloads.log.reading import Reader

_STALL_S = 45
"""A final read that receives nothing for this long ends incomplete: longer than a transaction stays open whose
producer is gone."""

_BOUNDS_TIMEOUT_S = 10

Ends = dict[Place, tuple[int, int]]
"""First readable position and end of each partition, by its name in the system."""


def audit(job: Job[LogOptions]) -> None:
    """Probe, read everything, record per partition whether the end was reached."""
    options, recorder = job.options, job.recorder
    job.control.wait_start()
    accepted = _probe(job)
    consumer = job.clients.power(LogClients).auditor(options.consumer)
    reader = Reader(recorder, consumer)
    op = recorder.invoke("audit")
    ends: Ends = {}
    known = []
    for topic, partition in options.all_partitions():
        place = recorder.in_system(topic), partition
        try:
            ends[place] = consumer.bounds(*place, _BOUNDS_TIMEOUT_S)
        except ChaoskitError:
            continue
        known.append((topic, partition))
    reader.assign(known)
    reached = _read_to_end(job.control, reader, consumer, ends)
    for place, (low, end) in ends.items():
        recorder.audited(*place, Bounds(low, end, complete=reached[place] >= end))
    complete = len(ends) == len(options.all_partitions()) and all(reached[at] >= end for at, (_, end) in ends.items())
    recorder.complete(op, OK if complete else INFO)
    consumer.close()
    job.control.report(recorder.report())
    job.control.result({"accepted": accepted, "audited": complete})


def _read_to_end(control: Control, reader: Reader, consumer: Auditor, ends: Ends) -> dict[Place, int]:
    """Return the position up to which each partition was read."""
    reached = {where: low for where, (low, _) in ends.items()}
    deadline = time.monotonic() + _STALL_S
    while time.monotonic() < deadline and not control.stopping:
        if all(reached[where] >= end for where, (_, end) in ends.items()):
            break
        if reader.poll():
            deadline = time.monotonic() + _STALL_S
        reached = {where: max(at, consumer.position(*where)) for where, at in reached.items()}
    return reached


def _probe(job: Job[LogOptions]) -> bool:
    """Send one message to every partition, acknowledged by all replicas; return whether all were."""
    options, recorder = job.options, job.recorder
    outcomes: dict[int, int] = {}

    def completed(op: int, outcome: int, error: str | None, position: int | None) -> None:
        outcomes[op] = outcome
        recorder.completed(op, outcome, error, position)

    producer = job.clients.power(LogClients).producer(dict(options.producer), completed)
    writer = payload.Writer(recorder.run_id, options.message_size)
    partitions = options.all_partitions()
    for sequence, (topic, partition) in enumerate(partitions):
        value = options.producers << PRODUCER_SHIFT | sequence
        now = time.monotonic_ns()
        name = recorder.in_system(topic)
        op = recorder.send(recorder.topic_id(name), partition, 0, value, now, now)
        if not producer.send(name, partition, None, writer.build(value, now, now), op):
            completed(op, FAIL, "queue full", None)
    producer.close(job.bound_ns / 1e9)
    return all(outcome == OK for outcome in outcomes.values()) and len(outcomes) == len(partitions)
