"""What readers and producers of logs and ledgers learn and do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from chaoskit.base.columns import Ints, integers
from chaoskit.model.observations.row import Row, of_kinds

SOUGHT, UNREADABLE, PARTITIONS = "sought", "unreadable", "partitions"


@dataclass(frozen=True, slots=True)
class Sought:
    """A consumer goes back in the partition on purpose (`replay`).

    Attributes:
        by: `time` or `position`: how.
        back_ns: how far, in ns.
        latest: the position where it must be at the latest; None: unknown.
    """

    by: str
    back_ns: int
    latest: int | None

    def rows(self) -> Iterator[Row]:
        """Yield its row."""
        yield Row(SOUGHT, name=self.by, value=self.back_ns, position=self.latest)

    @staticmethod
    def read(observations: pa.Table) -> tuple[Ints, Ints]:
        """Return the operations that did it, and the position where each must be at the latest, or `NONE`."""
        rows = of_kinds(observations, SOUGHT)
        return integers(rows["op"]), integers(rows["position"])


@dataclass(frozen=True, slots=True)
class UnreadableGap:
    """The system said that it cannot read some positions.

    Attributes:
        first: the first of them.
        until: one past the last.
    """

    first: int
    until: int

    def rows(self) -> Iterator[Row]:
        """Yield its row."""
        yield Row(UNREADABLE, value=self.until, position=self.first)

    @staticmethod
    def read(observations: pa.Table) -> tuple[Ints, Ints]:
        """Return the first position of each, and one past the last."""
        rows = of_kinds(observations, UNREADABLE)
        return integers(rows["position"]), integers(rows["value"])


@dataclass(frozen=True, slots=True)
class PartitionCount:
    """A producer learned that partitions were added, and chooses from all of them from now on (`reroute`).

    Attributes:
        count: how many the topic has.
    """

    count: int

    def rows(self) -> Iterator[Row]:
        """Yield its row."""
        yield Row(PARTITIONS, value=self.count)

    @staticmethod
    def read(observations: pa.Table) -> Ints:
        """Return how many partitions producers learned of, one after the other."""
        return integers(of_kinds(observations, PARTITIONS)["value"])
