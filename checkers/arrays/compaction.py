"""Which messages may be gone from a compacted log, and since when.

A message may be gone once a *later* one of its key stands for it, and a deletion once its retention is over; nothing
may before the compaction lag is over. One message is later than another if it was sent after the other had been
stored, or has a higher position; of a message that was stored twice the highest one counts. It was stored by the time
at which it was acknowledged or received. A position counts for nothing if its message had been stored before another
one of its key, with a lower position, was sent: then the log was cut off below it, and goes on there.

Cost: sorts of n messages; only of logs that are compacted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chaoskit.base.columns import NONE, Flags, Ints
from chaoskit.model.compaction import Compaction
from checkers.arrays.columns import NEVER_NS, changes, run_starts


@dataclass(frozen=True, slots=True)
class Keyed:
    """The messages of a compacted log, by value id.

    Attributes:
        compaction: how it is compacted.
        key: number of the key of each value, 0 if it has none or was not sent.
        start_ns: when its first send began.
        done_ns: when it was first acknowledged or received, `NEVER_NS` if it was not.
        place: id of its highest position, `NONE` if it is not known or counts for nothing.
        deletes: whether it deletes its key.
    """

    compaction: Compaction
    key: Ints
    start_ns: Ints
    done_ns: Ints
    place: Ints
    deletes: Flags

    def __post_init__(self) -> None:
        self.place[self._cut_off()] = NONE

    @property
    def expires_ns(self) -> Ints:
        """From when on each deletion may be gone because it was kept for long enough; `NEVER_NS` for others."""
        return np.where(self.deletes, _plus(self.start_ns, self.compaction.retention_ns), NEVER_NS)

    @property
    def lag_over_ns(self) -> Ints:
        """From when on each message is old enough to be gone."""
        return _plus(self.start_ns, self.compaction.lag_ns)

    def removable_ns(self, standing: Flags) -> Ints:
        """Return from when on each message may be gone, by value id, `NEVER_NS` if it may not.

        Args:
            standing: which messages stand for earlier ones, by value id.
        """
        return self.lawful_ns(self.replaced_ns(standing))

    def lawful_ns(self, replaced_ns: Ints) -> Ints:
        """Return the same, given when a message was sent that stands for each one."""
        gone_ns = np.minimum(replaced_ns, self.expires_ns)
        lawful_ns = np.maximum(gone_ns, self.lag_over_ns)
        return np.where(self.key > 0, lawful_ns, NEVER_NS)

    def replaced_ns(self, standing: Flags) -> Ints:
        """Return when the first standing message that is later than each one was sent, by value id."""
        return np.minimum(self._higher_ns(standing), self._afterwards_ns(standing))

    def later(self, one: Ints, other: Ints) -> Flags:
        """Return for pairs of messages of one key (value ids) whether the first is later than the second."""
        above = (self.place[one] > self.place[other]) & (self.place[other] != NONE)
        afterwards: Flags = above | (self.start_ns[one] > self.done_ns[other])
        return afterwards

    def _cut_off(self) -> Ints:
        """Return the messages whose positions count for nothing."""
        ids = self._placed()
        below_ns = self._beyond(ids, self.start_ns[ids], np.maximum, 0)
        cut: Ints = ids[below_ns > self.done_ns[ids]]
        return cut

    def _placed(self) -> Ints:
        """Return the messages with keys and positions, by key and position."""
        ids = np.flatnonzero((self.key > 0) & (self.place != NONE))
        return ids[np.lexsort((self.place[ids], self.key[ids]))]

    def _beyond(self, ids: Ints, numbers: Ints, extreme: np.ufunc, none: int) -> Ints:
        """Return for each message the minimum or maximum number of those of its key with other positions that stand
        before it in `ids`, or `none`."""
        first = changes(self.key[ids])
        reached = _running(numbers, first, extreme)
        start = run_starts(self.key[ids], self.place[ids])
        return np.where(first[start], none, reached[start - 1])

    def _higher_ns(self, standing: Flags) -> Ints:
        """Return when the first standing message of the same key with a higher position was sent."""
        ids = self._placed()[::-1]
        sent_ns = np.where(standing[ids], self.start_ns[ids], NEVER_NS)
        higher_ns = np.full(self.key.size, NEVER_NS)
        higher_ns[ids] = self._beyond(ids, sent_ns, np.minimum, NEVER_NS)
        return higher_ns

    def _afterwards_ns(self, standing: Flags) -> Ints:
        """Return when the first standing message of the same key that began after this one was stored was sent."""
        done, began = np.flatnonzero(self.done_ns != NEVER_NS), np.flatnonzero(standing & (self.key > 0))
        at_ns = np.concatenate([self.done_ns[done], self.start_ns[began]])
        key = np.concatenate([self.key[done], self.key[began]])
        begins = np.arange(key.size) >= done.size
        # Backwards in time; of those at one time a begin comes first, since it is not after the end.
        order = np.lexsort((~begins, at_ns, key))[::-1]
        sent_ns = np.where(begins, at_ns, NEVER_NS)[order]
        next_ns = _running(sent_ns, changes(key[order]), np.minimum)
        afterwards_ns = np.full(self.key.size, NEVER_NS)
        ends = ~begins[order]
        afterwards_ns[done[order[ends]]] = next_ns[ends]
        return afterwards_ns


def _plus(at_ns: Ints, more_ns: int) -> Ints:
    """Return later times, at most `NEVER_NS`."""
    return at_ns + np.minimum(NEVER_NS - at_ns, more_ns)


def _running(numbers: Ints, first: Flags, extreme: np.ufunc) -> Ints:
    """Return the running minimum or maximum of each group, whose first rows are marked."""
    if not numbers.size:
        return numbers
    ranks = np.argsort(np.argsort(numbers, kind="stable"), kind="stable")
    group, size = np.cumsum(first) - 1, numbers.size
    offset = group * size if extreme is np.maximum else -group * size
    reached: Ints = extreme.accumulate(ranks + offset) - offset
    ordered: Ints = np.sort(numbers, kind="stable")[reached]
    return ordered
