"""A log loses its end only: what a later message outlived was not taken by what took the copies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chaoskit.judge.explaining.cases import ConcernedMessage
from chaoskit.judge.explaining.derived import Story
from chaoskit.judge.explaining.record import CLOCKS_NS, NONE, DigestRecord, Flags, Ints, Record
from chaoskit.model.place import Place


@dataclass(frozen=True, slots=True)
class SendFate:
    """How messages went, and when that began.

    Attributes:
        story: what happened.
        begun_ns: when the first cause of it began: what a log had from before that is there.
        stale: whether a former leader acknowledged them: what its successor has is at their positions.
    """

    story: Story
    begun_ns: int
    stale: bool = False


def at_the_end(record: Record, place: Place, message: ConcernedMessage, rows: Ints, fate: SendFate) -> Flags:
    """Return which messages had no later one in the log before the loss that is still there."""
    if record.digest is not None:
        return _at_the_end_of_blocks(record.digest, place, message.value[rows], fate)
    sends = record.sends(place)
    every: Flags = np.ones(rows.size, np.bool_)
    if sends is None or not sends.value.size:
        return every
    gone = np.isin(sends.value, record.gone.get(place, message.value[rows]))
    kept = sends.acked & ~gone & (sends.position != NONE)
    at = sends.rows_of(message.value[rows])
    position = np.where(at == NONE, NONE, sends.position[at])
    if fate.stale:
        remaining = sends.position[kept]
        replaced: Flags = (position == NONE) | np.isin(position, remaining) | (position > remaining.max(initial=NONE))
        return replaced
    last = int(sends.position[kept & (sends.end_ns < fate.begun_ns - CLOCKS_NS)].max(initial=NONE))
    ends: Flags = (position == NONE) | (position > last)
    return ends


def _at_the_end_of_blocks(digest: DigestRecord, place: Place, values: Ints, fate: SendFate) -> Flags:
    """Return the same of messages of which blocks are known: one of the same block is no later one."""
    done_ns, lowest = digest.kept.get(place, (np.zeros(0, np.int64), np.zeros(0, np.int64)))
    last = int(lowest[done_ns < fate.begun_ns - CLOCKS_NS].max(initial=NONE))
    known = digest.positions.get(place, {})
    position = np.array([known.get(value, NONE) for value in values.tolist()], np.int64)
    ends: Flags = (position == NONE) | (position > last)
    return ends
