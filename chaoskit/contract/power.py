"""Powers: optional capabilities of hosts, clusters and clients. Each is a separate protocol.

Use `host.power(PowerSwitch)` instead of `isinstance`: it returns the typed power, or raises if it is missing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from chaoskit.base.errors import ChaoskitError

P = TypeVar("P")


class PowerMissing(ChaoskitError):
    """The object does not have the requested power."""


class Powered(Protocol):
    """An object with powers."""

    def power(self, kind: type[P]) -> P:
        """Return the implementation of a power.

        Raises:
            PowerMissing: there is none.
        """
        ...


def held(kind: type[P], holders: Iterable[object], owner: str) -> P:
    """Return the first object that implements a power (a runtime-checkable protocol).

    Raises:
        PowerMissing: none of them does.
    """
    for holder in holders:
        if isinstance(holder, kind):
            return holder
    raise PowerMissing(f"{owner} does not have {words(kind)}")


def optional(owner: Powered, kind: type[P]) -> P | None:
    """Return the implementation of a power, or None."""
    try:
        return owner.power(kind)
    except PowerMissing:
        return None


def words(power: type) -> str:
    """Return a power's name with the description from its docstring."""
    text = (power.__doc__ or power.__name__).splitlines()[0].partition(": ")[2].rstrip(".")
    return f"{power.__name__} ({text})" if text else power.__name__
