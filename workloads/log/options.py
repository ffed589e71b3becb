"""The options of the log workload."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from chaoskit.base.quantities import SECOND, Duration, SizeOrBytes
from chaoskit.load.partitioned import GroupedOptions


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


class LogOptions(GroupedOptions):
    """The options of this workload, in addition to those of logs that are read by partitions or groups.

    Attributes:
        backlog: have a backlog built and read.
        delete_every: of the messages that a producer sends for a key, each Nth one deletes it: it has no content (a
            tombstone). For compacted topics, whose keys must be few enough to be written often. 0: none.
    """

    backlog: BacklogOptions | None = None
    delete_every: int = Field(default=0, ge=0)

    def deletes(self, sequence: int) -> bool:
        """Return whether the message with this sequence of a producer deletes its key."""
        times, route = divmod(sequence, self.topics * self.keys)
        return (times + route) % self.delete_every == self.delete_every - 1

    @model_validator(mode="after")
    def _deletes_keys(self) -> Self:
        if self.delete_every == 1:
            raise ValueError("delete_every: 1 would delete each key and write none; set 2 or more")
        if self.delete_every and not self.keys:
            raise ValueError("delete_every deletes keys; set keys: 1 or more")
        return self

    @model_validator(mode="after")
    def _backlog_of_all(self) -> Self:
        partitions = self.topics * self.partitions
        if self.backlog is None:
            return self
        if not self.consumers:
            raise ValueError("backlog requires consumers; set consumers: 1 or more")
        if self.replay is not None:
            raise ValueError("backlog counts what was received, and replay has it received twice; remove one of them")
        if self.consumption == "assigned" and self.consumers > partitions:
            raise ValueError(f"backlog requires consumption: group, or at most {partitions} consumers")
        return self
