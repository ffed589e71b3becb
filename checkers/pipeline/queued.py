"""What an application did with the inputs of a queue: who was given each, how it was settled, what was published."""

from __future__ import annotations

import numpy as np

from chaoskit.base.columns import NONE, Flags, Ints
from chaoskit.model.observations.pipeline import ACTS

GIVEN, AUTO_ACK, ACK, NACK, REJECT, PUBLISHED, CONFIRMED = range(len(ACTS))


class QueueRecord:
    """The acts of instances, by input.

    Args:
        size: number of inputs.
        acts: of each act its kind (`act`), `input` (an index), `instance`, `at_ns` and `op`.
        left: of each input, whether the final read found it in its queue.
        returns: of each input, how often it had been returned if its queue drops it at the next time, or 0.

    Attributes:
        left, returns: as given.
        settled: of each input, whether an instance settled it for good: it acknowledged or rejected it, and it was not
            delivered again.
        last: of each input its last delivery or settlement, as a row of what follows; `NONE`: there is none.
        act, input, instance, at_ns, op: of each act, in order of input and time.
    """

    def __init__(self, size: int, acts: dict[str, Ints], left: Flags, returns: Ints) -> None:
        order = np.lexsort((acts["op"], acts["at_ns"], acts["input"]))
        self.act, self.input, self.instance = (acts[name][order] for name in ("act", "input", "instance"))
        self.at_ns, self.op = acts["at_ns"][order], acts["op"][order]
        self.left = left
        self.returns = returns
        self.last: Ints = np.full(size, NONE)
        handling = np.flatnonzero(self.act <= REJECT)
        self.last[self.input[handling]] = handling
        self.settled: Flags = np.isin(self._of_last(self.act), (AUTO_ACK, ACK, REJECT))

    def _of_last(self, column: Ints) -> Ints:
        """Return of each input what a column has of its last delivery or settlement; `NONE`: there is none."""
        values = np.full(self.last.size, NONE)
        known = self.last != NONE
        values[known] = column[self.last[known]]
        return values

    @property
    def done(self) -> Flags:
        """Whether no queue has each input any more because of what an instance did: it settled it, or it returned it
        more often than its queue lets."""
        done: Flags = (self.settled | ((self.returns > 0) & (self.last != NONE))) & ~self.left
        return done

    @property
    def done_ns(self) -> Ints:
        """When each input was settled, or delivered for the last time; `NONE`: it was not."""
        return np.where(self.done, self._of_last(self.at_ns), NONE)

    @property
    def done_op(self) -> Ints:
        """The operation of that; `NONE`: there is none."""
        return np.where(self.done, self._of_last(self.op), NONE)

    def of(self, index: int, *acts: int) -> Ints:
        """Return the rows of an input's acts of some kinds, in order of time."""
        begin, end = np.searchsorted(self.input, (index, index + 1))
        rows: Ints = begin + np.flatnonzero(np.isin(self.act[begin:end], acts))
        return rows
