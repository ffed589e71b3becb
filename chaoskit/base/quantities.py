"""Durations and sizes with units: `8s`, `250ms`, `2d`, `512MiB`.

Durations are stored as integer nanoseconds, sizes as integer bytes. A number without a unit is
rejected as ambiguous.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator, Field, PlainSerializer

MICROSECOND = 1_000
MILLISECOND = 1_000 * MICROSECOND
SECOND = 1_000 * MILLISECOND
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

_DURATION_UNITS = {"us": 1_000, "ms": MILLISECOND, "s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY}
_SIZE_UNITS = {
    "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30,
}  # fmt: skip
_CLOCK = re.compile(r"(\d+):([0-5]\d)")
_QUANTITY = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")


def _parse(text: object, units: dict[str, int], what: str, example: str) -> int:
    match = _QUANTITY.fullmatch(text) if isinstance(text, str) else None
    if match is None or match[2] not in units:
        known = ", ".join(units)
        raise ValueError(f"{text!r} is not a {what}; write a number and a unit ({known}), such as {example}")
    return round(float(match[1]) * units[match[2]])


def parse_duration(text: object) -> int:
    """Return nanoseconds.

    >>> parse_duration("1.5s")
    1500000000

    Raises:
        ValueError: the text is not a number with a unit.
    """
    if isinstance(text, str) and (clock := _CLOCK.fullmatch(text.strip())):
        seconds = 60 * int(clock[1]) + int(clock[2])
        raise ValueError(
            f"{text!r} is not a duration: it may be minutes and seconds or hours and minutes, and YAML 1.1 reads it as "
            f"the number {seconds}; write {seconds}s or {seconds}m"
        )
    return _parse(text, _DURATION_UNITS, "duration", "8s")


def parse_size(text: object) -> int:
    """Return bytes.

    >>> parse_size("1KiB")
    1024

    Raises:
        ValueError: the text is not a number with a unit.
    """
    return _parse(text, _SIZE_UNITS, "size", "512MiB")


def _format(amount: int, units: dict[str, int]) -> str:
    exact = [(factor, unit) for unit, factor in units.items() if amount % factor == 0]
    factor, unit = max(exact, default=(1, ""))
    return f"{amount // factor}{unit}"


def format_duration(nanoseconds: int) -> str:
    """Return the shortest exact representation, with microsecond resolution.

    >>> format_duration(1_500_000_000)
    '1500ms'
    """
    return _format(round(nanoseconds, -3), _DURATION_UNITS) if nanoseconds else "0s"


def format_size(size: int) -> str:
    """Return the shortest exact representation.

    >>> format_size(512 * 2**20)
    '512MiB'
    """
    return _format(size, _SIZE_UNITS)


def parse_range(given: object) -> tuple[int, int]:
    """Return the lower and upper bound, in ns, of a duration or of a list of two durations.

    >>> parse_range(["2s", "8s"]), parse_range("5s")
    ((2000000000, 8000000000), (5000000000, 5000000000))

    Raises:
        ValueError: it is neither, or the first duration is longer than the second.
    """
    if not isinstance(given, list):
        return (parse_duration(given), parse_duration(given))
    if len(given) != 2:
        raise ValueError(f"{given!r} is neither a duration nor a range; write 8s, or [2s, 8s]")
    low, high = map(parse_duration, given)
    if low > high:
        raise ValueError(f"the range {given!r} is empty; write the shorter duration first")
    return low, high


def format_range(bounds: tuple[int, int]) -> str | list[str]:
    """Return a range as written in a scenario: one duration if both bounds are equal."""
    low, high = map(format_duration, bounds)
    return low if low == high else [low, high]


_Written = Annotated[str, Field(pattern=r"^\s*\d+(\.\d+)?\s*[A-Za-z]+\s*$")]
"""How a quantity looks in a scenario, for editors."""

Duration = Annotated[
    int, BeforeValidator(parse_duration, json_schema_input_type=_Written), PlainSerializer(format_duration)
]
Size = Annotated[int, BeforeValidator(parse_size, json_schema_input_type=_Written), PlainSerializer(format_size)]
SizeOrBytes = Annotated[
    int,
    BeforeValidator(
        lambda given: given if isinstance(given, int) else parse_size(given), json_schema_input_type=int | _Written
    ),
    PlainSerializer(format_size),
]
"""A size with a unit, or a number of bytes."""

DurationRange = Annotated[
    tuple[int, int],
    BeforeValidator(parse_range, json_schema_input_type=_Written | list[_Written]),
    PlainSerializer(format_range),
]
