"""The rows of simulated queues, collected one by one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from chaoskit.model.message import DIRECTIONS
from chaoskit.model.place import Place
from chaoskit.model.tables import MESSAGES, OBSERVATIONS
from chaoskit.testing.synthetic.randomness import Ints
from chaoskit.testing.synthetic.rows import RECEIVED, SENT


@dataclass(slots=True)
class QueueRows:
    """Messages and observations of one queue; operations have the numbers that they had before sorting.

    Attributes:
        messages: operation, direction, value, sent_ns, received_ns and delivery of each.
        observations: operation, kind, name, value and position of each.
    """

    place: Place
    messages: list[tuple[int, int, int, int, int | None, int | None]] = field(default_factory=list)
    observations: list[tuple[int, str, str | None, int | None, int | None]] = field(default_factory=list)

    def sent(self, op: int, value: int, sent_ns: int) -> None:
        """Add a message that was sent."""
        self.messages.append((op, SENT, value, sent_ns, None, None))

    def received(self, op: int, value: int, sent_ns: int, received_ns: int, delivery: int) -> None:
        """Add a message that was received."""
        self.messages.append((op, RECEIVED, value, sent_ns, received_ns, delivery))

    def told(
        self, op: int, kind: str, *, name: str | None = None, value: int | None = None, position: int | None = None
    ) -> None:
        """Add an observation."""
        self.observations.append((op, kind, name, value, position))

    def message_table(self, rank: Ints) -> pa.Table:
        """Return the messages, schema MESSAGES; `rank` is the final number of each operation."""
        columns = _sorted(self.messages, rank, 6)
        size = columns[0].size
        given: dict[str, Any] = {
            "op": columns[0],
            "direction": [DIRECTIONS[column] for column in columns[1]],
            "topic": [self.place[0]] * size,
            "partition": [self.place[1]] * size,
            "value": columns[2],
            "intended_ns": columns[3],
            "sent_ns": columns[3],
            "received_ns": columns[4],
            "delivery": columns[5],
            "payload": ["ok"] * size,
        }
        return _table(given, size, MESSAGES)

    def observation_table(self, rank: Ints) -> pa.Table:
        """Return the observations, schema OBSERVATIONS; `rank` is the final number of each operation."""
        op, kind, name, value, position = _sorted(self.observations, rank, 5)
        given = {
            "op": op,
            "kind": kind,
            "topic": [self.place[0]] * op.size,
            "partition": [self.place[1]] * op.size,
            "name": name,
            "value": value,
            "position": position,
        }
        return _table(given, op.size, OBSERVATIONS)


def _sorted(rows: list[Any], rank: Ints, width: int) -> list[np.ndarray]:
    """Return the columns of rows in order of their operations, with final numbers."""
    columns = [np.array([row[index] for row in rows], object) for index in range(width)]
    op = rank[columns[0].astype(np.int64)]
    order = np.argsort(op, kind="stable")
    return [op[order], *(column[order] for column in columns[1:])]


def _table(given: dict[str, Any], size: int, schema: pa.Schema) -> pa.Table:
    columns = [
        pa.array(given[column.name], column.type, from_pandas=True)
        if column.name in given
        else pa.nulls(size, column.type)
        for column in schema
    ]
    return pa.table(columns, schema=schema)
