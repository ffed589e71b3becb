"""What options of plug-ins have in common besides pydantic's own types."""

from __future__ import annotations

from typing import Annotated, Any, Protocol, runtime_checkable

from pydantic import BeforeValidator, Field


def _as_shell(given: Any) -> Any:
    return ["sh", "-c", given] if isinstance(given, str) else given


Command = Annotated[list[str], Field(min_length=1), BeforeValidator(_as_shell)]
"""A command with its arguments; a text is one for the shell."""


@runtime_checkable
class PlacedRoles(Protocol):
    """Optional power of a model of options: it can tell where a key belongs that is not one of its own."""

    @classmethod
    def misplaced(cls, key: str) -> str:
        """Return the remedy for an unknown key; empty to have the nearest known one named."""
        ...
