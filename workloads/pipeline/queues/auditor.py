"""The final read of a pipeline of queues: what is left of inputs and outputs, once the application has ended."""

from __future__ import annotations

from chaoskit.contract.workloads.workload import Job
from chaoskit.load.draining import drain
from chaoskit.model.audit import Drained
from chaoskit.model.outcome import INFO, OK
from workloads.pipeline.options import PipelineOptions
from workloads.pipeline.queues.receiver import PipelineReceiver

_IDLE_S = 3.0


def audit(job: Job[PipelineOptions]) -> None:
    """Drain every queue, and record whether the system says that nothing is left."""
    job.control.wait_start()
    recorder, options = job.recorder, job.options
    op = recorder.invoke("audit")
    receiver = PipelineReceiver(job, [options.reads.name, *(sink.name for sink in options.topics)])
    reasons = drain(receiver, _IDLE_S, lambda: job.control.stopping)
    left = {queue: why for queue in receiver.queues if (why := reasons.get(queue, "was not asked"))}
    for queue in receiver.queues:
        recorder.audited(queue, 0, Drained(complete=queue not in left))
    receiver.close()
    why = "; ".join(f"{recorder.in_history(queue)} {why}" for queue, why in left.items())
    recorder.complete(op, INFO if left else OK, why or None)
    job.control.report(recorder.report())
    if not receiver.log.identified and receiver.log.strange:
        why = f"identity fits no output; the first one is {receiver.log.strange}"
    job.control.result({"audited": not left, "why": why})
