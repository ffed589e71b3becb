"""Reads what the application writes to topics, and attributes it to its inputs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from chaoskit.contract.clients.application import ApplicationClients, Record
from chaoskit.contract.clients.recorder import Recorder
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.records import as_delivery
from chaoskit.load.reports import Reports
from chaoskit.load.schedule import Schedule
from chaoskit.model import payload
from chaoskit.model.message import PRODUCER_SHIFT
from chaoskit.model.observations.pipeline import UNIDENTIFIED, Outputs
from chaoskit.model.outcome import FAIL, OK
from workloads.pipeline.options import PipelineOptions

_POLL_S = 0.1
_SHOWN = 200


class OutputLog:
    """Attributes outputs to inputs, and records them.

    Args:
        recorder: the client's recorder.
        options: where the id of an input is in an output.
        due_ns: tells when an input was due, CLOCK_MONOTONIC; None: nobody knows.

    Attributes:
        identified: how many outputs have an input's id.
        strange: the first output that has none, in words; empty if there is none.
    """

    def __init__(
        self, recorder: Recorder, options: PipelineOptions, due_ns: Callable[[int], int | None] = lambda _: None
    ) -> None:
        self.identified: int = 0
        self.strange: str = ""
        self._recorder = recorder
        self._find = options.identity.finder()
        self._writer = payload.Writer(recorder.run_id, payload.SIZE_MIN)
        self._due_ns = due_ns

    def outputs(self, op: int, records: Sequence[Record], counts: Sequence[int] | None = None) -> list[int]:
        """Record outputs that an operation read; return the value of each one's input, or `UNIDENTIFIED`. `counts` are
        of how often each had been delivered before, where that is marked."""
        values = [self._value(record) for record in records]
        self.write(op, records, values, counts)
        return values

    def write(
        self, op: int, records: Sequence[Record], values: Sequence[int], counts: Sequence[int] | None = None
    ) -> None:
        """Record messages that an operation read, whose values are known."""
        now_ns = time.monotonic_ns()
        deliveries = []
        marked: Sequence[int | None] = counts or [None] * len(records)
        for record, value, count in zip(records, values, marked, strict=True):
            deliveries.append(as_delivery(record, self._writer, value, self._due_ns(value) or now_ns, count))
        self._recorder.received(op, deliveries)

    def _value(self, record: Record) -> int:
        number = self._find(record.value, record.key, record.headers)
        if number is None or number >= UNIDENTIFIED:
            self.strange = self.strange or shown(record)
            return UNIDENTIFIED
        self.identified += 1
        return number


def shown(record: Record) -> str:
    """Return an output in words."""
    text = record.value[:_SHOWN].decode(errors="backslashreplace")
    key = "" if record.key is None else f", key {record.key.decode(errors='backslashreplace')!r}"
    headers = ", ".join(sorted(record.headers))
    return f"{text!r}{key}{', headers ' + headers if headers else ''}"


def expect_outputs(job: Job[PipelineOptions], names: Sequence[str]) -> None:
    """Record how many outputs each input must have in some sinks, by their names in the history."""
    recorder = job.recorder
    with recorder.operation("collect") as op:
        for sink in job.options.writes:
            for topic, partition in sink.places if sink.name in names else ():
                recorder.observe(op, recorder.in_system(topic), partition, Outputs(*job.options.outputs))


def collect(job: Job[PipelineOptions]) -> None:
    """Read all topics that the application writes until stopped."""
    options, recorder, control = job.options, job.recorder, job.control
    places = [(recorder.in_system(topic), number) for sink in options.topics for topic, number in sink.places]
    expect_outputs(job, [sink.name for sink in options.topics])
    reader = job.clients.power(ApplicationClients).records(places)
    schedule = Schedule(options.rate, 1, control.wait_start(), 0)
    log = OutputLog(recorder, options, lambda value: None if value >> PRODUCER_SHIFT else schedule.intended_ns(value))
    reports = Reports(control, recorder)
    while not control.stopping:
        op = recorder.invoke("poll")
        records, error = reader.poll(_POLL_S)
        log.outputs(op, records)
        recorder.complete(op, OK if error is None else FAIL, error)
        reports.tell()
    reader.close()
    reports.finish()
