"""Calls a function for several targets at once, each in its own thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")
Target = TypeVar("Target")


def on_each(targets: Sequence[Target], act: Callable[[Target], Result]) -> list[Result]:
    """Call `act` for all targets in parallel; return the results in order, or raise the first error."""
    with ThreadPoolExecutor(max(1, len(targets))) as pool:
        return list(pool.map(act, targets))
