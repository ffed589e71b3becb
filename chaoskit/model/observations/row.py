"""A row of a history's observations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import pyarrow as pa

from chaoskit.base.columns import is_one_of

KINDS = (
    "committed", "assigned", "confirmed", "ended", "subscribed", "acked", "nacked", "unreadable", "declared",
    "prioritised", "rejected", "dead-lettered", "depth", "reading", "cancelled", "unsubscribed", "sought",
)  # fmt: skip
"""Kinds that a write-ahead log has a code for, which is their place here; others are written by name."""


_COLUMNS = ["op", "kind", "name", "value", "position"]


class Row(NamedTuple):
    """One row, without its operation and its place. A name is one of the history: the workload's own."""

    kind: str
    name: str | None = None
    value: int | None = None
    position: int | None = None


class Observation(Protocol):
    """Something that an operation learned or did."""

    def rows(self) -> Iterator[Row]:
        """Yield the rows that it is written as."""
        ...


def of_kinds(observations: pa.Table, *kinds: str) -> pa.Table:
    """Return the rows of some kinds, in their order, without their places."""
    wanted = pa.array(is_one_of(observations["kind"], kinds))
    return observations.select(_COLUMNS).filter(wanted)
