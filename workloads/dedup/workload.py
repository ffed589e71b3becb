"""The dedup workload plug-in."""

from __future__ import annotations

from typing import Any

from chaoskit.contract.workloads.traits import Resends
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.logs import GroupedWorkload
from chaoskit.load.producer import produce
from workloads.dedup.options import DedupOptions
from workloads.dedup.producer import connect


class DedupWorkload(GroupedWorkload):
    """Entry point `dedup` of `chaoskit.workloads`."""

    options = DedupOptions

    def traits(self, options: DedupOptions) -> tuple[object, ...]:
        return (*super().traits(options), Resends(options.resend, restarts=options.restart_every is not None))

    def produce(self, job: Job[Any]) -> None:
        produce(job, connect)
