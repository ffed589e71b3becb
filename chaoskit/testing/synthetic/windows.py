"""Places in a correct history where an anomaly can be injected: sections in which nothing else happens."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from chaoskit.base.errors import BadInput
from chaoskit.testing.synthetic.consumption import Consumption
from chaoskit.testing.synthetic.edits import EditedOutcome, Edits
from chaoskit.testing.synthetic.randomness import Ints
from chaoskit.testing.synthetic.sends import INFO, OK, WINDOW_SENDS, SyntheticSender

_WIDE = 256
_TRIES = 300
_SETTLED, _CALM_END = 0.1, 0.75
"""Windows are searched between these fractions of a run."""


class QuietSection:
    """Consecutive sends of one partition, all acknowledged and stored.

    Methods take indices of its sends.
    """

    def __init__(self, index: int, first: int, size: int, sender: SyntheticSender, edits: Edits) -> None:
        slots = sender.window_slots(index)
        self.index, self.edits, self.sender = index, edits, sender
        self.slot = first
        self.sends = sender.sends(first, first + slots, sender.places(index))
        self.size: int = min(self.sends.op.size, size)
        self.key: Ints = sender.keys(index, self.sends.op)
        self.producer: Ints = (self.sends.value >> 40)[: self.size]
        self.calm: bool = bool(np.all((self.sends.outcome == OK)[: self.size]))

    def op(self, at: int) -> int:
        return int(self.sends.op[at])

    def value(self, at: int) -> int:
        return int(self.sends.value[at])

    def number(self, at: int) -> int:
        return int(self.sends.number[at])

    def content(self, at: int) -> tuple[int, int, int, int]:
        """Return what a send wrote to the log."""
        sends = self.sends
        return int(sends.value[at]), int(sends.intended_ns[at]), int(sends.start_ns[at]), int(self.key[at])

    def flag(self, at: int, flags: int) -> None:
        """Set effects on a stored message."""
        known = self.edits.of(self.index).flags
        known[self.number(at)] = known.get(self.number(at), 0) | flags

    def put(self, at: int, content: tuple[int, int, int, int]) -> None:
        """Replace the message at a send's position."""
        self.edits.of(self.index).content[self.number(at)] = content

    def end(self, at: int, outcome: int, error: str | None = None) -> None:
        """Change the outcome of a send."""
        ended = EditedOutcome(outcome, error)
        self.edits.of(self.index).outcomes[self.number(at)] = ended
        self.edits.operations[self.op(at)] = ended

    def replace(self, at: int, content: tuple[int, int, int, int]) -> None:
        """Replace the message at a send's position; the outcome of the send is then unknown."""
        self.end(at, INFO, "_MSG_TIMED_OUT")
        self.put(at, content)

    def drop(self, at: int) -> None:
        """Remove a send from the log."""
        self.edits.of(self.index).stored[self.number(at)] = False

    def exchange(self, one: int, other: int) -> None:
        """Swap the positions of two sends, also in their acknowledgements."""
        edits = self.edits.of(self.index)
        self.put(one, self.content(other))
        self.put(other, self.content(one))
        edits.acked_as[self.number(one)] = self.number(other)
        edits.acked_as[self.number(other)] = self.number(one)

    def expect(self, anomaly: str, cause: str, *, value: int | None = None, op: int | None = None,
               at: int | None = None) -> None:  # fmt: skip
        """Add to the ground truth; `at` is the send at whose position the anomaly is."""
        row = {"anomaly": anomaly, "cause": cause, "value": value, "op": op, "index": self.index}
        if at is not None:
            row["at"] = self.number(at)
            self.edits.of(self.index).wanted.add(self.number(at))
        self.edits.truth.append(row)


class Windows:
    """Hands out windows, each once.

    Args:
        sender: sends of the run.
        consumption: consumers of the run.
        edits: existing deviations.
    """

    def __init__(self, sender: SyntheticSender, consumption: Consumption, edits: Edits) -> None:
        self.sender, self.consumption, self.edits = sender, consumption, edits
        layout = sender.layout
        self.layout = layout
        self.rng = np.random.default_rng([layout.parameters.seed, 3])
        self._busy = np.zeros(layout.slots, np.bool_)
        for fault in layout.faults:
            self.avoid(fault.start_ns, fault.healed_ns)
        self._used: set[tuple[int, int]] = set()
        self._tails: set[int] = set()
        self._sizes = np.array([sender.places(index).size for index in range(layout.parameters.places)])

    def avoid(self, begin_ns: int, end_ns: int) -> None:
        """Exclude windows in this interval."""
        edges = np.searchsorted(self.layout.begin_ns(np.arange(self.layout.slots)), [begin_ns, end_ns])
        self._busy[max(0, int(edges[0]) - 2) : int(edges[1]) + 2] = True

    def take(self, cause: str, other_than: int | None = None) -> QuietSection:
        """Return an unused window.

        Args:
            cause: cause, for the error message.
            other_than: a partition to exclude.

        Raises:
            BadInput: there is none.
        """
        for index, first, size in self._candidates():
            if index == other_than or (index, first) in self._used or not self._free(index, first):
                continue
            window = QuietSection(index, first, size, self.sender, self.edits)
            if window.calm:
                self._used.add((index, first))
                return window
        raise self.refuse(cause, "no unused section of a partition is left")

    def refuse(self, cause: str, why: str) -> BadInput:
        """Return the error that an injection is not possible."""
        return BadInput(f"--inject {cause}: {why}; inject fewer, or use more --messages, --partitions or --consumers")

    def tail(self, cause: str, size: int) -> tuple[QuietSection, list[int]]:
        """Return the last slots of a partition with an unused end, and its last stored sends."""
        order = self.rng.permutation(np.flatnonzero(self._sizes))
        for index in (int(number) for number in order):
            if index in self._tails or self.edits.of(index).silent_from is not None:
                continue
            slots = min(self.layout.slots, 2 * self.sender.window_slots(index))
            window = QuietSection(index, self.layout.slots - slots, _WIDE, self.sender, self.edits)
            window.sends = self.sender.sends(self.layout.slots - slots, self.layout.slots, self.sender.places(index))
            stored = np.flatnonzero(window.sends.stored)[-size:].tolist()
            if len(stored) == size:
                self._tails.add(index)
                return window, stored
        raise self.refuse(cause, "too few partitions have enough messages; each can be used once")

    def slots(self, cause: str) -> int:
        """Return a slot in the calm part of the run.

        Raises:
            BadInput: there is none.
        """
        calm = np.flatnonzero(~self._busy)
        calm = calm[(calm >= _SETTLED * self.layout.slots + 2) & (calm < _CALM_END * self.layout.slots)]
        if not calm.size:
            raise self.refuse(cause, "no unused time is left")
        return int(self.rng.choice(calm))

    def _candidates(self) -> Iterator[tuple[int, int, int]]:
        share = self._sizes / self._sizes.sum()
        for trial in range(3 * _TRIES):
            index = int(self.rng.choice(share.size, p=share if trial < _TRIES else None))
            slots = self.sender.window_slots(index)
            lowest = -(-int(_SETTLED * self.layout.slots) // slots)
            highest = int(_CALM_END * self.layout.slots) // slots
            if self._sizes[index] and highest > lowest:
                first = int(self.rng.integers(lowest, highest)) * slots
                yield index, first, _WIDE if trial < _TRIES else WINDOW_SENDS

    def _free(self, index: int, first: int) -> bool:
        last = first + self.sender.window_slots(index)
        silent = self.edits.of(index).silent_from
        if self._busy[first:last].any() or (silent is not None and last + 2 > silent):
            return False
        resumes = [resume for reader in self.consumption.readers[index] for resume in reader.resumes]
        return not any(reached - 2 <= last and first - 2 <= slot for slot, reached in resumes)
