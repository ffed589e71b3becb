"""The result of the final read of each partition: its bounds, or that it was drained."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from chaoskit.base.reading import shaped

Place = tuple[str, int]
"""Topic and partition."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The final read of a log or a ledger, whose bounds the system reports.

    Attributes:
        low: first position that still existed in the system (earlier ones expired).
        end: end position that the system reported after healing: one past the last readable position.
        complete: whether the final read reached `end`.
        reached: position up to which it read; None: unknown.
    """

    low: int
    end: int
    complete: bool
    reached: int | None = None


@dataclass(frozen=True, slots=True)
class Drained:
    """The final read of a queue, or of a topic without storage: it received what was there.

    Attributes:
        complete: whether it received everything, until nothing more arrived.
    """

    complete: bool


Audit = Bounds | Drained

_Position = Annotated[int, Field(ge=-(2**63), lt=2**63)]


class _Row(TypedDict):
    topic: str
    partition: int
    complete: bool
    low: NotRequired[_Position]
    end: NotRequired[_Position]
    reached: NotRequired[_Position | None]


def audits_json(audits: Mapping[Place, Audit]) -> str:
    """Return audits as JSON, for the metadata of operations.parquet."""
    return json.dumps([{"topic": place[0], "partition": place[1], **asdict(audits[place])} for place in sorted(audits)])


def parse_audits(content: bytes) -> dict[Place, Audit]:
    """Return audits from their JSON.

    Raises:
        ValueError: it is something else.
    """
    rows: list[_Row] = shaped(json.loads(content), list[_Row])
    return {(row["topic"], row["partition"]): _audit(row) for row in rows}


def _audit(row: _Row) -> Audit:
    return (
        Bounds(row["low"], row["end"], row["complete"], row.get("reached"))
        if "end" in row
        else Drained(row["complete"])
    )
