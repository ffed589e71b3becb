"""The ledger workload's options and its clients.

A writer makes a ledger, adds so many entries without waiting for each, ends it and makes the next; when an add fails,
as all do once the ledger was recovered, it goes on with a new ledger and the next message. Readers and the recoverer
find ledgers by asking the system which are open for writing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from chaoskit.base.quantities import SECOND, Duration
from chaoskit.contract.cluster import TopicSpec
from chaoskit.contract.ledger import LedgerClients
from chaoskit.contract.workload import AUDITOR, CONSUMER, PRODUCER, Job, Task
from workloads.ledger.audit import audit
from workloads.ledger.reading import tail
from workloads.ledger.recording import TOPIC
from workloads.ledger.recovering import RECOVERER, recover
from workloads.ledger.writing import write
from workloads.log import MessageSize


class LedgerOptions(BaseModel):
    """What a scenario may say of this workload.

    Attributes:
        writers: number of writer processes (`producer-0`, ...), each with one ledger at a time.
        readers: number of reader processes (`consumer-0`, ...); each tails every open ledger up to its last confirmed
            entry.
        recover_every: a further client, `recoverer-0`, ends an open ledger so often; null: never.
        entries: of each ledger.
        rate: adds a second of all writers together, or `max`.
        message_size: bytes of each payload.
        in_flight: adds that one writer may have outstanding.
        producer: the system's own client settings of writers.
        consumer: the system's own client settings of readers, the recoverer and the final read.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    writers: int = Field(default=2, ge=1, lt=2**20)
    readers: int = Field(default=1, ge=0)
    recover_every: Annotated[Duration, Field(gt=0)] | None = 2 * SECOND
    entries: int = Field(default=1000, ge=1)
    rate: Annotated[int, Field(ge=1)] | Literal["max"] = 400
    message_size: MessageSize = 100
    in_flight: int = Field(default=500, ge=1)
    producer: dict[str, Any] = {}
    consumer: dict[str, Any] = {}


class LedgerWorkload:
    """Entry point `ledger` of `chaoskit.workloads`."""

    options = LedgerOptions
    needs: tuple[type, ...] = (LedgerClients,)

    def topics(self, options: LedgerOptions, brokers: int) -> list[TopicSpec]:
        return [TopicSpec(TOPIC, partitions=0, replication=1)]

    def tasks(self, options: LedgerOptions) -> list[Task]:
        writers = [Task(PRODUCER, index) for index in range(options.writers)]
        readers = [Task(CONSUMER, index) for index in range(options.readers)]
        return writers + readers + ([Task(RECOVERER, 0)] if options.recover_every is not None else [])

    def client_settings(self, options: LedgerOptions, role: str) -> Mapping[str, Any]:
        return options.producer if role == PRODUCER else options.consumer

    def grouped(self, options: LedgerOptions) -> bool:
        return False

    def run(self, job: Job) -> None:
        {PRODUCER: write, CONSUMER: tail, RECOVERER: recover, AUDITOR: audit}[job.task.role](job)
