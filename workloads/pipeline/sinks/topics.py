"""Reads what the application writes to topics."""

from __future__ import annotations

from chaoskit.contract.clients.application import ApplicationClients
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.reports import Reports
from chaoskit.load.schedule import Schedule
from chaoskit.model.message import PRODUCER_SHIFT
from chaoskit.model.outcome import FAIL, OK
from workloads.pipeline.options import PipelineOptions
from workloads.pipeline.sinks.outputs import OutputLog, expect_outputs

_POLL_S = 0.1


def collect(job: Job[PipelineOptions]) -> None:
    """Read all topics that the application writes until stopped."""
    options, recorder, control = job.options, job.recorder, job.control
    places = [(recorder.in_system(topic), number) for sink in options.topics for topic, number in sink.places]
    expect_outputs(job, [place for sink in options.topics for place in sink.places])
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
