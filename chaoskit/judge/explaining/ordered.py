"""Messages that an operator's order took, which a fault carried out: `Limit` by positions that the fault recorded.

What was ordered, and cannot be proved to have been done, is a doubt.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from chaoskit.contract.guarantees.guarantee import FOREVER, Effect
from chaoskit.contract.guarantees.mechanism import Limit
from chaoskit.judge.explaining.cases import Cases
from chaoskit.judge.explaining.derived import Derived, Story
from chaoskit.judge.explaining.record import NEVER, NONE, Flags, Ints, Record
from chaoskit.model.place import Place

_UNKNOWN = "a position is not known, and so whether an operator's order concerned it"


def derive_deleted(record: Record, mechanism: Limit, cases: Cases) -> Derived:
    """Return which messages are before a position up to which a fault deleted their log on purpose."""
    derived = Derived.nothing(cases.size)
    for effect in record.effects:
        before = dict(effect.deleted)
        for place, rows in cases.by_place():
            if place in before:
                written = rows[cases.message.written_ns[rows] <= _done_ns(effect)]
                known = cases.position[written] != NONE
                derived.doubt(written[~known], _UNKNOWN)
                words = f"{place[0]}/{place[1]} was deleted before {before[place]:,} ({effect.dated})"
                _tell(derived, written[known & (cases.position[written] < before[place])], effect, words)
    return derived


def derive_set_back(record: Record, mechanism: Limit, cases: Cases) -> Derived:
    """Return which commits went on from where a fault had set the group, without going back any further later."""
    derived = Derived.nothing(cases.size)
    for effect, _, (before, to), rows in _resets(record, cases):
        derived.doubt(rows[cases.since_ns[rows] == NEVER], "since when the group had been further is not known")
        again = rows[(cases.since_ns[rows] != NEVER) & (cases.since_ns[rows] < _done_ns(effect))]
        again = again[np.argsort(cases.at_ns[again], kind="stable")]
        onwards = cases.position[again] >= np.maximum.accumulate(cases.position[again])
        _tell(derived, again[onwards & (cases.position[again] >= to)], effect, _moved(effect, before, to))
    return derived


def derive_set_ahead(record: Record, mechanism: Limit, cases: Cases) -> Derived:
    """Return which messages lie between where a group was and where a fault had set it: the finding's own; or the first
    one that a commit is beyond, if all that lies between there and the commit had been received."""
    derived = Derived.nothing(cases.size)
    missed = np.where(cases.message.known, cases.position, cases.other_position)
    written_ns = np.where(cases.message.known, cases.message.written_ns, cases.other.written_ns)
    for effect, place, (before, to), later in _resets(record, cases):
        rows = later[written_ns[later] <= _done_ns(effect)]
        known = (missed[rows] != NONE) & (before != NONE)
        derived.doubt(rows[~known & (missed[rows] < to)], _UNKNOWN)
        own = rows[known & (missed[rows] >= before) & (missed[rows] < to)]
        commits = own[~cases.message.known[own]]
        had = _had_all(record, place, to, cases.position[commits], cases.at_ns[commits])
        if had is None:
            derived.doubt(commits, "messages were not recorded one by one")
        else:
            _tell(derived, commits[had], effect, _moved(effect, before, to))
        _tell(derived, own[cases.message.known[own]], effect, _moved(effect, before, to))
    return derived


def _had_all(record: Record, place: Place, start: int, ends: Ints, at_ns: Ints) -> Flags | None:
    """Return whether all acknowledged messages from a position up to each of some others had been received at a time;
    None if that was not recorded."""
    sends = record.sends(place)
    if sends is None:
        return None
    rows = np.flatnonzero(sends.acked & (sends.position >= start))
    rows = rows[np.argsort(sends.position[rows], kind="stable")]
    had_ns = np.full(rows.size, FOREVER)
    for receipts in record.receipts(place).values():
        at = receipts.rows_of(sends.value[rows])
        received = at != NONE
        had_ns[received] = np.minimum(had_ns[received], receipts.at_ns[at[received]])
    latest_ns = np.concatenate([[0], np.maximum.accumulate(had_ns)])
    had: Flags = latest_ns[np.searchsorted(sends.position[rows], ends)] <= at_ns
    return had


def _resets(record: Record, cases: Cases) -> Iterator[tuple[Effect, Place, tuple[int, int], Ints]]:
    """Yield the faults that set the group of a partition, from where to where, and the later findings there."""
    for effect in record.effects:
        moves = dict(effect.reset)
        for place, rows in cases.by_place():
            if place in moves:
                yield effect, place, moves[place], rows[cases.at_ns[rows] >= _done_ns(effect)]


def _done_ns(effect: Effect) -> int:
    """Return when it had been done: until then members may still leave, and commit. If that cannot be proved, it may
    have been at once."""
    return effect.start_ns if effect.done_ns is None or not effect.proved else effect.done_ns


def _tell(derived: Derived, rows: Ints, effect: Effect, words: str) -> None:
    if effect.proved:
        derived.tell(rows, Story(words, (effect,)))
    else:
        derived.doubt(rows, f"{effect.dated} is not proved to have been carried out")


def _moved(effect: Effect, before: int, to: int) -> str:
    return f"the group was set from position {before:,} to {to:,} ({effect.dated})"
