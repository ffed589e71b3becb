"""The results of the final read, as they are kept in the metadata of operations.parquet."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from chaoskit.base.reading import shaped
from chaoskit.model.audit import Audit, Bounds, Drained
from chaoskit.model.place import Place

_Position = Annotated[int, Field(ge=-(2**63), lt=2**63)]


class _Row(TypedDict):
    topic: str
    partition: int
    complete: bool
    low: NotRequired[_Position]
    end: NotRequired[_Position]
    reached: NotRequired[_Position | None]
    local: NotRequired[_Position | None]


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
        Bounds(row["low"], row["end"], row["complete"], row.get("reached"), row.get("local"))
        if "end" in row
        else Drained(row["complete"])
    )
