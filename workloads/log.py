"""The log workload: producers append numbered messages to partitions, consumers read them in order.

Load is open loop at a declared rate (a stalled broker does not hold back the schedule: the intended
send time is kept) or closed loop at the maximum. Every send, poll, assignment and seek is recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from chaoskit.base.quantities import format_size, parse_size
from chaoskit.contract.cluster import TopicSpec
from chaoskit.contract.workload import AUDITOR, CONSUMER, PRODUCER, Job, Task
from workloads import payload
from workloads.audit import audit
from workloads.consuming import consume
from workloads.producing import produce

_REPLICATION = 3

MessageSize = Annotated[
    int,
    BeforeValidator(lambda given: given if isinstance(given, int) else parse_size(given)),
    PlainSerializer(format_size),
    Field(ge=payload.SIZE_MIN, le=2**30),
]


class LogOptions(BaseModel):
    """What a scenario may say of this workload.

    Attributes:
        topics: number of topics, named `log-0`, `log-1`, ...
        partitions: of each topic.
        replication: replicas of each partition; absent: 3, or as many as there are brokers.
        producers: number of producer processes.
        consumers: number of consumer processes.
        consumption: `assigned` partitions, or as members of one `group`.
        rate: sends a second of all producers together, or `max`.
        message_size: bytes of each payload.
        keys: number of distinct keys; 0 sends without keys, to partitions in turn.
        in_flight: sends that one producer may have outstanding.
        producer: the system's own producer settings.
        consumer: the system's own consumer settings.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    topics: int = Field(default=1, ge=1)
    partitions: int = Field(default=1, ge=1)
    replication: int | None = Field(default=None, ge=1)
    producers: int = Field(default=1, ge=1, lt=2**20)
    consumers: int = Field(default=1, ge=0)
    consumption: Literal["assigned", "group"] = "assigned"
    rate: Annotated[int, Field(ge=1)] | Literal["max"] = 5000
    message_size: MessageSize = 100
    keys: int = Field(default=0, ge=0)
    in_flight: int = Field(default=20_000, ge=1)
    producer: dict[str, Any] = {}
    consumer: dict[str, Any] = {}

    def all_partitions(self) -> list[tuple[str, int]]:
        """Return every (topic, partition)."""
        return [(f"log-{topic}", partition) for topic in range(self.topics) for partition in range(self.partitions)]


class LogWorkload:
    """Entry point `log` of `chaoskit.workloads`."""

    options = LogOptions
    needs: tuple[type, ...] = ()

    def topics(self, options: LogOptions, brokers: int) -> list[TopicSpec]:
        replication = options.replication or min(_REPLICATION, brokers)
        return [TopicSpec(f"log-{index}", options.partitions, replication) for index in range(options.topics)]

    def tasks(self, options: LogOptions) -> list[Task]:
        producers = [Task(PRODUCER, index) for index in range(options.producers)]
        return producers + [Task(CONSUMER, index) for index in range(options.consumers)]

    def client_settings(self, options: LogOptions, role: str) -> Mapping[str, Any]:
        return options.producer if role == PRODUCER else options.consumer

    def grouped(self, options: LogOptions) -> bool:
        return options.consumption == "group"

    def run(self, job: Job) -> None:
        {PRODUCER: produce, CONSUMER: consume, AUDITOR: audit}[job.task.role](job)
