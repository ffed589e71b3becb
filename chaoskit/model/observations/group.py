"""What members of consumer groups, and readers without a group, learn and do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

import pyarrow as pa

from chaoskit.base.columns import Flags, Ints, integers, is_one_of, words_of
from chaoskit.model.observations.row import Row, of_kinds

ASSIGNED, COMMITTED, READING = "assigned", "committed", "reading"


@dataclass(frozen=True, slots=True)
class Assigned:
    """A group assigned the partition to the client (`assign`).

    Attributes:
        group: its name.
        generation: its generation; None: unknown.
    """

    group: str
    generation: int | None

    def rows(self) -> Iterator[Row]:
        """Yield its row."""
        yield Row(ASSIGNED, name=self.group, value=self.generation)


@dataclass(frozen=True, slots=True)
class Committed:
    """A member commits a position (`commit`).

    Attributes:
        group: its group.
        generation: the group's generation; None: unknown.
        next_position: the next position to read.
    """

    group: str
    generation: int | None
    next_position: int

    def rows(self) -> Iterator[Row]:
        """Yield its row."""
        yield Row(COMMITTED, name=self.group, value=self.generation, position=self.next_position)


@dataclass(frozen=True, slots=True)
class ReadingBegan:
    """A reader that is in no group begins to read the partition (`assign`)."""

    def rows(self) -> Iterator[Row]:
        """Yield its row."""
        yield Row(READING)

    @staticmethod
    def ops(observations: pa.Table) -> Ints:
        """Return the operations that did it."""
        return integers(of_kinds(observations, READING)["op"])


class GroupActs(NamedTuple):
    """All assignments and commits of a partition, in order of `op`.

    Attributes:
        groups: the names of the groups.
        op: the operation.
        group: number of its group.
        assigned: whether it is an assignment; otherwise it is a commit.
        generation: generation of the group, or `NONE`.
        next_position: of commits, the next position to read.
    """

    groups: list[str]
    op: Ints
    group: Ints
    assigned: Flags
    generation: Ints
    next_position: Ints

    @classmethod
    def read(cls, observations: pa.Table) -> Self:
        """Read them from the observations of a partition."""
        acts = of_kinds(observations, COMMITTED, ASSIGNED)
        group, groups = words_of(acts["name"])
        return cls(
            groups,
            integers(acts["op"]),
            group,
            is_one_of(acts["kind"], [ASSIGNED]),
            integers(acts["value"]),
            integers(acts["position"]),
        )
