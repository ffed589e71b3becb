"""What the system tells of transactions that stay open."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

import pyarrow as pa

from chaoskit.base.columns import Ints, integers
from chaoskit.model.observations.row import Row, of_kinds

OPEN = "open-transaction"


@dataclass(frozen=True, slots=True)
class StillOpen:
    """A transaction that is open in the partition, and was already at an earlier look (`look`).

    Attributes:
        name: the name of its producer, by which the system knows it.
        position: where its first message is.
        since_ns: when it was first seen open, ns since the start of the run.
    """

    name: str
    position: int
    since_ns: int

    def rows(self) -> Iterator[Row]:
        """Yield its row."""
        yield Row(OPEN, name=self.name, value=self.since_ns, position=self.position)


class OpenTransactions(NamedTuple):
    """All `StillOpen` of a partition, in order of `op`: the operation that saw each, its name, where its first message
    is, and since when it was open."""

    op: Ints
    name: list[str]
    position: Ints
    since_ns: Ints

    @classmethod
    def read(cls, observations: pa.Table) -> Self:
        """Read them from the observations of a partition."""
        rows = of_kinds(observations, OPEN)
        names = [name or "" for name in rows["name"].cast(pa.string()).to_pylist()]
        return cls(integers(rows["op"]), names, integers(rows["position"]), integers(rows["value"]))
