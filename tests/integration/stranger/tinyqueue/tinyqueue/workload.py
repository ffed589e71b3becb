"""The workload: a producer puts, a consumer gets and settles, the final read drains the queue."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from chaoskit.base.waiting import wait_until
from chaoskit.contract.workloads.datamodel import QUEUE
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.workload import CONSUMER, PRODUCER, Job, Task
from chaoskit.model import payload
from chaoskit.model.audit import Drained
from chaoskit.model.message import PRODUCER_SHIFT, Delivery
from chaoskit.model.outcome import OK, OperationFailed
from tinyqueue.client import Connection, QueueClients

TASKS = "tasks"
_PAUSE_S = 0.005


class Options(BaseModel):
    """What a scenario may say: bytes of a message."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    message_size: int = 100


class QueueWorkload:
    """Entry point `tinyqueue` of `chaoskit.workloads`."""

    options = Options
    client_powers: tuple[type, ...] = (QueueClients,)

    def topics(self, options: Options, brokers: int) -> list[Topic]:
        return [Topic(TASKS, QUEUE)]

    def tasks(self, options: Options) -> list[Task]:
        return [Task(PRODUCER, 0), Task(CONSUMER, 0)]

    def client_settings(self, options: Options, role: str) -> Mapping[str, Any]:
        return {}

    def traits(self, options: Options) -> tuple[object, ...]:
        return ()

    def run(self, job: Job[Options]) -> None:
        connection = job.clients.power(QueueClients).connect()
        job.control.wait_start()
        {PRODUCER: _produce, CONSUMER: _consume}.get(job.task.role, _drain)(job, connection)
        connection.close()
        job.control.report(job.recorder.report())


def _produce(job: Job[Options], connection: Connection) -> None:
    sequence = 0
    while not job.control.stopping:
        _put(job, connection, job.task.index, sequence)
        sequence += 1
        job.control.report(job.recorder.report())
        time.sleep(_PAUSE_S)


def _put(job: Job[Options], connection: Connection, producer: int, sequence: int) -> bool:
    recorder, now = job.recorder, time.monotonic_ns()
    queue, value = recorder.in_system(TASKS), producer << PRODUCER_SHIFT | sequence
    op = recorder.send(recorder.topic_id(queue), 0, 0, value, now, now)
    try:
        connection.put(queue, payload.Writer(recorder.run_id, job.options.message_size).build(value, now, now))
    except OperationFailed as error:
        recorder.completed(op, error.outcome, str(error), None)
        return False
    recorder.completed(op, OK, None, None)
    return True


def _consume(job: Job[Options], connection: Connection) -> None:
    while not job.control.stopping:
        if not list(_get(job, connection)):
            time.sleep(_PAUSE_S)
        job.control.report(job.recorder.report())


def _get(job: Job[Options], connection: Connection) -> Iterator[int]:
    """Receive and settle one message, if there is one; give its tag."""
    recorder, queue = job.recorder, job.recorder.in_system(TASKS)
    try:
        with recorder.operation("poll") as op:
            given = connection.get(queue)
            if given is not None:
                recorder.received(op, [Delivery(queue, 0, None, given[1], given[0], None)])
        if given is not None:
            connection.ask("settle", given[0])
            yield given[0]
    except OperationFailed:
        return  # recorded; the next one connects anew


def _drain(job: Job[Options], connection: Connection) -> None:
    accepted = wait_until(lambda: _put(job, connection, 1, 0), job.bound_ns / 1e9)
    op = job.recorder.invoke("audit")
    while list(_get(job, connection)):
        pass
    job.recorder.audited(job.recorder.in_system(TASKS), 0, Drained(complete=True))
    job.recorder.complete(op)
    job.control.result({"accepted": accepted, "audited": True})
