"""Random numbers derived only from a seed and an operation's number, so that any part of a history can be
computed without the preceding parts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Ints = NDArray[np.signedinteger[Any]]
Bits = NDArray[np.uint64]
Flags = NDArray[np.bool_]

_TABLE_BITS = 14
_GOLDEN = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1


def bits_of(seed: int, number: Ints) -> Bits:
    """Return 64 random bits for each number (splitmix64)."""
    mixed = number.astype(np.uint64)
    mixed *= np.uint64(_GOLDEN)
    mixed += np.uint64((seed * 0xD1342543DE82EF95 + _GOLDEN) & _MASK)
    mixed ^= mixed >> np.uint64(30)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed


def field(bits: Bits, shift: int, width: int) -> Ints:
    """Return `width` bits, from bit `shift` on, as numbers."""
    return ((bits >> np.uint64(shift)) & np.uint64(2**width - 1)).astype(np.int64)


class Lognormal:
    """Durations in ns, drawn from a table of quantiles.

    Args:
        median_ns: median.
        sigma: standard deviation of the logarithm.
    """

    bits = _TABLE_BITS

    def __init__(self, median_ns: int, sigma: float) -> None:
        quantile = (np.arange(2**_TABLE_BITS) + 0.5) / 2**_TABLE_BITS
        self._table: Ints = np.exp(math.log(median_ns) + sigma * ndtri(quantile)).astype(np.int64)
        self.longest_ns: int = int(self._table[-1])

    def draw(self, uniform: Ints) -> Ints:
        """Return a duration for each number below 2**bits."""
        return self._table[uniform]
