"""Receives messages of a pipeline's queues, and settles all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from chaoskit.contract.clients.application import ReadRecord
from chaoskit.contract.clients.queue import Arrival, QueueClients, QueueConsumer
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.dead_letters import note_death
from chaoskit.load.draining import Draining
from chaoskit.load.reports import Reports
from chaoskit.load.schedule import Schedule
from chaoskit.model.message import PRODUCER_SHIFT
from chaoskit.model.observations.pipeline import UNIDENTIFIED
from chaoskit.model.observations.queue import Settled
from chaoskit.model.outcome import FAIL, OK
from workloads.pipeline.inputs import value_of
from workloads.pipeline.options import PipelineOptions
from workloads.pipeline.sinks.outputs import OutputLog, expect_outputs

_POLL_S = 0.1
_MESSAGES_MAX = 1000
_PREFETCH = 1000


class PipelineReceiver(Draining):
    """A consumer of a pipeline's queues.

    Args:
        job: the client's job.
        queues: their names in the workload; that of the inputs, and that of dead letters, may be among them.
        due_ns: tells when an input was due; see `OutputLog`.

    Attributes:
        log: attributes outputs.
    """

    def __init__(
        self, job: Job[PipelineOptions], queues: Sequence[str], due_ns: Callable[[int], int | None] = lambda _: None
    ) -> None:
        self._clients = job.clients.power(QueueClients)
        reads = job.options.reads
        self._inputs = {job.recorder.in_system(name) for name in (reads.name, reads.dead_name) if name}
        self._value_of = partial(value_of, make=job.options.payload.maker())
        self.log = OutputLog(job.recorder, job.options, due_ns)
        super().__init__(job.recorder, job.task.index, queues)

    def take(self) -> int:
        """Receive and settle what is available; return the number of messages."""
        op = self._recorder.invoke("receive")
        arrivals, error = self.consumer.poll(_POLL_S, _MESSAGES_MAX)
        inputs = [arrival for arrival in arrivals if arrival.delivery.topic in self._inputs]
        outputs = [arrival for arrival in arrivals if arrival.delivery.topic not in self._inputs]
        known = (self._value_of(arrival.delivery.payload) for arrival in inputs)
        values = [UNIDENTIFIED if value is None else value for value in known]
        self.log.write(op, _records(inputs), values, _counts(inputs))
        for arrival, value in zip(inputs, values, strict=True):
            if value != UNIDENTIFIED:
                note_death(self._recorder, op, arrival, value)
        self.log.outputs(op, _records(outputs), _counts(outputs))
        self._recorder.complete(op, OK if error is None else FAIL, error)
        if arrivals:
            op = self._recorder.invoke("ack")
            for arrival, value in zip(inputs, values, strict=True):
                self._recorder.observe(op, arrival.delivery.topic, 0, Settled(value, "ack"))
            self._recorder.complete(op, *self.consumer.settle([arrival.tag for arrival in arrivals], "ack"))
        return len(arrivals)

    def _connect(self) -> QueueConsumer:
        consumer = self._clients.queue_consumer({}, self._index, _PREFETCH)
        with self._recorder.operation("subscribe"):
            consumer.consume(self.queues)
        return consumer


def collect(job: Job[PipelineOptions]) -> None:
    """Receive all that the application writes until stopped."""
    names = [sink.name for sink in job.options.topics]
    expect_outputs(job, [place for sink in job.options.topics for place in sink.places], ordered=False)
    start_ns = job.control.wait_start()
    schedule = Schedule(job.options.rate, 1, start_ns, 0)
    receiver = PipelineReceiver(
        job, names, lambda value: None if value >> PRODUCER_SHIFT else schedule.intended_ns(value)
    )
    reports = Reports(job.control, job.recorder)
    while not job.control.stopping:
        receiver.take()
        reports.tell()
    receiver.close()
    reports.finish()


def _records(arrivals: Sequence[Arrival]) -> list[ReadRecord]:
    deliveries = [(arrival.delivery, arrival.headers) for arrival in arrivals]
    return [
        ReadRecord(delivery.topic, 0, delivery.position, delivery.key, delivery.payload, headers)
        for delivery, headers in deliveries
    ]


def _counts(arrivals: Sequence[Arrival]) -> list[int]:
    return [arrival.delivery.delivery or 0 for arrival in arrivals]
