"""The outcome of each send, computed from its slot and its place in the slot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chaoskit.model.message import PRODUCER_SHIFT
from chaoskit.testing.synthetic.layout import Layout
from chaoskit.testing.synthetic.randomness import Flags, Ints, Lognormal, bits_of, field

OK, FAIL, INFO = range(3)
NONE = -1

WINDOW_SENDS = 32
SLOWER_IN_FAULT = 8
_MORE_ERRORS_IN_FAULT = 30
_ERRORS_MAX = 0.3
_RETRY_NS = 100_000_000
_TIMEOUT_NS = 1_500_000_000
_LATENCY = Lognormal(1_500_000, 0.5)

LONGEST_NS = _LATENCY.longest_ns * SLOWER_IN_FAULT + _RETRY_NS + _TIMEOUT_NS
"""Maximum duration of a send, except during unavailability."""


@dataclass(slots=True)
class SlotSends:
    """Sends in order of invocation, one element per send. `end_ns` is NONE if the outcome was not reported.

    Attributes:
        number: number of preceding sends of the partition.
        stored: whether it is in the log.
        appended_ns: when it was stored.
    """

    op: Ints
    number: Ints
    value: Ints
    intended_ns: Ints
    start_ns: Ints
    end_ns: Ints
    appended_ns: Ints
    outcome: Ints
    stored: Flags


class SyntheticSender:
    """Computes sends.

    Args:
        layout: layout of the run.
        stalls: additional intervals (from, to; ns) without acknowledgements.
    """

    def __init__(self, layout: Layout, stalls: tuple[tuple[int, int], ...] = ()) -> None:
        self.layout = layout
        self.gaps: list[tuple[int, int]] = sorted(
            [(fault.effective_ns, fault.back_ns) for fault in layout.faults] + list(stalls)
        )
        self.longest_ns: int = LONGEST_NS + sum(to - begin for begin, to in self.gaps)
        self._places = [np.flatnonzero(layout.partition == index) for index in range(layout.parameters.places)]

    def places(self, partition: int) -> Ints:
        """Return the places in a slot of the sends of a partition."""
        return self._places[partition]

    def sends(self, first: int, last: int, places: Ints) -> SlotSends:
        """Return the sends at these places of the slots from `first` to before `last`."""
        layout = self.layout
        slot, place = np.arange(first, last)[:, None], places[None, :]
        op = layout.send_op(slot, place).ravel()
        bits = bits_of(layout.parameters.seed, op)
        intended_ns = layout.due_ns(slot, place).ravel()
        start_ns = intended_ns + field(bits, 0, 4) * (layout.jitter_ns // 16)
        producer = layout.producer[places]
        value = (slot * layout.own[producer] + layout.rank[places] + (producer << PRODUCER_SHIFT)).ravel()
        faulty = self._in_fault(start_ns)
        latency_ns = _LATENCY.draw(field(bits, 4, _LATENCY.bits))
        if faulty is not None:
            latency_ns[faulty] *= SLOWER_IN_FAULT
        latency_ns[field(bits, 50, 13) == 0] += _RETRY_NS
        appended_ns = start_ns + latency_ns * 5 // 8
        end_ns = start_ns + latency_ns
        for begin, to in self.gaps:
            if begin < end_ns.max(initial=0) and to > start_ns.min(initial=to):
                for time_ns in (appended_ns, end_ns):
                    inside = (time_ns >= begin) & (time_ns < to)
                    time_ns[inside] = to + latency_ns[inside]
                end_ns = np.maximum(end_ns, appended_ns)
        outcome, stored, untold = self._outcomes(field(bits, 18, 24), faulty, bits)
        late = np.flatnonzero(outcome == INFO)
        end_ns[late] = np.where(untold[late], NONE, end_ns[late] + _TIMEOUT_NS)
        number = np.arange(first * places.size, last * places.size)
        return SlotSends(op, number, value, intended_ns, start_ns, end_ns, appended_ns, outcome, stored)

    def keys(self, partition: int, op: Ints) -> Ints:
        """Return the keys of a partition's sends; keys of partitions are disjoint. NONE: no key."""
        parameters = self.layout.parameters
        own = len(range(partition, parameters.keys, parameters.places))
        if not own:
            return np.full(op.size, NONE)
        drawn = field(bits_of(parameters.seed + 1, op), 0, 32) % own
        return partition + parameters.places * drawn

    def window_slots(self, partition: int) -> int:
        """Return the number of slots with enough sends of a partition for any anomaly."""
        return max(1, -(-WINDOW_SENDS // max(1, self._places[partition].size)))

    def _in_fault(self, start_ns: Ints) -> Flags | None:
        low, high = start_ns.min(initial=2**62), start_ns.max(initial=0)
        near = [f for f in self.layout.faults if f.start_ns <= high and f.healed_ns >= low]
        if not near:
            return None
        inside: Flags = np.logical_or.reduce([(start_ns >= f.start_ns) & (start_ns < f.healed_ns) for f in near])
        return inside

    def _outcomes(self, uniform: Ints, faulty: Flags | None, bits: np.ndarray) -> tuple[Ints, Flags, Flags]:
        share = self.layout.parameters.errors
        in_fault = min(_ERRORS_MAX, _MORE_ERRORS_IN_FAULT * share)
        edge = np.int64(share * 2**24) if faulty is None else np.where(faulty, in_fault, share) * 2**24
        wrong = np.flatnonzero(uniform < edge)
        outcome, stored = np.zeros(uniform.size, np.int8), np.ones(uniform.size, np.bool_)
        untold = np.zeros(uniform.size, np.bool_)
        kind = field(bits[wrong], 42, 3)
        outcome[wrong] = np.where(kind < 4, FAIL, INFO)
        stored[wrong] = kind >= 6
        untold[wrong] = (kind & 1) == 1
        untold &= outcome == INFO
        return outcome, stored, untold
