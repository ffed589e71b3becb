"""When payloads were found in writes, and when a file had them for good."""

from __future__ import annotations

from array import array
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from chaoskit.base.latency import Ints
from chaoskit.contract.hosts.recorded_disk import NEVER

_BATCH = 2**20
"""Number of payloads that are noted before the first of each message is kept, and the others are forgotten."""

_NOBODY = -1
"""In place of a value whose payload was overwritten before it was stable."""


@dataclass(frozen=True, slots=True)
class _Write:
    """A write with payloads.

    Attributes:
        number: its number among those.
        first, end: its values are numbers [first, end) of all that were noted.
    """

    number: int
    first: int
    end: int


class Finds:
    """The values that were found in writes. A value becomes stable by the flush after the file system's journal has
    committed what was written: before, no file need have the block. A write in place needs no commit."""

    def __init__(self) -> None:
        self._settled = np.empty((3, 0), np.int64)
        self._values = array("q")
        self._counts = array("q")
        self._written_ns = array("q")
        self._stable_ns = array("q")
        self._fresh: list[_Write] = []
        self._in_place: list[_Write] = []
        self._logged: list[_Write] = []
        self._committed: list[_Write] = []
        self._journal_writes = self._journal_ends = False
        self.overwritten = 0

    def written(self, values: bytes, at_ns: int, *, in_place: bool) -> None:
        """Note values that were written at a time, which is not before that of others noted.

        Args:
            values: numbers of 8 bytes.
            at_ns: the time.
            in_place: whether the blocks were on the medium before.
        """
        first = len(self._values)
        self._values.frombytes(values)
        (self._in_place if in_place else self._fresh).append(_Write(len(self._counts), first, len(self._values)))
        self._counts.append(len(self._values) - first)
        self._written_ns.append(at_ns)
        self._stable_ns.append(NEVER)

    def logged(self) -> None:
        """Note that the journal begins to write a transaction."""
        self._logged += self._fresh + self._in_place
        self._fresh, self._in_place = [], []
        self._journal_writes = True

    def committed(self) -> None:
        """Note that the journal wrote the end of its transaction."""
        self._committed += self._logged
        self._logged = []
        self._journal_ends = True

    def flushed(self, at_ns: int) -> None:
        """Note a flush."""
        stable, self._committed = self._committed, []
        if not self._journal_writes:
            stable += self._in_place
            self._in_place = []
        self._journal_writes = self._journal_writes and not self._journal_ends
        self._journal_ends = False
        for write in stable:
            self._stable_ns[write.number] = at_ns
        if len(self._values) >= _BATCH and not self._waiting:
            self.settled()

    def lost(self) -> None:
        """Note that what was not stable is gone, also for those who had read it from the disk."""
        for write in self._waiting:
            self._written_ns[write.number] = NEVER
        self._fresh, self._in_place, self._logged, self._committed = [], [], [], []
        self._journal_writes = self._journal_ends = False

    def gone(self, values: Collection[int]) -> None:
        """Note that payloads of these values were overwritten at one place."""
        self.overwritten += len(values)
        for write in self._waiting:
            for place in range(write.first, write.end):
                if self._values[place] in values:
                    self._values[place] = _NOBODY

    def settled(self) -> Ints:
        """Return the values, in order, when each was first written, and when it was first stable."""
        times_ns = np.repeat(np.array([self._written_ns, self._stable_ns], np.int64), np.array(self._counts), axis=1)
        fresh = np.vstack([np.array(self._values, np.int64), times_ns])
        rows = np.concatenate([self._settled, fresh[:, fresh[0] != _NOBODY]], axis=1)
        values, written_ns, stable_ns = rows[:, np.argsort(rows[0], kind="stable")]
        first = np.flatnonzero(np.diff(values, prepend=values[:1] - 1))
        earliest = [np.minimum.reduceat(times, first) if first.size else times for times in (written_ns, stable_ns)]
        self._settled = np.vstack([values[first], *earliest])
        for noted in (self._values, self._counts, self._written_ns, self._stable_ns):
            del noted[:]
        return self._settled

    @property
    def _waiting(self) -> list[_Write]:
        return self._committed + self._logged + self._fresh + self._in_place
