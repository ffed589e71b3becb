"""Which consumer reads which partition when, and the control operations for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chaoskit.testing.synthetic.layout import Layout
from chaoskit.testing.synthetic.randomness import Ints

GROUP = "group-0"
BACK_MAX = 8
"""Maximum number of slots that a consumer falls back when it resumes."""

COMMIT_EVERY = 4


@dataclass(frozen=True, slots=True)
class ControlRows:
    """A control operation: slot and place in it, client and operation."""

    slot: int
    number: int
    consumer: int
    process: int
    f: str
    error: str | None = None


@dataclass(slots=True)
class Mark:
    """A row `committed` or `assigned` of a partition.

    Attributes:
        control: the operation, by slot and number in the slot.
        after: for `committed`: the slot after whose polls the consumer was at the position.
        shift: offset added to that position.
    """

    control: tuple[int, int]
    direction: str
    generation: int
    after: int = -1
    shift: int = 0


@dataclass(slots=True)
class SyntheticReader:
    """One complete reading of a partition from beginning to end.

    Attributes:
        consumers: the consumer that reads in each slot; -1 if none.
        resumes: (slot, slot after whose polls it was at the resumed position): where a reader starts over.
    """

    consumers: Ints
    resumes: list[tuple[int, int]] = field(default_factory=list)


class Consumption:
    """The activity of all consumers.

    Attributes:
        controls: control operations in order.
        readers: readers of each partition.
        marks: marks of each partition, in order of operation.
    """

    def __init__(self, layout: Layout) -> None:
        parameters = layout.parameters
        self.layout = layout
        self.controls: list[ControlRows] = []
        self.marks: list[list[Mark]] = [[] for _ in range(parameters.places)]
        self._counts = np.zeros(layout.slots, np.int64)
        self._births: list[list[int]] = [[0] for _ in range(parameters.consumers)]
        self._processes = [[parameters.producers + consumer] for consumer in range(parameters.consumers)]
        self._next_process = parameters.producers + parameters.consumers + 1
        rng = np.random.default_rng([parameters.seed, 2])
        if parameters.mode == "group":
            self.readers: list[list[SyntheticReader]] = self._grouped(rng)
        else:
            self.readers = self._assigned(rng)
        layout.set_controls(self._counts)

    @property
    def auditor(self) -> int:
        """Process of the final read."""
        return self.layout.parameters.producers + self.layout.parameters.consumers

    def process(self, consumer: int, slots: Ints) -> Ints:
        """Return the process number of a consumer's polls in slots."""
        era = np.searchsorted(self._births[consumer], slots, side="right") - 1
        return np.asarray(self._processes[consumer])[era]

    def lasts(self, control: ControlRows) -> bool:
        """Return whether the process of a control closes at the end without crashing before."""
        return control.process == self._processes[control.consumer][-1]

    def _events(self, rng: np.random.Generator) -> list[int]:
        """Return the slots before which consumers crash or the group rebalances, with a commit between any two."""
        calm = 2 if "stuck" in self.layout.parameters.inject else 1  # a stuck consumer must stay stuck for long
        span = range(2, max(2, self.layout.slots // calm - BACK_MAX), BACK_MAX)
        count = min(self.layout.parameters.crashes, len(span) // 2)
        if not count:
            return []
        chosen = rng.choice(span, size=count, replace=False) + rng.integers(0, BACK_MAX - COMMIT_EVERY, size=count)
        return sorted(int(slot) for slot in chosen)

    def _add(self, slot: int, consumer: int, f: str, error: str | None = None) -> tuple[int, int]:
        number = int(self._counts[slot])
        self._counts[slot] += 1
        self.controls.append(ControlRows(slot, number, consumer, self._processes[consumer][-1], f, error))
        return slot, number

    def _restart(self, slot: int, consumer: int) -> None:
        self._births[consumer].append(slot)
        self._processes[consumer].append(self._next_process)
        self._next_process += 1

    def _assigned(self, rng: np.random.Generator) -> list[list[SyntheticReader]]:
        parameters, slots = self.layout.parameters, self.layout.slots
        consumers, places = parameters.consumers, parameters.places
        crashes = [(slot, int(rng.integers(consumers)), int(rng.integers(1, 4))) for slot in self._events(rng)]
        for consumer in range(consumers):
            self._add(0, consumer, "assign")
        for slot, consumer, _ in crashes:
            self._restart(slot, consumer)
            self._add(slot, consumer, "assign")
        return [
            [
                SyntheticReader(
                    np.full(slots, consumer),
                    [(slot, max(-1, slot - 1 - back)) for slot, crashed, back in crashes if crashed == consumer],
                )
                for consumer in (range(place, consumers, places) if consumers > places else [place % consumers])
            ]
            for place in range(places)
        ]

    def _grouped(self, rng: np.random.Generator) -> list[list[SyntheticReader]]:
        parameters, slots = self.layout.parameters, self.layout.slots
        rebalances = {slot: int(rng.integers(-1, parameters.consumers)) for slot in self._events(rng)}
        owner = np.arange(parameters.places) % parameters.consumers
        readers = [[SyntheticReader(np.full(slots, consumer))] for consumer in owner]
        committed = np.full(parameters.places, -1)
        generation = 1
        for consumer in range(parameters.consumers):
            self._add(0, consumer, "subscribe")
        self._assign_all(0, owner, generation)
        for slot in sorted({*range(COMMIT_EVERY, slots, COMMIT_EVERY), *rebalances}):
            crashed = rebalances.get(slot)
            for consumer in range(parameters.consumers):
                if consumer != crashed:
                    committed[owner == consumer] = slot - 1
                    self._commit(slot, consumer, owner, generation)
            if crashed is None:
                continue
            self._leave(slot, crashed)
            generation += 1
            owner = np.roll(owner, int(rng.integers(parameters.places)))
            self._assign_all(slot, owner, generation)
            for place, (reader,) in enumerate(readers):
                reader.consumers[slot:] = owner[place]
                reader.resumes.append((slot, int(committed[place])))
        return readers

    def _leave(self, slot: int, crashed: int) -> None:
        """Let all members give up their partitions; a crashed one joins again without. `crashed` is -1 if none did."""
        for consumer in range(self.layout.parameters.consumers):
            if consumer == crashed:
                self._restart(slot, consumer)
                self._add(slot, consumer, "subscribe")
            else:
                self._add(slot, consumer, "revoke")

    def _assign_all(self, slot: int, owner: np.ndarray, generation: int) -> None:
        for consumer in range(self.layout.parameters.consumers):
            control = self._add(slot, consumer, "assign")
            for place in np.flatnonzero(owner == consumer):
                self.marks[place].append(Mark(control, "assigned", generation))

    def _commit(self, slot: int, consumer: int, owner: np.ndarray, generation: int) -> None:
        control = self._add(slot, consumer, "commit")
        for place in np.flatnonzero(owner == consumer):
            self.marks[place].append(Mark(control, "committed", generation, slot - 1))


def mark_rows(layout: Layout, marks: list[Mark]) -> dict[str, Any]:
    """Return the operations of marks, and the resulting columns."""
    slot = np.array([mark.control[0] for mark in marks], np.int64)
    number = np.array([mark.control[1] for mark in marks], np.int64)
    return {
        "op": layout.base[slot] + number,
        "committed": np.array([mark.direction == "committed" for mark in marks], np.bool_),
        "generation": np.array([mark.generation for mark in marks], np.int64),
        "after": np.array([mark.after for mark in marks], np.int64),
        "shift": np.array([mark.shift for mark in marks], np.int64),
    }
