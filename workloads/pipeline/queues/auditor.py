"""The final read of a pipeline of queues: what is left of inputs and outputs, once the application has ended."""

from __future__ import annotations

from chaoskit.contract.workloads.workload import Job
from chaoskit.load.draining import audit_queues
from chaoskit.model.outcome import INFO, OK
from workloads.pipeline.options import PipelineOptions
from workloads.pipeline.queues.receiver import PipelineReceiver

_IDLE_S = 3.0


def audit(job: Job[PipelineOptions]) -> None:
    """Drain every queue, and record whether the system says that nothing is left."""
    job.control.wait_start()
    recorder, options = job.recorder, job.options
    op = recorder.invoke("audit")
    dead = [options.reads.dead_name] if options.reads.dead_name else []
    receiver = PipelineReceiver(job, [*dead, options.reads.name, *(sink.name for sink in options.topics)])
    why = audit_queues(receiver, recorder, _IDLE_S, lambda: job.control.stopping)
    receiver.close()
    recorder.complete(op, INFO if why else OK, why or None)
    job.control.report(recorder.report())
    job.control.result({"audited": not why, "why": receiver.log.misfit or why})
