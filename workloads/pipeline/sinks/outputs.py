"""Attributes outputs to their inputs, and records them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import compress

from chaoskit.contract.clients.application import ReadRecord
from chaoskit.contract.clients.recorder import Recorder
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.records import as_delivery
from chaoskit.model import payload
from chaoskit.model.observations.pipeline import UNIDENTIFIED, Outputs
from chaoskit.model.place import Place
from workloads.pipeline.options import PipelineOptions

_SHOWN = 200


class OutputLog:
    """Attributes outputs to inputs, and records them.

    Args:
        recorder: the client's recorder.
        options: where the id of an input is in an output.
        due_ns: tells when an input was due, CLOCK_MONOTONIC; None: nobody knows.

    Attributes:
        identified: how many outputs have an input's id.
        strange: the first output that has none; None if there is none.
    """

    def __init__(
        self, recorder: Recorder, options: PipelineOptions, due_ns: Callable[[int], int | None] = lambda _: None
    ) -> None:
        self.identified: int = 0
        self.strange: ReadRecord | None = None
        self._recorder = recorder
        self._find = options.identity.finder()
        self._writer = payload.Writer(recorder.run_id, payload.SIZE_MIN)
        self._due_ns = due_ns

    def outputs(self, op: int, records: Sequence[ReadRecord], counts: Sequence[int] | None = None) -> list[int]:
        """Record outputs that an operation read; return the value of each one's input, or `UNIDENTIFIED`. `counts` are
        of how often each had been delivered before, where that is marked."""
        values = [self._value(record) for record in records]
        self.write(op, records, values, counts)
        return values

    def of_inputs(self, op: int, records: Sequence[ReadRecord]) -> list[bool]:
        """Record those of some outputs that have an id, and return which have; the others are none, unless none has an
        id (`keep_misfit`)."""
        values = [self._value(record) for record in records]
        identified = [value != UNIDENTIFIED for value in values]
        self.write(op, list(compress(records, identified)), list(compress(values, identified)))
        return identified

    @property
    def misfit(self) -> str:
        """Why nothing that was written could be attributed; empty if something could, or nothing was written."""
        if self.strange is None or self.identified:
            return ""
        return f"identity fits no output; the first one is {shown(self.strange)}"

    def keep_misfit(self, op: int) -> None:
        """Record the first output if nothing that was written could be attributed."""
        if self.strange is not None and not self.identified:
            self.write(op, [self.strange], [UNIDENTIFIED])

    def write(
        self, op: int, records: Sequence[ReadRecord], values: Sequence[int], counts: Sequence[int] | None = None
    ) -> None:
        """Record messages that an operation read, whose values are known."""
        now_ns = time.monotonic_ns()
        deliveries = []
        marked: Sequence[int | None] = counts or [None] * len(records)
        for record, value, count in zip(records, values, marked, strict=True):
            deliveries.append(as_delivery(record, self._writer, value, self._due_ns(value) or now_ns, count))
        self._recorder.received(op, deliveries)

    def _value(self, record: ReadRecord) -> int:
        number = self._find(record.value, record.key, record.headers)
        if number is None or number >= UNIDENTIFIED:
            self.strange = self.strange or record
            return UNIDENTIFIED
        self.identified += 1
        return number


def shown(record: ReadRecord) -> str:
    """Return an output in words."""
    text = record.value[:_SHOWN].decode(errors="backslashreplace")
    key = "" if record.key is None else f", key {record.key.decode(errors='backslashreplace')!r}"
    headers = ", ".join(sorted(record.headers))
    return f"{text!r}{key}{', headers ' + headers if headers else ''}"


def expect_outputs(job: Job[PipelineOptions], places: Sequence[Place], *, ordered: bool = True) -> None:
    """Record how many outputs each input must have in some partitions, by their names in the history."""
    recorder, count = job.recorder, job.options.outputs
    with recorder.operation("collect") as op:
        for topic, partition in places:
            recorder.observe(op, recorder.in_system(topic), partition, Outputs(count.least, count.most, ordered))
