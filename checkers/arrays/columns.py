"""The array idioms that all checks use."""

from __future__ import annotations

import numpy as np

from chaoskit.base.columns import NONE, Flags, Ints

NEVER_NS = np.iinfo(np.int64).max
"""The time of what never happened, later than all others."""


def is_sorted(numbers: Ints) -> bool:
    """Return whether the numbers are in ascending order; equal numbers are allowed."""
    return bool(np.all(numbers[1:] >= numbers[:-1]))


def stable_order(numbers: Ints) -> Ints:
    """Return the row numbers in ascending order of `numbers`; the sort is stable.

    Radix sort with 16-bit digits, the widest for which numpy's stable sort is linear.
    """
    if is_sorted(numbers):
        return np.arange(numbers.size)
    shifted = numbers.astype(np.int64) - int(numbers.min())
    order = np.argsort(shifted.astype(np.uint16), kind="stable")
    for shift in range(16, int(shifted.max()).bit_length(), 16):
        digit = (shifted >> shift).astype(np.uint16)
        order = order[np.argsort(digit[order], kind="stable")]
    return order


def marked(size: int, indices: Ints) -> Flags:
    """Return `size` flags, set at the indices."""
    flags = np.zeros(size, np.bool_)
    flags[indices] = True
    return flags


def first_rows(size: int, indices: Ints) -> Ints:
    """Return for each of `size` indices the first row with that index, or `NONE`."""
    rows: Ints = np.full(size, NONE, np.int32 if indices.size < 2**31 else np.int64)
    # If an element is assigned several times, numpy keeps the last value; hence backwards.
    rows[indices[::-1]] = np.arange(indices.size - 1, -1, -1)
    return rows


def changes(*keys: Ints) -> Flags:
    """Return for each row whether any key differs from the previous row; true for the first row."""
    changed = np.ones(keys[0].size, np.bool_)
    changed[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    return changed


def distinct(*keys: Ints) -> Ints:
    """Return the first row of each distinct combination of keys, in the order of the keys."""
    order = np.lexsort(keys[::-1])
    chosen: Ints = order[changes(*(key[order] for key in keys))]
    return chosen


def run_starts(*keys: Ints) -> Ints:
    """Return for each row the first row of its run of equal keys."""
    return np.maximum.accumulate(np.where(changes(*keys), np.arange(keys[0].size), 0))


def running_maximum(group: Ints, number: Ints, size: int) -> tuple[Ints, Ints]:
    """Return each row's rank, and the highest rank up to it; ranks compare by group, then number.

    Args:
        group: in ascending order, so that each group starts below its own rows and above all earlier groups.
        number: from 0 to less than `size`.
        size: greater than any number.
    """
    rank = np.cumsum(changes(group)) * size + number
    return rank, np.maximum.accumulate(rank)
