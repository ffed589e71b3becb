"""The dedup workload plug-in."""

from __future__ import annotations

from typing import Any

from chaoskit.contract.traits import Resends
from chaoskit.contract.workload import PRODUCER, Job
from workloads.dedup.options import DedupOptions
from workloads.dedup.producer import connect
from workloads.log.producer import produce
from workloads.log.workload import LogWorkload


class DedupWorkload(LogWorkload):
    """Entry point `dedup` of `chaoskit.workloads`."""

    options = DedupOptions

    def traits(self, options: DedupOptions) -> tuple[object, ...]:
        return (*super().traits(options), Resends(options.resend, restarts=options.restart_every is not None))

    def run(self, job: Job[Any]) -> None:
        if job.task.role == PRODUCER:
            produce(job, connect)
        else:
            super().run(job)
