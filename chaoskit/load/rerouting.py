"""Producers that notice partitions which were added while they send."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
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
        self._options = job.options if isinstance(job.options, PartitionedOptions) else None
        self._client = sender.producer if isinstance(sender.producer, Rerouting) else None
        self._asked_s = time.monotonic()
        # A producer must not stand still while a broker takes its time to answer.
        self._thread = ThreadPoolExecutor(1)
        self._answer: Future[PartitionedOptions | None] | None = None
        if job.task.incarnation and self._client is not None and self._options is not None:
            # A new process asks before it sends for the first time.
            self._follow(self._options.grown(self._client, self._recorder.in_system, _ANSWER_S))

    def look(self) -> None:
        """Ask, if it is time to; or choose from what was answered."""
        if self._answer is not None:
            if self._answer.done():
                self._follow(self._answer.result())
                self._answer = None
        elif self._client is not None and self._options is not None:
            now_s = time.monotonic()
            if now_s - self._asked_s >= self._client.asks_every_s:
                self._asked_s = now_s
                asked = (self._client, self._recorder.in_system, _ANSWER_S)
                self._answer = self._thread.submit(self._options.grown, *asked)

    def _follow(self, grown: PartitionedOptions | None) -> None:
        if grown is None or grown is self._options:
            return
        with self._recorder.operation("reroute") as op:
            for topic, partition in grown.all_partitions():
                self._recorder.observe(op, self._recorder.in_system(topic), partition, PartitionCount(grown.partitions))
        self._sender.route(grown.routes())
        self._options = grown
