"""Options of workloads whose producers send to partitions of topics."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from chaoskit.base.quantities import SECOND, Duration
from chaoskit.contract.clients.client import PartitionCounting
from chaoskit.load.options import LoadOptions
from chaoskit.model.place import Place

_PARTITIONS_MAX = 100_000
_REPLICATION = 3


def copies_of(replication: int | None, brokers: int) -> int:
    """Return how many replicas each partition has with so many brokers; None: as many as is usual."""
    return replication or min(_REPLICATION, brokers)


def routes_over(topics: Sequence[str], partitions: int, keys: int) -> list[tuple[str, int, bytes | None]]:
    """Return topic, partition and key of successive messages: round-robin over partitions, or over keys.

    A key's partition is the CRC-32 of the key modulo the number of partitions. It is computed here so that it is known
    even if a send never completes.

    Args:
        topics: names of the topics.
        partitions: number of partitions of each.
        keys: number of distinct keys; 0: none.
    """
    if not keys:
        return [(topic, partition, None) for topic in topics for partition in range(partitions)]
    names = [f"key-{index}".encode() for index in range(keys)]
    return [(topic, zlib.crc32(name) % partitions, name) for topic in topics for name in names]


class PartitionedOptions(LoadOptions):
    """The options of logs, in addition to those of every load.

    Attributes:
        topics: number of topics, named `log-0`, `log-1`, ...
        partitions: number of partitions per topic.
        replication: replicas of each partition; default: 3, limited by the number of brokers.
        type: the system's own type of log, such as `stream`, if it has one.
        keys: number of distinct keys; 0 sends without keys, round-robin to all partitions.
    """

    retired: ClassVar[Mapping[str, Any]] = {}
    """Keys that runs recorded with these values when this workload had them; they said nothing."""

    topics: int = Field(default=1, ge=1, le=10_000)
    partitions: int = Field(default=1, ge=1, le=10_000)
    replication: int | None = Field(default=None, ge=1)
    type: str = ""
    keys: int = Field(default=0, ge=0, lt=2**24)

    @model_validator(mode="before")
    @classmethod
    def _without_retired(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        absent = object()
        return {key: value for key, value in given.items() if value != cls.retired.get(key, absent)}

    @model_validator(mode="after")
    def _not_too_many(self) -> Self:
        if (whole := self.topics * self.partitions) > _PARTITIONS_MAX:
            raise ValueError(f"{whole:,} partitions in all are too many; the most are {_PARTITIONS_MAX:,}")
        return self

    def copies(self, brokers: int) -> int:
        """Return how many replicas each partition has with so many brokers."""
        return copies_of(self.replication, brokers)

    def topic_names(self) -> list[str]:
        """Return the names of all topics."""
        return [f"log-{topic}" for topic in range(self.topics)]

    def all_partitions(self) -> list[Place]:
        """Return every (topic, partition)."""
        return [(topic, partition) for topic in self.topic_names() for partition in range(self.partitions)]

    def routes(self) -> list[tuple[str, int, bytes | None]]:
        """Return topic, partition and key of successive messages: round-robin over partitions, or over keys.

        See `routes_over`.
        """
        return routes_over(self.topic_names(), self.partitions, self.keys)

    def grown(self, client: PartitionCounting, in_system: Callable[[str], str], timeout_s: float) -> Self | None:
        """Return these options with the partitions that each topic has now; None if the system does not tell.

        Args:
            client: a producer or an auditor.
            in_system: returns the name of a topic in the system.
            timeout_s: how long to wait for the system.
        """
        count = client.partition_count([in_system(name) for name in self.topic_names()], timeout_s)
        if count is None:
            return None
        return self.model_copy(update={"partitions": count}) if count > self.partitions else self


class ReplayOptions(BaseModel):
    """Each consumer goes back once and reads again what it received last; this is no anomaly.

    Attributes:
        after: when, from the start of the load.
        back: how far, before then.
        by: `time`: the system is asked for the first message from then on; `position`: to the first position that the
            consumer received since then.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    after: Annotated[Duration, Field(gt=0)]
    back: Annotated[Duration, Field(gt=0)]
    by: Literal["time", "position"] = "time"


class GroupedOptions(PartitionedOptions):
    """The options of logs that are read partition by partition, or by groups.

    Attributes:
        consumption: `assigned` partitions, or as members of one `group`.
        groups: number of groups, which share the consumers evenly; each group receives everything.
        commit_every: how often the members of a group commit.
        replay: have consumers read again.
    """

    consumption: Literal["assigned", "group"] = "assigned"
    groups: int = Field(default=1, ge=1, lt=2**20)
    commit_every: Annotated[Duration, Field(gt=0)] = SECOND
    replay: ReplayOptions | None = None

    @model_validator(mode="after")
    def _replay_by_somebody(self) -> Self:
        if self.replay is not None and not self.consumers:
            raise ValueError("replay requires consumers; set consumers: 1 or more")
        return self

    @model_validator(mode="after")
    def _groups_of_somebody(self) -> Self:
        if self.consumption == "group":
            if self.consumers < self.groups:
                raise ValueError(f"consumption: group requires consumers; set consumers: {self.groups} or more")
        elif self.groups > 1:
            raise ValueError("groups requires consumption: group")
        elif self.commit_every != SECOND:
            raise ValueError("commit_every requires consumption: group")
        return self
