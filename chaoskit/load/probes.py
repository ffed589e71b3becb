"""One message to every partition: proves that each works again."""

from __future__ import annotations

import time
from typing import Any

from chaoskit.contract.clients.client import LogClients, Producer
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.options import LoadOptions
from chaoskit.model import payload
from chaoskit.model.message import PRODUCER_SHIFT
from chaoskit.model.outcome import FAIL, OK, Outcome
from chaoskit.model.place import Place

_KEY = b"probe"


class Probes:
    """One message to every partition.

    Args:
        job: the auditor's job.

    Attributes:
        positions: the positions that acknowledgements named.
    """

    def __init__(self, job: Job[Any]) -> None:
        self.positions: dict[Place, int] = {}
        self._options: LoadOptions = job.options
        self._recorder = job.recorder
        self._outcomes: dict[int, int] = {}
        self._places: dict[int, Place] = {}

    @property
    def accepted(self) -> bool:
        """Whether all were acknowledged."""
        return not self.refused

    @property
    def refused(self) -> list[Place]:
        """The partitions whose message was not acknowledged."""
        named = ((self._recorder.in_system(topic), partition) for topic, partition in self._options.all_partitions())
        taken = {self._places[op] for op, outcome in self._outcomes.items() if outcome == OK}
        return [place for place in named if place not in taken]

    def completed(
        self, op: int, outcome: Outcome, error: str | None, position: int | None, at_ns: int | None = None
    ) -> None:
        """See `chaoskit.contract.clients.client.Completed`."""
        self._outcomes[op] = outcome
        if position is not None:
            self.positions[self._places[op]] = position
        self._recorder.completed(op, outcome, error, position, at_ns)

    def send(self, producer: Producer) -> None:
        """Send them; a producer that reports to `completed`."""
        options, recorder = self._options, self._recorder
        # Where messages have keys, a compacted log takes none without; and a key of its own stands for no other.
        key = None if options.routes()[0][2] is None else _KEY
        writer = payload.Writer(recorder.run_id, options.message_size)
        for sequence, (topic, partition) in enumerate(options.all_partitions()):
            value = options.producers << PRODUCER_SHIFT | sequence
            now = time.monotonic_ns()
            name = recorder.in_system(topic)
            op = recorder.send(recorder.topic_id(name), partition, recorder.key_id(key), value, now, now)
            self._places[op] = name, partition
            if not producer.send(name, partition, key, writer.build(value, now, now), op):
                self.completed(op, FAIL, "queue full", None)


def probe(job: Job[Any]) -> tuple[bool, dict[Place, int]]:
    """Send one message to every partition; return whether all were acknowledged, and the positions that were named."""
    probes = Probes(job)
    producer = job.clients.power(LogClients).prober(job.options.producer, probes.completed)
    probes.send(producer)
    producer.close(job.bound_ns / 1e9)
    return probes.accepted, probes.positions
