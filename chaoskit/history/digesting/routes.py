"""The routes that a producer's messages take in turn, and the place of each message among those of its route."""

from __future__ import annotations

from chaoskit.history.format.intervals import Ints
from chaoskit.model.message import PRODUCER_SHIFT

_SEQUENCE = (1 << PRODUCER_SHIFT) - 1


class Routes:
    """Turns values into places, and back. The last sequences that a value has room for, fewer than `count`, have none.

    Args:
        count: number of routes that a producer's messages take in turn.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._each = (1 << PRODUCER_SHIFT) // count

    def of(self, values: Ints) -> Ints:
        """Return the number of each value's route."""
        routes: Ints = (values & _SEQUENCE) % self._count
        return routes

    def numbers(self, values: Ints) -> Ints:
        """Return a number of each value's producer and route."""
        numbers: Ints = (values >> PRODUCER_SHIFT) * self._count + self.of(values)
        return numbers

    def first(self, numbers: Ints) -> Ints:
        """Return the first value of each producer and route with these numbers."""
        first: Ints = ((numbers // self._count) << PRODUCER_SHIFT) + numbers % self._count
        return first

    def places(self, values: Ints) -> Ints:
        """Return the place of each value."""
        sequence = values & _SEQUENCE
        places: Ints = (values - sequence) + self.of(values) * self._each + sequence // self._count
        return places

    def values(self, places: Ints) -> Ints:
        """Return the value at each place."""
        within = places & _SEQUENCE
        values: Ints = (places - within) + (within % self._each) * self._count + within // self._each
        return values
