"""The options of the log workload."""

from __future__ import annotations

import zlib
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from chaoskit.base.quantities import SECOND, Duration, SizeOrBytes
from chaoskit.history.audits import Place
from workloads.common.options import LoadOptions

_PARTITIONS_MAX = 100_000


class BacklogOptions(BaseModel):
    """Consumers pause until a backlog has built up, and then read it; meanwhile producers go on. This time is added to
    the duration of the load.

    Attributes:
        size: size of the payloads that wait when they go on, summed over groups.
        after: when they pause, from the start of the load.
        drain: share of it that must be read until it counts as read; 1,000 messages may always wait.
        within: building and reading together end the run, without a verdict, if they take longer.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    size: Annotated[SizeOrBytes, Field(ge=1)]
    after: Duration = 0
    drain: float = Field(default=1.0, gt=0, le=1)
    within: Annotated[Duration, Field(gt=0)] = 3600 * SECOND


class LogOptions(LoadOptions):
    """The options of this workload, in addition to those of every load.

    Attributes:
        topics: number of topics, named `log-0`, `log-1`, ...
        partitions: number of partitions per topic.
        replication: replicas of each partition; default: 3, limited by the number of brokers.
        type: the system's own type of log, such as `stream`, if it has one.
        consumption: `assigned` partitions, or as members of one `group`.
        groups: number of groups, which share the consumers evenly; each group receives everything.
        backlog: have a backlog built and read.
        keys: number of distinct keys; 0 sends without keys, round-robin to all partitions.
    """

    topics: int = Field(default=1, ge=1, le=10_000)
    partitions: int = Field(default=1, ge=1, le=10_000)
    replication: int | None = Field(default=None, ge=1)
    type: str = ""
    consumption: Literal["assigned", "group"] = "assigned"
    groups: int = Field(default=1, ge=1, lt=2**20)
    backlog: BacklogOptions | None = None
    keys: int = Field(default=0, ge=0, lt=2**24)

    @model_validator(mode="after")
    def _not_too_many(self) -> Self:
        if (whole := self.topics * self.partitions) > _PARTITIONS_MAX:
            raise ValueError(f"{whole:,} partitions in all are too many; the most are {_PARTITIONS_MAX:,}")
        return self

    @model_validator(mode="after")
    def _groups_of_somebody(self) -> Self:
        if self.consumption == "group":
            if self.consumers < self.groups:
                raise ValueError(f"consumption: group requires consumers; set consumers: {self.groups} or more")
        elif self.groups > 1:
            raise ValueError("groups requires consumption: group")
        return self

    @model_validator(mode="after")
    def _backlog_of_all(self) -> Self:
        partitions = self.topics * self.partitions
        if self.backlog is None:
            return self
        if type(self) is not LogOptions:  # elsewhere not every acknowledged message is received
            raise ValueError("backlog is only supported by the workload log; remove it")
        if not self.consumers:
            raise ValueError("backlog requires consumers; set consumers: 1 or more")
        if self.consumption == "assigned" and self.consumers > partitions:
            raise ValueError(f"backlog requires consumption: group, or at most {partitions} consumers")
        return self

    def topic_names(self) -> list[str]:
        """Return the names of all topics."""
        return [f"log-{topic}" for topic in range(self.topics)]

    def all_partitions(self) -> list[Place]:
        """Return every (topic, partition)."""
        return [(topic, partition) for topic in self.topic_names() for partition in range(self.partitions)]

    def routes(self) -> list[tuple[str, int, bytes | None]]:
        """Return topic, partition and key of successive messages: round-robin over partitions, or over keys.

        A key's partition is the CRC-32 of the key modulo the number of partitions, as in librdkafka's `consistent`
        partitioner. It is computed here so that it is known even if a send never completes.
        """
        if self.keys == 0:
            return [(topic, partition, None) for topic, partition in self.all_partitions()]
        keys = [f"key-{index}".encode() for index in range(self.keys)]
        return [(topic, zlib.crc32(key) % self.partitions, key) for topic in self.topic_names() for key in keys]
