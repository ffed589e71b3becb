"""Powers: what some hosts, clusters and clients can do and others cannot, each a protocol of its own.

Nobody asks what class something is of: `host.power(PowerSwitch)` gives the power, typed, or says that it is missing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from chaoskit.base.errors import ChaoskitError

P = TypeVar("P")


class PowerMissing(ChaoskitError):
    """Something was asked for a power that it does not have."""


class Powered(Protocol):
    """What has powers."""

    def power(self, kind: type[P]) -> P:
        """Return what implements a power.

        Raises:
            PowerMissing: nothing does.
        """
        ...


def held(kind: type[P], holders: Iterable[object], owner: str) -> P:
    """Return the first of some objects that implements a power, a protocol that can be checked at run time.

    Raises:
        PowerMissing: none does.
    """
    for holder in holders:
        if isinstance(holder, kind):
            return holder
    raise PowerMissing(f"{owner} does not have {words(kind)}")


def optional(owner: Powered, kind: type[P]) -> P | None:
    """Return what implements a power, or None."""
    try:
        return owner.power(kind)
    except PowerMissing:
        return None


def words(power: type) -> str:
    """Return a power's name and, in the words of its documentation, what it is."""
    text = (power.__doc__ or power.__name__).splitlines()[0].partition(": ")[2].rstrip(".")
    return f"{power.__name__} ({text})" if text else power.__name__
