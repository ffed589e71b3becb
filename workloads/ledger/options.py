"""The options of the ledger workload."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from chaoskit.base.quantities import SECOND, Duration
from chaoskit.load.options import MessageSize, Rate

TOPIC = "ledger"
"""The topic in the history; its partitions are the ledgers, by id."""


class LedgerOptions(BaseModel):
    """The options of this workload.

    Attributes:
        writers: number of writer processes (`producer-0`, ...), each with one ledger at a time.
        readers: number of reader processes (`consumer-0`, ...); each tails every open ledger up to its last confirmed
            entry.
        recover_every: interval at which another client, `recoverer-0`, recovers an open ledger; null: never.
        entries: number of entries per ledger.
        rate: adds per second of all writers together, or `max`.
        message_size: size of each payload.
        in_flight: maximum number of adds in flight per writer.
        producer: the system's own client settings of writers.
        consumer: the system's own client settings of readers, the recoverer and the final read.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    writers: int = Field(default=2, ge=1, lt=2**20)
    readers: int = Field(default=1, ge=0)
    recover_every: Annotated[Duration, Field(gt=0)] | None = 2 * SECOND
    entries: int = Field(default=1000, ge=1)
    rate: Rate = 400
    message_size: MessageSize = 100
    in_flight: int = Field(default=500, ge=1)
    producer: dict[str, Any] = {}
    consumer: dict[str, Any] = {}
