"""The options of a load that others make."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from chaoskit.load.partitioned import copies_of


class LiveTopic(BaseModel):
    """A topic that chaoskit makes for the clients of others.

    Attributes:
        name: its name.
        partitions: number of partitions.
        replication: replicas of each partition; default: 3, limited by the number of brokers.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")]
    partitions: int = Field(default=1, ge=1, le=10_000)
    replication: int | None = Field(default=None, ge=1)

    def copies(self, brokers: int) -> int:
        """Return how many replicas each partition has with so many brokers."""
        return copies_of(self.replication, brokers)


class LiveOptions(BaseModel):
    """The options of this workload.

    Attributes:
        topics: the topics that were made so far.
        producer, consumer: the settings of the clients, in the system's own terms, as far as they are not its defaults:
            guarantees depend on them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    topics: list[LiveTopic] = []
    producer: dict[str, Any] = {}
    consumer: dict[str, Any] = {}

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        names = [topic.name for topic in self.topics]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"topics: {name!r} is there twice")
        return self
