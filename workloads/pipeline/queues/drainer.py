"""Sends an application its last inputs, and waits until all inputs were delivered to it."""

from __future__ import annotations

import time

from chaoskit.contract.clients.client import Unreachable
from chaoskit.contract.clients.queue import QueueClients
from chaoskit.contract.workloads.workload import Job
from workloads.pipeline.last import LastInputs
from workloads.pipeline.options import PipelineOptions

_ASK_EVERY_S = 0.2


def drain(job: Job[PipelineOptions]) -> None:
    """Send the last inputs, and wait until nothing is ready in the queue any more, at most for the bound."""
    job.control.wait_start()
    deadline = time.monotonic() + job.bound_ns / 1e9
    job.control.result({"accepted": LastInputs(job).accepted})
    queue = job.recorder.in_system(job.options.reads.name)
    asking = job.clients.power(QueueClients).queue_consumer({}, job.task.index, 1)
    asking.consume([])
    delivered = False
    while not (delivered or job.control.stopping or time.monotonic() > deadline):
        try:
            ready, _ = asking.left(queue)
            delivered = not ready
        except Unreachable:
            delivered = False
        time.sleep(_ASK_EVERY_S)
    asking.close()
    job.control.report(job.recorder.report())
    job.control.result({"drained": delivered})
