"""The last inputs of a pipeline: once the application has worked on them, it has worked on what came before."""

from __future__ import annotations

from chaoskit.contract.workloads.workload import Job
from chaoskit.load.probes import Probes
from workloads.pipeline.feeder import InputSender, input_producer
from workloads.pipeline.options import PipelineOptions

_NUMBER = 1
"""The number of the sender of last inputs among those of producers."""


class LastInputs(Probes):
    """The last inputs: one to every partition.

    Args:
        job: the job of the client that sends them.

    Attributes:
        values: their values.
    """

    def __init__(self, job: Job[PipelineOptions]) -> None:
        super().__init__(job)
        producer = input_producer(job, self.completed, probes=True)
        sender = InputSender(job.recorder, producer, job.options, _NUMBER)
        places = job.options.reads.places
        keys = {partition: key for _, partition, key in job.options.routes()}
        for sequence, (topic, partition) in enumerate(places):
            op = sender.send(topic, partition, keys.get(partition), sequence, None)
            self._places[op] = job.recorder.in_system(topic), partition
        producer.close(job.bound_ns / 1e9)
        self.values: set[int] = {_NUMBER << 40 | sequence for sequence in range(len(places))}
