"""The producer of a pipeline: feeds numbered inputs into what the application reads."""

from __future__ import annotations

import time

from chaoskit.contract.clients.client import Completed, LogClients, Producer
from chaoskit.contract.clients.queue import Publishing, QueueClients
from chaoskit.contract.clients.recorder import Recorder
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.reports import Reports
from chaoskit.load.schedule import CLOSE_TIMEOUT_S, Schedule
from chaoskit.model.message import PRODUCER_SHIFT
from chaoskit.model.observations.pipeline import Fed, OwnOutputs
from workloads.pipeline.options import PipelineOptions

_IN_FLIGHT = 10_000
_BURST = 64


def feed(job: Job[PipelineOptions]) -> None:
    """Feed at the declared rate until stopped, then wait for every completion."""
    options, recorder, control = job.options, job.recorder, job.control
    # Each incarnation has numbers of its own; the auditor's are between them.
    number = 2 * job.task.incarnation
    producer = input_producer(job, recorder.completed)
    sender = InputSender(recorder, producer, options, number)
    with recorder.operation("feed") as op:
        for topic, partition in options.reads.places:
            recorder.observe(op, recorder.in_system(topic), partition, Fed(bool(options.keys), options.within))
    start_ns = control.wait_start(lambda: producer.poll(0))
    schedule = Schedule(options.rate, 1, start_ns, 0)
    reports = Reports(control, recorder)
    routes = options.routes()
    sequence = 0
    while not control.stopping:
        room = _IN_FLIGHT - producer.pending()
        for _ in range(max(0, int(min(schedule.due(time.monotonic_ns()) - sequence, room, _BURST)))):
            sender.send(*routes[sequence % len(routes)], sequence, schedule.intended_ns(sequence))
            sequence += 1
        producer.poll(schedule.wait_s(sequence, room))
        reports.tell()
    producer.close(CLOSE_TIMEOUT_S)
    reports.finish()


def input_producer(job: Job[PipelineOptions], completed: Completed, *, probes: bool = False) -> Producer:
    """Connect a producer of inputs; of a queue's, one that waits for confirms.

    Args:
        job: the client's job.
        completed: called once for each input.
        probes: whether it sends the last inputs.
    """
    settings = job.options.producer
    if job.options.queued:
        return job.clients.power(QueueClients).publisher(settings, job.task.index, completed, Publishing())
    clients = job.clients.power(LogClients)
    return clients.prober(settings, completed) if probes else clients.producer(settings, completed)


class InputSender:
    """Sends inputs one by one; each is recorded before it is passed to the client.

    Args:
        recorder: the client's recorder.
        producer: reports to it, or to somebody who does.
        options: what an input is.
        number: the number of the producer in the values of inputs.
    """

    def __init__(self, recorder: Recorder, producer: Producer, options: PipelineOptions, number: int) -> None:
        self._recorder = recorder
        self._producer = producer
        self._make = options.payload.maker()
        self._first_value = number << PRODUCER_SHIFT
        self._outputs = options.outputs if options.outputs.python else None

    def send(self, topic: str, partition: int, key: bytes | None, sequence: int, due_ns: int | None) -> int:
        """Send an input, and return the operation."""
        recorder, now_ns = self._recorder, time.monotonic_ns()
        value, name = self._first_value | sequence, recorder.in_system(topic)
        op = recorder.send(recorder.topic_id(name), partition, recorder.key_id(key), value, due_ns or now_ns, now_ns)
        if self._outputs is not None:
            recorder.observe(op, name, partition, OwnOutputs(value, *self._outputs.of(value)))
        while not self._producer.send(name, partition, key, self._make(value), op):
            self._producer.poll(0.01)
        return op
