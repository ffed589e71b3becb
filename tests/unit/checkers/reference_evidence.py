"""The evidence of findings, for the definitions in plain Python."""

from __future__ import annotations

from typing import Any

from notation import Row

from chaoskit.model.message import PRODUCER_SHIFT


def producer(row: Row) -> int:
    return int(row["value"]) >> PRODUCER_SHIFT


def this(row: Row, at_ns: int | None) -> Row:
    return {"value": row["value"], "position": row["position"], "op": row["op"], "at_ns": at_ns}


def other(row: Row) -> Row:
    return {"other_value": row["value"], "other_position": row["position"], "other_op": row["op"]}


def sort_key(row: Row) -> list[tuple[str, Any]]:
    return sorted((key, str(value)) for key, value in row.items())


def within(before: Row, after: Row) -> str:
    return "internal" if before["op"] == after["op"] else "between polls"


def first_of_each(receives: list[Row]) -> list[Row]:
    """Return the first receive of each position and value."""
    first: dict[tuple[int | None, int], Row] = {}
    for row in receives:
        first.setdefault((row["position"], row["value"]), row)
    return list(first.values())
