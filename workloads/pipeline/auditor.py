"""The final read of a pipeline: a last input to every partition, time for the application, then everything is read."""

from __future__ import annotations

import time
from functools import partial

from chaoskit.base.errors import ChaoskitError
from chaoskit.contract.clients.application import ApplicationClients, RecordReader
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.records import read_to_end
from chaoskit.model.observations.pipeline import UNIDENTIFIED
from chaoskit.model.outcome import FAIL, INFO, OK
from chaoskit.model.place import Place
from workloads.pipeline.inputs import value_of
from workloads.pipeline.last import LastInputs
from workloads.pipeline.options import PipelineOptions
from workloads.pipeline.sinks.outputs import OutputLog

_POLL_S = 0.1
_BOUNDS_S = 10.0
_STALL_S = 45.0
_QUIET_S = 2.0
"""Once the application has committed everything, what it still writes comes within this time."""


def audit(job: Job[PipelineOptions]) -> None:
    """Give the application a last input in every partition, wait until it has drained them, and read everything."""
    job.control.wait_start()
    probes = LastInputs(job)
    job.control.result({"accepted": probes.accepted})
    reading = _Reading(job)
    op = job.recorder.invoke("audit")
    try:
        drained = _await_drained(job, reading, probes.values)
        complete, why = reading.to_end()
    except ChaoskitError as error:
        drained, complete, why = False, False, str(error)
    job.recorder.complete(op, OK if complete else INFO, why or None)
    reading.close()
    job.control.report(job.recorder.report())
    job.control.result({"audited": complete, "why": reading.log.misfit or why, "drained": drained})


class _Reading:
    """Reads inputs and outputs from the beginning."""

    def __init__(self, job: Job[PipelineOptions]) -> None:
        self._job = job
        options, recorder = job.options, job.recorder
        outputs = [place for sink in options.topics for place in sink.places]
        self.inputs: list[Place] = [(recorder.in_system(topic), number) for topic, number in options.reads.places]
        self._outputs = [(recorder.in_system(topic), number) for topic, number in outputs]
        self._reader: RecordReader = job.clients.power(ApplicationClients).records([*self.inputs, *self._outputs])
        self._value_of = partial(value_of, make=options.payload.maker())
        self.log = OutputLog(recorder, options)
        self.seen: dict[str, set[int]] = {recorder.in_system(sink.name): set() for sink in options.topics}
        self._error = ""

    def poll(self) -> bool:
        """Read what is there; return whether anything was."""
        recorder, topic = self._job.recorder, self.inputs[0][0]
        op = recorder.invoke("poll")
        records, error = self._reader.poll(_POLL_S)
        inputs = [record for record in records if record.topic == topic]
        outputs = [record for record in records if record.topic != topic]
        values = (self._value_of(record.value) for record in inputs)
        self.log.write(op, inputs, [UNIDENTIFIED if value is None else value for value in values])
        for record, value in zip(outputs, self.log.outputs(op, outputs), strict=True):
            self.seen[record.topic].add(value)
        recorder.complete(op, OK if error is None else FAIL, error)
        self._error = error or self._error
        return bool(records)

    def end_of(self, place: Place) -> int:
        """Return the end of a partition; see `RecordReader.bounds`."""
        return self._reader.bounds(place, _BOUNDS_S)[1]

    def to_end(self) -> tuple[bool, str]:
        """Read everything that is there now, and record how far that came; return whether it did, or why not."""
        recorder, control, places = self._job.recorder, self._job.control, [*self.inputs, *self._outputs]
        unread = read_to_end(
            recorder, self._reader, places, self.poll, stall_s=_STALL_S, stopping=lambda: control.stopping
        )
        return not unread, (self._error or "the end of a topic was not reached") if unread else ""

    def close(self) -> None:
        self._reader.close()


def _await_drained(job: Job[PipelineOptions], reading: _Reading, probes: set[int]) -> bool:
    """Wait until the application has worked on the last inputs, at most for the bound; return whether it has."""
    deadline = time.monotonic() + job.bound_ns / 1e9
    shown = reading.seen and all(job.options.outputs.of(probe)[0] for probe in probes)
    progress = None if shown else _Progress(job, reading)
    drained = False
    try:
        while not (drained or job.control.stopping or time.monotonic() > deadline):
            reading.poll()
            drained = progress.done() if progress else all(probes <= seen for seen in reading.seen.values())
        quiet_by = time.monotonic() + _QUIET_S
        while time.monotonic() < quiet_by and not job.control.stopping:
            reading.poll()
    finally:
        if progress:
            progress.close()
    return drained


class _Progress:
    """Whether the application has committed all inputs, where its outputs need not show that."""

    def __init__(self, job: Job[PipelineOptions], reading: _Reading) -> None:
        self._ends = {place: reading.end_of(place) for place in reading.inputs}
        self._observer = job.clients.power(ApplicationClients).group_observer([reading.inputs[0][0]])
        self._committed: dict[Place, int] = {}

    def done(self) -> bool:
        """Look whether all is committed that was there at the beginning."""
        for commit in self._observer.committed(0):
            if commit.first_position is None:
                self._committed[commit.place] = max(self._committed.get(commit.place, 0), commit.next_position)
        return all(self._committed.get(place, 0) >= end for place, end in self._ends.items())

    def close(self) -> None:
        self._observer.close()
