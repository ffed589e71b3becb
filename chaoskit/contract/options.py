"""What the options of a plug-in may offer besides their fields."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class Placing(Protocol):
    """Optional power of a model of options: it can tell where a key belongs that is not one of its own."""

    @classmethod
    def misplaced(cls, key: str) -> str:
        """Return the remedy for an unknown key; empty to have the nearest known one named."""
        ...
