"""How far a subscription has acknowledged, as a broker's statistics tell."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

Entry = tuple[int, int]
"""Ledger and entry."""

_RANGE = re.compile(r"\((\d+):(-?\d+)\.\.(\d+):(-?\d+)\]")


class Cursor(NamedTuple):
    """How far a subscription has acknowledged.

    Attributes:
        behind: the entry up to which everything is acknowledged.
        alone: what is acknowledged after that: the entry before, and the last one, of each range.
    """

    behind: Entry
    alone: tuple[tuple[Entry, Entry], ...] = ()


def cursor_in(stats: Mapping[str, Any]) -> Cursor:
    """Return how far a subscription has acknowledged, from the internal statistics of its cursor.

    >>> cursor_in({"markDeletePosition": "12:3", "individuallyDeletedMessages": "[(12:4..12:5],(12:7..13:0]]"})
    Cursor(behind=(12, 3), alone=(((12, 4), (12, 5)), ((12, 7), (13, 0))))
    """
    ledger, _, entry = str(stats["markDeletePosition"]).partition(":")
    ranges = _RANGE.findall(str(stats.get("individuallyDeletedMessages", "")))
    alone = (tuple(map(int, numbers)) for numbers in ranges)
    return Cursor((int(ledger), int(entry)), tuple(((a, b), (c, d)) for a, b, c, d in alone))
