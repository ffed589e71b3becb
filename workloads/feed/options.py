"""The options of the feed workload."""

from __future__ import annotations

from pydantic import Field

from chaoskit.contract.vocabulary import Place
from chaoskit.load.options import LoadOptions, Rate


class FeedOptions(LoadOptions):
    """The options of this workload, in addition to those of every load; each subscriber subscribes to all topics.

    Attributes:
        topics: number of topics, named `feed-0`, `feed-1`, ...; publishers send to them in turn.
    """

    topics: int = Field(default=1, ge=1, le=1000)
    rate: Rate = 1000

    def topic_names(self) -> list[str]:
        """Return the names of all topics."""
        return [f"feed-{topic}" for topic in range(self.topics)]

    def all_partitions(self) -> list[Place]:
        """Return every topic; each has the one partition 0."""
        return [(topic, 0) for topic in self.topic_names()]

    def routes(self) -> list[tuple[str, int, bytes | None]]:
        """Return topic, partition and key of successive messages."""
        return [(topic, 0, None) for topic in self.topic_names()]
