"""Producers that notice partitions which were added while they send."""

from __future__ import annotations

import time
from typing import Any

from chaoskit.contract.clients.client import Rerouting
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.partitioned import PartitionedOptions
from chaoskit.load.sender import Sender
from chaoskit.model.observations.log import PartitionCount

_ANSWER_S = 0.5
"""A producer stands still while it asks, so it does not wait for long; it asks again later."""


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

    def look(self) -> None:
        """Ask, if it is time to."""
        options, client, now_s = self._options, self._client, time.monotonic()
        if options is None or client is None or now_s - self._asked_s < client.asks_every_s:
            return
        grown = options.grown(client, self._recorder.in_system, _ANSWER_S)
        self._asked_s = time.monotonic()
        if grown.partitions == options.partitions:
            return
        with self._recorder.operation("reroute") as op:
            for topic, partition in grown.all_partitions():
                self._recorder.observe(op, self._recorder.in_system(topic), partition, PartitionCount(grown.partitions))
        self._sender.route(grown.routes())
        self._options = grown
