"""Durations and sizes carry units, and are written back in the shortest exact way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoskit.base.quantities import format_duration, format_size, parse_duration, parse_size


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("7us", 7_000),
        ("250ms", 250_000_000),
        ("8s", 8_000_000_000),
        ("1.5s", 1_500_000_000),
        (" 2 m ", 120_000_000_000),
        ("1h", 3_600_000_000_000),
        ("0s", 0),
    ],
)
def test_a_duration_is_a_number_and_a_unit(text: str, nanoseconds: int) -> None:
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "size"),
    [("64B", 64), ("2kB", 2_000), ("1KiB", 1_024), ("3MB", 3_000_000), ("1.5GiB", 1_610_612_736)],
)
def test_a_size_is_a_number_and_a_unit(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", [8, 8.5, None, True, "8", "s", "", "-1s", "8 sec", "8S", "1s 2s", "1,5s"])
def test_what_is_not_a_duration_is_refused_with_an_example(text: object) -> None:
    with pytest.raises(ValueError, match=r"is not a duration; write a number and a unit .* such as 8s"):
        parse_duration(text)


@pytest.mark.parametrize("text", [512, "512", "512mb", "1 byte", "8s"])
def test_what_is_not_a_size_is_refused_with_an_example(text: object) -> None:
    with pytest.raises(ValueError, match=r"is not a size; .* such as 512MiB"):
        parse_size(text)


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [(0, "0s"), (1_500_000_000, "1500ms"), (60_000_000_000, "1m"), (90_000_000_000, "90s"), (1_234_567, "1235us")],
)
def test_a_duration_is_written_in_its_largest_exact_unit(nanoseconds: int, text: str) -> None:
    assert format_duration(nanoseconds) == text


@given(st.integers(0, 10**12))
def test_durations_of_whole_microseconds_come_back(microseconds: int) -> None:
    assert parse_duration(format_duration(microseconds * 1000)) == microseconds * 1000


@given(st.integers(0, 2**45))
def test_sizes_come_back(size: int) -> None:
    assert parse_size(format_size(size)) == size
