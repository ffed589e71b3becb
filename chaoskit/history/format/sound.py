"""What every table of a history must hold, however it was damaged: Parquet files have no checksum of their footers."""

from __future__ import annotations

import json
import re

import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base import parquet
from chaoskit.model.message import DIRECTIONS, PAYLOADS
from chaoskit.model.outcome import OUTCOMES

_WORDS = {"direction": DIRECTIONS, "outcome": OUTCOMES, "payload": PAYLOADS}
_WORD = re.compile(r"[\w?:.-]+")
_TIME_MAX_NS = 2**60
"""36 years: sums and differences of times that are shorter do not overflow."""


def sound(table: pa.Table) -> pa.Table:
    """Return a table of a history, or some of its columns, if its values are possible.

    Raises:
        ValueError: they are not.
    """
    parquet.sound(table)
    for name in table.column_names:
        column = table[name]
        if name in _WORDS:
            _known(column, name, _WORDS[name])
        elif name == "kind":
            _worded(column)
        elif name.endswith("_ns"):
            _within(column, name, -_TIME_MAX_NS, _TIME_MAX_NS)
        elif name == "op":
            _within(column, name, 0, _TIME_MAX_NS)
    return table


def faults_sound(table: pa.Table) -> pa.Table:
    """Return a table of faults, if its values are possible; see `sound`."""
    for row in sound(table).select(["parameters", "targets"]).to_pylist():
        if not isinstance(json.loads(row["parameters"]), dict) or None in row["targets"]:
            raise ValueError("parameters or targets of a fault are damaged")
    return table


def all_equal(table: pa.Table, **values: str | int) -> None:
    """Examine whether some columns of a table have one value each.

    Raises:
        ValueError: one has another.
    """
    for name, value in values.items():
        if [one for one in pc.unique(table[name]).to_pylist() if one != value]:
            raise ValueError(f"{name} is not {value} in all of its rows")


def _known(column: pa.ChunkedArray, name: str, words: tuple[str, ...]) -> None:
    if strange := set(pc.unique(column).to_pylist()) - set(words):
        raise ValueError(f"{name} is {min(strange, key=str)!r}, but must be one of {', '.join(words)}")


def _worded(column: pa.ChunkedArray) -> None:
    if strange := [word for word in pc.unique(column).to_pylist() if not word or not _WORD.fullmatch(word)]:
        raise ValueError(f"kind is {strange[0]!r}, which is no word")


def _within(column: pa.ChunkedArray, name: str, low: int, high: int) -> None:
    extremes = pc.min_max(column).as_py()
    if extremes["min"] is not None and not low <= extremes["min"] <= extremes["max"] <= high:
        raise ValueError(f"{name} is from {extremes['min']} to {extremes['max']}, which is impossible")
