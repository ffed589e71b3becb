"""Waits: the times from when a send was due, or still open after an acknowledgement, to the next acknowledgement.

Between two acknowledgements a wait begins with the first of them if a send was still open then, otherwise when the
next send was due. So nothing counts while nothing was due since the last acknowledgement. That a send was given up
ends no wait that an acknowledgement ends later, even if nothing was due for a while: otherwise a system that refuses
each send at once would never be unavailable. Cost: a few passes over sorted arrays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chaoskit.base.latency import Flags, Ints


@dataclass(frozen=True, slots=True)
class Wait:
    """One wait; `answered` is whether an acknowledgement ended it."""

    begin_ns: int
    end_ns: int
    answered: bool

    @property
    def lasted_ns(self) -> int:
        """Its duration."""
        return self.end_ns - self.begin_ns


@dataclass(frozen=True, slots=True)
class Waits:
    """Waits in order of time, which do not overlap.

    Attributes:
        begin_ns: when each began.
        end_ns: when it was ended, by an acknowledgement.
        answered: whether an acknowledgement ended the last one; otherwise it lasted until its sends were given up, but
            not beyond the end of the load, and may have no length.
    """

    begin_ns: Ints
    end_ns: Ints
    answered: bool

    def longest(self, first_ns: int, last_ns: int) -> Wait | None:
        """Return the longest wait that overlaps an interval, with its parts outside; None if there is none."""
        first = int(np.searchsorted(self.end_ns, first_ns, side="right"))
        last = int(np.searchsorted(self.begin_ns, last_ns, side="left"))
        if last <= first:
            return None
        return self._at(first + int(np.argmax(self.end_ns[first:last] - self.begin_ns[first:last])))

    def longest_within(self, first_ns: int, last_ns: int) -> Wait | None:
        """Return the longest wait in an interval, without the parts outside; None if there is none."""
        first = int(np.searchsorted(self.end_ns, first_ns, side="right"))
        last = int(np.searchsorted(self.begin_ns, last_ns, side="left"))
        if last <= first:
            return None
        begin_ns = np.maximum(self.begin_ns[first:last], first_ns)
        end_ns = np.minimum(self.end_ns[first:last], last_ns)
        index = int(np.argmax(end_ns - begin_ns))
        return Wait(int(begin_ns[index]), int(end_ns[index]), self._is_answered(first + index))

    def after(self, instant_ns: int, before_ns: int) -> Wait | None:
        """Return the wait from an instant, or from when the next send was due, to the next acknowledgement.

        None if there was no wait at the instant and nothing was due from then until `before_ns`.
        """
        index = int(np.searchsorted(self.end_ns, instant_ns, side="left"))
        if index == self.end_ns.size or self.begin_ns[index] > max(instant_ns, before_ns):
            return None
        return Wait(max(int(self.begin_ns[index]), instant_ns), int(self.end_ns[index]), self._is_answered(index))

    def lasting(self, least_ns: int) -> list[Wait]:
        """Return the waits that lasted at least this long."""
        return [self._at(index) for index in np.flatnonzero(self.end_ns - self.begin_ns >= least_ns).tolist()]

    def _at(self, index: int) -> Wait:
        return Wait(int(self.begin_ns[index]), int(self.end_ns[index]), self._is_answered(index))

    def _is_answered(self, index: int) -> bool:
        return self.answered or index + 1 < self.end_ns.size


def waits(due_ns: Ints, done_ns: Ints, acked_ns: Ints, until_ns: int, load_end_ns: int) -> Waits:
    """Return the waits of some sends.

    Args:
        due_ns: when each send was due, in any order.
        done_ns: when each send was acknowledged or given up, in any order.
        acked_ns: when those that were acknowledged were, in any order.
        until_ns: when the last one that was not acknowledged was given up.
        load_end_ns: the end of the load, after which time without an acknowledgement does not count.
    """
    if not due_ns.size:
        nothing = np.zeros(0, np.int64)
        return Waits(nothing, nothing, answered=True)
    due_ns, done_ns, acked_ns = np.sort(due_ns), np.sort(done_ns), np.sort(acked_ns)
    since_ns = np.concatenate(([due_ns[0] - 1], acked_ns))
    following = np.searchsorted(due_ns, since_ns, side="right")
    is_open = following > np.searchsorted(done_ns, since_ns, side="right")
    never = np.iinfo(np.int64).max
    next_due_ns = np.where(following < due_ns.size, due_ns[np.minimum(following, due_ns.size - 1)], never)
    begin_ns = np.where(is_open, since_ns, next_due_ns)
    end_ns = np.append(acked_ns, until_ns)
    lasted = begin_ns < end_ns
    end_ns[-1] = max(int(begin_ns[-1]), min(until_ns, load_end_ns))
    return Waits(begin_ns[lasted], end_ns[lasted], answered=not lasted[-1])


def first_of_each(value: Ints, at_ns: Ints) -> Flags:
    """Return for each row whether it is the first of its value, by time. Fast if few values occur twice."""
    ordered = np.sort(value)
    again = ordered[1:] == ordered[:-1]
    first = np.ones(value.size, np.bool_)
    if again.any():
        rows = np.flatnonzero(are_in(value, ordered[1:][again]))
        rows = rows[np.lexsort((at_ns[rows], value[rows]))]
        first[rows[1:][value[rows][1:] == value[rows][:-1]]] = False
    return first


def are_in(value: Ints, ordered: Ints) -> Flags:
    """Return for each value whether it is in a sorted array; with many of both, faster than `numpy.isin`."""
    if not ordered.size:
        return np.zeros(value.size, np.bool_)
    at = np.minimum(np.searchsorted(ordered, value), ordered.size - 1)
    present: Flags = ordered[at] == value
    return present
