"""The options of the feed workload."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from chaoskit.base.quantities import SECOND, Duration
from chaoskit.load.options import LoadOptions, Rate
from chaoskit.model.place import Place


class FeedOptions(LoadOptions):
    """The options of this workload, in addition to those of every load; each subscriber subscribes to all topics.

    Attributes:
        topics: number of topics, named `feed-0`, `feed-1`, ...; publishers send to them in turn.
        qos: quality of service of both sides, by the system's own names, unless their settings have another.
        late: how many subscribers, the last ones, come while the load goes on.
        late_by: how long after its beginning.
        leavers: how many subscribers, the first ones, leave while the load goes on.
        leave_after: how long after its beginning.
    """

    topics: int = Field(default=1, ge=1, le=1000)
    rate: Rate = 1000
    qos: str | int | None = None
    late: int = Field(default=0, ge=0)
    late_by: Annotated[Duration, Field(gt=0)] = 5 * SECOND
    leavers: int = Field(default=0, ge=0)
    leave_after: Annotated[Duration, Field(gt=0)] = 5 * SECOND

    @model_validator(mode="after")
    def _of_the_subscribers(self) -> FeedOptions:
        if self.late > self.consumers:
            raise ValueError(f"late: {self.late}: there are only {self.consumers} consumers; reduce it")
        if self.late + self.leavers > self.consumers:
            who = f"{self.consumers} consumers, {self.late} of them late"
            raise ValueError(f"leavers: {self.leavers}: there are only {who}; reduce it")
        if self.leavers and self.leavers == self.consumers:
            raise ValueError(f"leavers: {self.leavers}: no consumer would stay; add consumers")
        return self

    @model_validator(mode="after")
    def _of_both_sides(self) -> FeedOptions:
        if self.qos is not None:
            for settings in (self.producer, self.consumer):
                settings.setdefault("qos", self.qos)
        return self

    def is_late(self, index: int) -> bool:
        """Return whether a subscriber comes while the load goes on."""
        return index >= self.consumers - self.late

    def leaves(self, index: int) -> bool:
        """Return whether a subscriber leaves while the load goes on."""
        return index < self.leavers

    def topic_names(self) -> list[str]:
        """Return the names of all topics."""
        return [f"feed-{topic}" for topic in range(self.topics)]

    def all_partitions(self) -> list[Place]:
        """Return every topic; each has the one partition 0."""
        return [(topic, 0) for topic in self.topic_names()]

    def routes(self) -> list[tuple[str, int, bytes | None]]:
        """Return topic, partition and key of successive messages."""
        return [(topic, 0, None) for topic in self.topic_names()]
