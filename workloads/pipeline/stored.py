"""The options of what the system stores for an application: a topic, or a queue, that it reads or writes."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from chaoskit.load.partitioned import copies_of
from chaoskit.model.place import Place

TopicName = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")]


class StoredOptions(BaseModel):
    """A topic, or a queue; chaoskit makes it.

    Attributes:
        topic, queue: its name.
        partitions: number of partitions of a topic.
        type: the system's own type of a queue, such as `quorum`; default: the first that it has.
        replication: replicas of each partition, or members of a queue; default: 3, limited by the number of brokers.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    topic: TopicName | None = None
    queue: TopicName | None = None
    partitions: int = Field(default=1, ge=1, le=10_000)
    type: str = ""
    replication: int | None = Field(default=None, ge=1)

    @property
    def name(self) -> str:
        """Its name in the history."""
        return self.topic or self.queue or ""

    @property
    def places(self) -> list[Place]:
        """Its partitions."""
        return [(self.name, number) for number in range(self.partitions)]

    def copies(self, brokers: int) -> int:
        """Return how many replicas each partition has with so many brokers."""
        return copies_of(self.replication, brokers)
