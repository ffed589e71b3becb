"""Messages that an operator's order took, which a fault carried out: `Limit` by positions that the fault recorded."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from chaoskit.contract.guarantees.guarantee import Effect
from chaoskit.contract.guarantees.mechanism import Limit
from chaoskit.judge.explaining.cases import Cases
from chaoskit.judge.explaining.derived import Derived, Story
from chaoskit.judge.explaining.record import NONE, Ints, Record


def derive_deleted(record: Record, mechanism: Limit, cases: Cases) -> Derived:
    """Return which messages are before a position up to which a fault deleted their log on purpose."""
    derived = Derived.nothing(cases.size)
    for effect in record.effects:
        before = dict(effect.deleted)
        for place, rows in cases.by_place():
            if place not in before:
                continue
            written = rows[cases.message.written_ns[rows] <= _done_ns(effect)]
            known = cases.position[written] != NONE
            derived.doubt(written[~known], _unplaced(before[place]))
            own = written[known & (cases.position[written] < before[place])]
            derived.tell(
                own, Story(f"{place[0]}/{place[1]} was deleted before {before[place]:,} ({effect.dated})", (effect,))
            )
    return derived


def derive_set_back(record: Record, mechanism: Limit, cases: Cases) -> Derived:
    """Return which commits went on from where a fault had set the group, without going back any further later."""
    derived = Derived.nothing(cases.size)
    for effect, to, rows in _resets(record, cases):
        again = rows[cases.since_ns[rows] < _done_ns(effect)]
        again = again[np.argsort(cases.at_ns[again], kind="stable")]
        onwards = cases.position[again] >= np.maximum.accumulate(cases.position[again])
        derived.tell(again[onwards & (cases.position[again] >= to)], _story_of_reset(effect, to))
    return derived


def derive_set_ahead(record: Record, mechanism: Limit, cases: Cases) -> Derived:
    """Return which messages are before the position to which a fault had set the group: the finding's own, or the one
    that contradicts a commit."""
    derived = Derived.nothing(cases.size)
    position = np.where(cases.message.known, cases.position, cases.other_position)
    for effect, to, rows in _resets(record, cases):
        known = position[rows] != NONE
        derived.doubt(rows[~known], _unplaced(to))
        derived.tell(rows[known & (position[rows] < to)], _story_of_reset(effect, to))
    return derived


def _resets(record: Record, cases: Cases) -> Iterator[tuple[Effect, int, Ints]]:
    """Yield the faults that set the group of a partition, to which position, and the findings there that came later."""
    for effect in record.effects:
        for at, to in effect.reset:
            for place, rows in cases.by_place():
                if place == at:
                    yield effect, to, rows[cases.at_ns[rows] >= _done_ns(effect)]


def _done_ns(effect: Effect) -> int:
    """Return when it had done so: until then members may still leave, and commit."""
    return effect.over_ns if effect.done_ns is None else effect.done_ns


def _unplaced(before: int) -> str:
    return f"its position, and so whether it was before {before:,}, is not known"


def _story_of_reset(effect: Effect, to: int) -> Story:
    return Story(f"the group was set to position {to:,} ({effect.dated})", (effect,))
