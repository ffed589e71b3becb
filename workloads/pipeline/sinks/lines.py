"""Reads the lines that instances write to standard output, or to files of this machine.

A program writes other lines, too. So only a line in which `identity` finds an id is an output.
"""

from __future__ import annotations

import time
from pathlib import Path

from chaoskit.base.errors import BadInput
from chaoskit.contract.clients.application import ReadRecord
from chaoskit.contract.workloads.application import stdout_name
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.reports import Reports
from chaoskit.model.audit import Bounds
from chaoskit.model.observations.pipeline import OutputGone
from workloads.pipeline.options import PipelineOptions
from workloads.pipeline.sinks.options import INSTANCE, STDOUT, SinkOptions
from workloads.pipeline.sinks.outputs import OutputLog, expect_outputs
from workloads.pipeline.sinks.tail import Tail, size_of

_POLL_S = 0.1
LOOK = "look"
"""The operation that reads what is there now, of what was there before too."""


class _Lines:
    """The lines of one instance in one sink, or of all instances in one file.

    Attributes:
        end: one past the number of the last line; numbers of lines that are gone are not used again.
    """

    def __init__(self, job: Job[PipelineOptions], sink: SinkOptions, instance: int, log: OutputLog) -> None:
        self._recorder = job.recorder
        self._topic = job.recorder.in_system(sink.name)
        self._instance = instance
        self._log = log
        self._tail = Tail(_path(sink, instance, job.logs))
        self._numbers: list[int | None] = []
        self.end: int = 0

    def look(self, op: int, *, whole: bool) -> None:
        """Record the outputs that have come, and those that are gone; see `Tail.read`."""
        kept, lines = self._tail.read(whole=whole)
        for number in self._numbers[kept:]:
            if number is not None:
                self._recorder.observe(op, self._topic, self._instance, OutputGone(number))
        del self._numbers[kept:]
        records = [
            ReadRecord(self._topic, self._instance, self.end + index, None, line.rstrip(b"\r"), {})
            for index, line in enumerate(lines)
        ]
        identified = self._log.of_inputs(op, records)
        self._numbers += [
            record.position if is_output else None for record, is_output in zip(records, identified, strict=True)
        ]
        self.end += len(lines)

    def audit(self) -> None:
        """Record that everything was read."""
        self._recorder.audited(self._topic, self._instance, Bounds(0, self.end, True, self.end))


def check_files(sink: SinkOptions, writers: int, key: str) -> None:
    """Reject a file that has lines of an earlier run: their ids are those of this run's inputs, too.

    Raises:
        BadInput: names the key and the remedy.
    """
    for path in [_path(sink, number) for number in range(writers)] if sink.lines != STDOUT else []:
        if size_of(path):
            raise BadInput(
                f"{key}.lines: {path} is not empty, and its lines could not be told from new ones; remove it"
            )


def _path(sink: SinkOptions, instance: int, logs: Path = Path()) -> Path:
    """Return the file with an instance's lines."""
    assert sink.lines is not None
    if sink.lines == STDOUT:
        return logs / stdout_name(instance)
    return Path(sink.lines.replace(INSTANCE, str(instance)))


def follow(job: Job[PipelineOptions]) -> None:
    """Read all lines until stopped, and what is there then."""
    options, recorder, control = job.options, job.recorder, job.control
    expect_outputs(job, [(sink.name, number) for sink in options.files for number in range(options.writers(sink))])
    logs = {sink.name: OutputLog(recorder, options) for sink in options.files}
    sources = [
        _Lines(job, sink, number, logs[sink.name]) for sink in options.files for number in range(options.writers(sink))
    ]
    reports = Reports(control, recorder)
    control.wait_start()
    over = False
    while not over:
        over = control.stopping
        with recorder.operation(LOOK) as op:
            for source in sources:
                source.look(op, whole=over)
        reports.tell()
        time.sleep(0 if over else _POLL_S)
    with recorder.operation(LOOK) as op:
        for log in logs.values():
            log.keep_misfit(op)
    for source in sources:
        source.audit()
    reports.finish()
    control.result({"why": "; ".join(f"{name}: {log.misfit}" for name, log in logs.items() if log.misfit)})
