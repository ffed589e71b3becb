"""Options shared by several workloads."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PlainSerializer

from chaoskit.base.quantities import format_size, parse_size
from chaoskit.history import payload

MessageSize = Annotated[
    int,
    BeforeValidator(lambda given: given if isinstance(given, int) else parse_size(given)),
    PlainSerializer(format_size),
    Field(ge=payload.SIZE_MIN, le=2**30),
]
"""Size of each payload."""


def _rate(given: object) -> object:
    if given == "max" or (isinstance(given, int) and not isinstance(given, bool) and given >= 1):
        return given
    raise ValueError("write a number of sends per second, such as 2000, or max")


Rate = Annotated[int | Literal["max"], BeforeValidator(_rate)]
"""Sends per second of all producers together, or the maximum."""


def per_second(rate: int | str) -> int | None:
    """Return the number of sends per second; None at the maximum rate."""
    return None if isinstance(rate, str) else rate
