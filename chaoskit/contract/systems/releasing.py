"""Releases of a system: the newest one that can be had, and those that chaoskit was tested with."""

from __future__ import annotations

from datetime import date
from typing import NamedTuple, Protocol, runtime_checkable

LATEST = "latest"
"""What `cluster.version` says for the newest release."""


class Tested(NamedTuple):
    """The releases that chaoskit was tested with.

    Attributes:
        oldest, newest: the first and the last one.
        on: when the whole suite was last run on the default.
    """

    oldest: str
    newest: str
    on: date

    def __str__(self) -> str:
        both = self.oldest if self.oldest == self.newest else f"{self.oldest} to {self.newest}"
        return f"{both}, {self.on}"


@runtime_checkable
class Releasing(Protocol):
    """Optional power of a system: `cluster.version` names one of its releases.

    Attributes:
        tested: the releases that chaoskit was tested with.
    """

    @property
    def tested(self) -> Tested: ...

    def newest(self) -> str:
        """Return the newest stable release that can be had here; it may be downloaded.

        Raises:
            BadInput: the registry does not answer, or has none that can be downloaded.
        """
        ...
