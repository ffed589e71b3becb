"""Records what the instances of an application do with messages of queues, as their connections show it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from chaoskit.contract.clients.traffic import Passed, QueueApplicationClients
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.records import as_delivery
from chaoskit.load.reports import Reports
from chaoskit.model import payload
from chaoskit.model.observations.pipeline import UNIDENTIFIED, InstanceActed
from chaoskit.model.observations.queue import QueueSettings, Settled
from chaoskit.model.outcome import INFO, OK
from workloads.pipeline.inputs import value_of
from workloads.pipeline.options import PipelineOptions

_POLL_S = 0.1

_SETTLED: Mapping[str, str] = {"auto-ack": "ack", "ack": "ack", "nack": "nack", "reject": "reject"}
_SEEN: Mapping[str, str] = {"published": "publish-seen", "confirmed": "confirm-seen"}


def observe(job: Job[PipelineOptions]) -> None:
    """Observe until stopped."""
    watch = _Watch(job)
    job.control.wait_start(watch.look)
    while not job.control.stopping:
        watch.look()
    watch.close()


class _Watch:
    """Looks at the connections of the instances, and records what passed.

    Args:
        job: the client's job.
    """

    def __init__(self, job: Job[PipelineOptions]) -> None:
        recorder, options = job.recorder, job.options
        self._job = job
        self._recorder = recorder
        self._hosts = job.application_hosts
        self._inputs = recorder.in_system(options.reads.name)
        self._sinks = frozenset(recorder.in_system(sink.name) for sink in options.topics)
        self._value_of = partial(value_of, make=options.payload.maker())
        self._find = options.identity.finder()
        self._writer = payload.Writer(recorder.run_id, payload.SIZE_MIN)
        self._reports = Reports(job.control, recorder)
        self._reported = {"owned": 0, "held": 0}
        with recorder.operation("declare") as op:
            recorder.observe(op, self._inputs, 0, QueueSettings({"application": 1, **options.reads.settings}))
            if options.reads.dead_name:
                dead = recorder.in_system(options.reads.dead_name)
                recorder.observe(op, dead, 0, QueueSettings({"dead-letters-of": 1}))
        self._traffic = job.clients.power(QueueApplicationClients).traffic(self._hosts)

    def look(self) -> None:
        """Record what passed since the last look, and report what the instances have."""
        for passed in self._traffic.poll(_POLL_S):
            self._record(passed)
        now = {"owned": len(self._traffic.consumers(self._inputs)), "held": self._traffic.held(self._inputs)}
        if now != self._reported:
            self._reported = now
            self._job.control.result({"owned": now["owned"], "held": now["held"]})
        self._reports.tell()

    def close(self) -> None:
        """Record the rest, and report what was not seen."""
        self.look()
        for passed in self._traffic.end():
            self._record(passed)
        if self._traffic.gap:
            self._job.control.result({"doubt": f"what the application did is not known: {self._traffic.gap}"})
        self._traffic.close()
        self._reports.finish()

    def _record(self, passed: Passed) -> None:
        if passed.act in _SEEN:
            self._record_output(passed)
        elif passed.record.topic == self._inputs:
            value = self._value_of(passed.record.value)
            self._record_input(passed, UNIDENTIFIED if value is None else value)

    def _record_output(self, passed: Passed) -> None:
        record, recorder = passed.record, self._recorder
        value = self._find(record.value, record.key, record.headers)
        if value is None or value >= UNIDENTIFIED:
            return
        # What goes through an exchange of the application's own may go to any sink.
        place = record.topic if record.topic in self._sinks else self._inputs
        op = recorder.invoke(_SEEN[passed.act], passed.at_ns)
        recorder.observe(op, place, 0, InstanceActed(passed.act, value, self._instance(passed)))
        recorder.complete(op, at_ns=passed.at_ns)

    def _record_input(self, passed: Passed, value: int) -> None:
        recorder, at_ns = self._recorder, passed.at_ns
        op = recorder.invoke(_SETTLED.get(passed.act, "receive"), at_ns)
        if passed.act == "given":
            recorder.received(op, [as_delivery(passed.record, self._writer, value, at_ns, passed.earlier)])
        else:
            recorder.observe(op, self._inputs, 0, Settled(value, _SETTLED[passed.act]))
        recorder.observe(op, self._inputs, 0, InstanceActed(passed.act, value, self._instance(passed)))
        recorder.complete(op, OK if passed.arrived else INFO, at_ns=at_ns)

    def _instance(self, passed: Passed) -> int:
        return self._hosts.index(passed.member)
