"""The times of operations: the slots of a run, and the faults during it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chaoskit.testing.synthetic.parameters import Parameters
from chaoskit.testing.synthetic.randomness import Ints

ORIGIN_NS = 1_000_000_000
"""Start of the first slot: clients need one second to start."""

_SLOT_SENDS = 1_000
_SLOTS_MIN = 200
_SLOT_NS_MIN = 20_000_000
_STUCK_SPAN_NS = 400_000_000_000
"""A partition is stuck if it delivers nothing for one minute after healing, so the run must be longer."""

_STALL_SPAN_NS = 20_000_000_000
"""Required length of a run for each interval without acknowledgements."""

_CONTROL, _SEND, _POLL, _END = 0.0, 0.05, 0.90, 0.96
"""Start of each type of operation in a slot, as a fraction of its length."""

_KINDS = ("kill", "pause", "power-cut", "restart")


@dataclass(frozen=True, slots=True)
class SyntheticFault:
    """A fault with times in ns; nothing is acknowledged from `effective_ns` to `back_ns`."""

    kind: str
    target: str
    start_ns: int
    effective_ns: int
    back_ns: int
    heal_ns: int
    healed_ns: int

    def row(self, number: int) -> dict[str, Any]:
        """Return a row of schema FAULTS."""
        return {
            "fault": number,
            "kind": self.kind,
            "targets": [self.target],
            "parameters": "{}",
            "start_ns": self.start_ns,
            "effective_ns": self.effective_ns,
            "heal_ns": self.heal_ns,
            "healed_ns": self.healed_ns,
            "evidence": "simulated",
        }


class Layout:
    """Numbers and times of operations.

    Attributes:
        slots: number of slots.
        sends: number of sends per slot.
        slot_ns: length of a slot.
        partition: partition of each send of a slot, by its place in the slot.
        producer, rank: its producer, and the number of the slot's sends of this producer that precede it.
        own: number of sends per slot for each producer.
        controls: number of control operations in each slot.
        base: number of the first operation of each slot, and of the first one after the last slot.
    """

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        rng = np.random.default_rng([parameters.seed, 1])
        readers = max(1.0, parameters.consumers / parameters.places if parameters.mode == "log" else 1.0)
        total = max(1, round(parameters.messages / (2 + readers)))
        rarest = float(shares(parameters).min())
        wanted = max(_SLOT_SENDS, 4 * parameters.places, round(1 / rarest))
        few = min(_SLOTS_MIN, max(total // round(1 / rarest), _SLOTS_MIN // 5), total // 4)
        self.slots: int = max(1, few, round(total / wanted))
        self.sends: int = max(1, round(total / self.slots))
        self.partition: Ints = _spread(shares(parameters), self.sends, rng)
        self.producer: Ints = np.arange(self.sends) % parameters.producers
        self.rank: Ints = np.arange(self.sends) // parameters.producers
        self.own: Ints = np.bincount(self.producer, minlength=parameters.producers)
        self.slot_ns: int = max(_SLOT_NS_MIN, self.sends * 1_000, round(self.sends * 1e9 / parameters.rate))
        span_ns = _STALL_SPAN_NS * parameters.inject.get("stall", 0)
        span_ns = max(span_ns, _STUCK_SPAN_NS if "stuck" in parameters.inject else 0)
        self.slot_ns = max(self.slot_ns, span_ns // self.slots)
        self._step_ns = max(16, int((_POLL - _SEND) * self.slot_ns / self.sends))
        calm = 2 if "stuck" in parameters.inject else 1
        self.faults: list[SyntheticFault] = faults_of(parameters.faults, (self.end_ns - ORIGIN_NS) // calm, rng)
        self.set_controls(np.zeros(self.slots, np.int64))

    def set_controls(self, controls: Ints) -> None:
        """Set the number of control operations of each slot; this numbers all operations."""
        self.controls = controls
        counts = controls + self.sends + self.parameters.consumers
        self.base: Ints = np.concatenate(([0], np.cumsum(counts)))

    @property
    def end_ns(self) -> int:
        """When the last slot ends."""
        return ORIGIN_NS + self.slots * self.slot_ns

    def begin_ns(self, slot: Ints) -> Ints:
        """Return when slots begin."""
        return ORIGIN_NS + slot * self.slot_ns

    def send_op(self, slot: Ints, place: Ints) -> Ints:
        """Return the numbers of sends, by slot and place in the slot."""
        return self.base[slot] + self.controls[slot] + place

    def due_ns(self, slot: Ints, place: Ints) -> Ints:
        """Return when sends are due."""
        return self.begin_ns(slot) + int(_SEND * self.slot_ns) + place * self._step_ns

    @property
    def jitter_ns(self) -> int:
        """Maximum delay of a send after it is due."""
        return self._step_ns - 1

    def poll_op(self, slot: Ints, consumer: Ints | int) -> Ints:
        """Return the numbers of polls."""
        return self.base[slot] + self.controls[slot] + self.sends + consumer

    def poll_ns(self, slot: Ints, consumer: Ints | int) -> tuple[Ints, Ints]:
        """Return when polls begin and end."""
        step_ns = max(1, int((_END - _POLL) * self.slot_ns) // self.parameters.consumers)
        start_ns = self.begin_ns(slot) + int(_POLL * self.slot_ns) + consumer * step_ns
        return start_ns, start_ns + max(step_ns // 2, int((1 - _END) / 2 * self.slot_ns))

    def control_ns(self, slot: Ints, number: Ints) -> tuple[Ints, Ints]:
        """Return when control operations, numbered within their slot, begin and end."""
        step_ns = np.maximum(2, int((_SEND - _CONTROL) * self.slot_ns) // np.maximum(self.controls[slot], 1))
        start_ns = self.begin_ns(slot) + number * step_ns
        return start_ns, start_ns + step_ns // 2


def shares(parameters: Parameters) -> np.ndarray:
    """Return the fraction of all messages in each partition."""
    if parameters.skew is None:
        return np.full(parameters.places, 1 / parameters.places)
    result = np.full(parameters.places, (1 - parameters.skew) / (parameters.places - 1))
    result[0] = parameters.skew
    return result


def _spread(share: np.ndarray, sends: int, rng: np.random.Generator) -> Ints:
    """Return the partition of each send of a slot: by share, each partition at least once if possible."""
    edges = np.round(np.cumsum(share) / share.sum() * sends).astype(np.int64)
    counts = np.diff(edges, prepend=0)
    if sends >= share.size:
        counts = np.maximum(counts, 1)
        while (excess := int(counts.sum()) - sends) > 0:
            largest = counts.argmax()
            counts[largest] = max(1, counts[largest] - excess)
    return rng.permutation(np.repeat(np.arange(share.size), counts))


def faults_of(count: int, span_ns: int, rng: np.random.Generator) -> list[SyntheticFault]:
    """Return `count` faults, spread over a span of time from `ORIGIN_NS` on."""
    faults = []
    for number in range(count):
        length_ns = int(min(5e9, 0.3 * span_ns / count))
        start_ns = ORIGIN_NS + int(span_ns * (number + 0.5 + 0.2 * rng.random()) / count)
        effective_ns = start_ns + length_ns // 50
        faults.append(
            SyntheticFault(
                kind=_KINDS[int(rng.integers(len(_KINDS)))],
                target=f"n{int(rng.integers(3)) + 1}",
                start_ns=start_ns,
                effective_ns=effective_ns,
                back_ns=effective_ns + int(length_ns * (0.2 + 0.2 * rng.random())),
                heal_ns=start_ns + length_ns * 9 // 10,
                healed_ns=start_ns + length_ns,
            )
        )
    return faults
