"""Producers that notice partitions which were added while they send."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from math import inf
from typing import Any

from chaoskit.contract.clients.client import Rerouting
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.partitioned import PartitionedOptions
from chaoskit.load.sender import Sender
from chaoskit.model.observations.log import PartitionCount

_ANSWER_S = 5


class Reroutes:
    """Has a sender choose from all partitions that there are, by what its client learns and as often as that asks.

    Args:
        job: the producer's job.
        sender: its sender; of a client that never asks, nothing changes.
    """

    def __init__(self, job: Job[Any], sender: Sender[Any]) -> None:
        self._recorder = job.recorder
        self._sender = sender
        self._options = job.options
        asks = isinstance(sender.producer, Rerouting) and isinstance(job.options, PartitionedOptions)
        self._every_s = sender.producer.asks_every_s if asks else inf
        self._due_s = time.monotonic() + self._every_s
        # A producer must not stand still while a broker takes its time to answer.
        self._thread = ThreadPoolExecutor(1)
        self._answer: Future[PartitionedOptions | None] | None = None
        if asks and job.task.incarnation:
            self._follow(self._ask())  # partitions may have been added before this process

    def look(self) -> None:
        """Ask, if it is time to; or choose from what was answered."""
        if self._answer is not None:
            if self._answer.done():
                self._follow(self._answer.result())
                self._answer = None
        elif (now_s := time.monotonic()) >= self._due_s:
            self._due_s = now_s + self._every_s
            self._answer = self._thread.submit(self._ask)

    def _ask(self) -> PartitionedOptions | None:
        answer: PartitionedOptions | None = self._options.grown(
            self._sender.producer, self._recorder.in_system, _ANSWER_S
        )
        return answer

    def _follow(self, grown: PartitionedOptions | None) -> None:
        if grown is None or grown is self._options:
            return
        with self._recorder.operation("reroute") as op:
            for topic, partition in grown.all_partitions():
                self._recorder.observe(op, self._recorder.in_system(topic), partition, PartitionCount(grown.partitions))
        self._sender.route(grown.routes())
        self._options = grown
