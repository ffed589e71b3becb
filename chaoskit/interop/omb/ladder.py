"""Looks for the highest rate that a system bears: up until it fails, then between the two, and each end once more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

_FACTOR = 2
_FINE = 1.1
"""The rates of the highest one that was borne and the lowest one that was not differ by less, in the end."""

_LOWEST = 10
_TRIES_MAX = 60


@dataclass(frozen=True, slots=True)
class Bracket:
    """What a search found.

    Attributes:
        borne: the highest rate that was borne twice; 0 if none was.
        failed: the lowest rate above that failed twice; None if none failed.
    """

    borne: int
    failed: int | None


def search(bears: Callable[[int], bool], first: int, highest: int) -> Bracket:
    """Look for the highest rate that is borne.

    A single attempt may be spoilt by chance, in both directions: the rate that is told was borne twice, and the lowest
    one above it failed twice. An attempt that is contradicted counts as what it was the second time.

    Args:
        bears: runs a rate, messages per second, and returns whether it was borne.
        first: the rate to begin with.
        highest: the highest rate to try.
    """
    borne, failed, rate = 0, None, first
    confirmed: set[int] = set()
    for _ in range(_TRIES_MAX):
        if bears(rate):
            borne = rate
            failed = None if failed is not None and failed <= rate else failed
        else:
            failed = rate
            borne = 0 if borne >= rate else borne
        if (following := _next(borne, failed, highest)) is not None:
            rate = following
        elif borne and borne not in confirmed:
            confirmed.add(rate := borne)
        elif failed is not None and failed not in confirmed:
            confirmed.add(rate := failed)
        else:
            break
    return Bracket(borne, failed)


def _next(borne: int, failed: int | None, highest: int) -> int | None:
    """Return the rate to try between two ends; None if they are close enough."""
    if failed is None:
        return min(borne * _FACTOR, highest) if borne < highest else None
    if not borne:
        return failed // _FACTOR if failed > _LOWEST else None
    return round((borne * failed) ** 0.5) if failed > borne * _FINE else None
