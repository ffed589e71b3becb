"""Clocks of hosts: the wall clock that services see, which may be wrong."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class SettableClock(Protocol):
    """Optional power of a host: set the wall clock that its services see."""

    def set_clock(self, offset_ns: int, rate: float = 1.0) -> None:
        """Let the clock be this far ahead of the true one now, and go this fast from now on, until the next boot."""
        ...

    def clock_error_ns(self) -> int:
        """Return how far ahead of the true clock a new process of the system sees its clock now, measured."""
        ...
