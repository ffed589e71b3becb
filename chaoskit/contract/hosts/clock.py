"""Host clocks: the wall clock that services see, which may be wrong."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class SettableClock(Protocol):
    """Optional power of a host: set the wall clock that its services see."""

    def set_clock(self, offset_ns: int, rate: float = 1.0) -> None:
        """Set the clock ahead of true time by `offset_ns`, and let it run at `rate`, until the next boot."""
        ...

    def shows_clock(self, service: str) -> bool:
        """Return whether the running process of a service reads the clock that is set."""
        ...

    def clock_error_ns(self) -> int:
        """Measure how far the clock that a new process of the system sees is ahead of true time."""
        ...
