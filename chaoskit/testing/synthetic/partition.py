"""The messages of one partition, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from chaoskit.model.audit import Audit, Bounds
from chaoskit.model.message import PAYLOADS
from chaoskit.model.observations.row import KINDS
from chaoskit.testing.synthetic.consumption import BACK_MAX, GROUP, Consumption, SyntheticReader, mark_rows
from chaoskit.testing.synthetic.edits import (
    CORRUPT,
    EXCHANGE,
    HIDE_FROM_AUDITOR,
    HIDE_FROM_CONSUMERS,
    NO_EDITS,
    REWIND,
    REWIND_BY,
    Edits,
    PartitionEdits,
    inside,
    positions_of,
)
from chaoskit.testing.synthetic.randomness import Ints
from chaoskit.testing.synthetic.rows import RECEIVED, SENT, Observed, RowArrays, message_table, observation_table
from chaoskit.testing.synthetic.sends import NONE, OK, SlotSends, SyntheticSender

CHUNK_ROWS = 500_000


@dataclass(slots=True)
class Log:
    """A section of a partition: the messages at positions from `first` on."""

    first: int
    value: Ints
    intended_ns: Ints
    sent_ns: Ints
    key: Ints
    appended_ns: Ints
    flags: Ints

    def after(self, position: int) -> Log:
        """Return the section without messages below a position."""
        cut = max(0, position - self.first)
        columns = [getattr(self, name)[cut:] for name in _COLUMNS]
        return Log(self.first + cut, *columns)

    def followed_by(self, other: Log) -> Log:
        """Return both sections as one."""
        columns = [np.concatenate((getattr(self, name), getattr(other, name))) for name in _COLUMNS]
        return Log(self.first, *columns)


_COLUMNS = ("value", "intended_ns", "sent_ns", "key", "appended_ns", "flags")


class PartitionStream:
    """Generates one partition.

    Attributes:
        observations: schema OBSERVATIONS, by `op`; available once `tables` is exhausted.

    Args:
        index: its number across all topics.
        sender: computes its sends.
        consumption: the activity of consumers.
        edits: the deviations.
    """

    def __init__(self, index: int, sender: SyntheticSender, consumption: Consumption, edits: Edits) -> None:
        self._layout, self._sender, self._consumption = sender.layout, sender, consumption
        self._index = index
        self._place = self._layout.parameters.place(index)
        self._edits: PartitionEdits = edits.partitions.get(index, NO_EDITS)
        self._places = sender.places(index)
        self._marks = consumption.marks[index]
        self._stored = 0
        self.observations: list[pa.Table] = []

    @property
    def rows(self) -> int:
        """Approximate number of rows."""
        return self._places.size * self._layout.slots * (2 + len(self._consumption.readers[self._index]))

    @property
    def audit(self) -> Audit:
        """The result of the final read, once `tables` is exhausted up to it."""
        edits = self._edits
        return Bounds(0, self._stored - edits.cut, not edits.unread)

    @property
    def audited(self) -> int:
        """The position that the final read reaches."""
        return self._stored - self._edits.cut - self._edits.unread

    def tables(self, audit_op: int, audit_ns: int) -> Iterator[pa.Table]:
        """Yield its messages, schema MESSAGES, by `op`.

        Args:
            audit_op: first poll of the final read for this partition.
            audit_ns: when that poll begins; each poll takes `AUDIT_POLL_NS`.
        """
        yield from self._run()
        yield from self._final(audit_op, audit_ns)

    def _chunks(self) -> Iterator[tuple[int, int]]:
        window = self._sender.window_slots(self._index)
        step = max(BACK_MAX, CHUNK_ROWS // max(1, 2 * self._places.size))
        step = -(-step // window) * window  # an edit is in one window, and therefore in one chunk
        for first in range(0, self._layout.slots, step):
            yield first, min(first + step, self._layout.slots)

    def _logs(self) -> Iterator[tuple[int, int, SlotSends, Log, Ints]]:
        """Yield sections of slots with their sends, the appended messages, and their positions."""
        next_position, appended_ns = 0, 0
        for first, last in self._chunks():
            sends = self._sender.sends(first, last, self._places)
            self._edits.apply(sends)
            position = positions_of(sends, next_position)
            chosen = sends.stored
            log = Log(
                next_position,
                sends.value[chosen],
                sends.intended_ns[chosen],
                sends.start_ns[chosen],
                self._sender.keys(self._index, sends.op)[chosen],
                np.maximum(np.maximum.accumulate(sends.appended_ns[chosen]), appended_ns),
                np.zeros(int(np.count_nonzero(chosen)), np.int8),
            )
            self._deviate(sends, position, log)
            next_position += log.value.size
            appended_ns = int(log.appended_ns[-1]) if log.appended_ns.size else appended_ns
            yield first, last, sends, log, position
        self._stored = next_position

    def _deviate(self, sends: SlotSends, position: Ints, log: Log) -> None:
        for at, content in inside(self._edits.content, sends.number):
            row = position[at] - log.first
            log.value[row], log.intended_ns[row], log.sent_ns[row], log.key[row] = content
        for at, flags in inside(self._edits.flags, sends.number):
            log.flags[position[at] - log.first] |= flags
        for at, _ in inside(dict.fromkeys(self._edits.wanted), sends.number):
            self._edits.found[int(sends.number[at])] = int(position[at])

    def _run(self) -> Iterator[pa.Table]:
        readers = self._consumption.readers[self._index]
        reached = [np.zeros(BACK_MAX, np.int64) for _ in readers]
        log: Log | None = None
        kept = 0
        for first, last, sends, fresh, position in self._logs():
            log = fresh if log is None else log.after(kept).followed_by(fresh)
            parts = [self._sent(sends, position)]
            for number, reader in enumerate(readers):
                rows, reached[number] = self._received(reader, first, last, log, reached[number][-BACK_MAX:])
                parts.append(rows)
            if self._marks:
                self.observations.append(self._marked(first, last, reached[0]))
            kept = min(int(reach[-BACK_MAX]) for reach in reached)
            rows = RowArrays.joined(parts).by_op()
            if rows.op.size:
                yield message_table(rows, self._place)

    def _sent(self, sends: SlotSends, position: Ints) -> RowArrays:
        acked = np.where((sends.outcome == OK) & sends.stored, position, NONE)
        for at, other in inside(self._edits.acked_as, sends.number):
            acked[at] = NONE if other < 0 else position[other - int(sends.number[0])]
        rows = RowArrays.blank(sends.op.size, SENT)
        rows.op, rows.value, rows.position, rows.key = (
            sends.op,
            sends.value,
            acked,
            self._sender.keys(self._index, sends.op),
        )
        rows.intended_ns, rows.sent_ns = sends.intended_ns, sends.start_ns
        return rows

    def _received(
        self, reader: SyntheticReader, first: int, last: int, log: Log, before: Ints
    ) -> tuple[RowArrays, Ints]:
        """Return what a reader receives in slots, and its position after each, including the BACK_MAX slots before."""
        slots = np.arange(first, last)
        consumer = reader.consumers[first:last]
        start_ns, end_ns = self._layout.poll_ns(slots, consumer)
        end = log.first + np.searchsorted(log.appended_ns, start_ns, side="right")
        silent = slots >= (self._layout.slots if self._edits.silent_from is None else self._edits.silent_from)
        end[silent] = np.concatenate((before[-1:], end[~silent]))[-1]
        end = np.maximum.accumulate(np.maximum(end, before[-1]))
        reached = np.concatenate((before, end))
        begin = reached[BACK_MAX - 1 : -1].copy()
        for slot, after in reader.resumes:
            if first <= slot < last:
                begin[slot - first] = reached[after - first + BACK_MAX] if after >= 0 else 0
        counts = np.where(silent, 0, end - begin)
        which = np.repeat(np.arange(slots.size), counts)
        offset = np.arange(which.size) - np.repeat(np.cumsum(counts) - counts, counts)
        at = begin[which] + offset - log.first
        if log.flags.any():
            at, which = _deviating(at, which, log)
        rows = self._read(at, log)
        rows.op = self._layout.poll_op(slots, consumer)[which]
        rows.received_ns = end_ns[which]
        if log.flags.any():
            _exchange(rows, log, at)
        return rows, reached

    def _read(self, at: Ints, log: Log) -> RowArrays:
        rows = RowArrays.blank(at.size, RECEIVED)
        rows.value, rows.position, rows.key = log.value[at], log.first + at, log.key[at]
        rows.intended_ns, rows.sent_ns = log.intended_ns[at], log.sent_ns[at]
        damaged = np.flatnonzero(log.flags[at] & CORRUPT)
        if damaged.size:
            rows.payload[damaged] = PAYLOADS.index("corrupt")
            rows.value[damaged] = -1
            rows.intended_ns[damaged] = rows.sent_ns[damaged] = NONE
        return rows

    def _marked(self, first: int, last: int, reached: Ints) -> pa.Table:
        marks = [mark for mark in self._marks if first <= mark.control[0] < last]
        columns = mark_rows(self._layout, marks)
        committed = columns["committed"]
        position = reached[np.maximum(columns["after"] - first + BACK_MAX, 0)] + columns["shift"]
        rows = Observed(
            columns["op"],
            np.where(committed, _COMMITTED, _ASSIGNED),
            columns["generation"],
            np.where(committed, np.maximum(position, 0), NONE),
        )
        return observation_table(rows, self._place, GROUP)

    def _final(self, audit_op: int, audit_ns: int) -> Iterator[pa.Table]:
        """Yield the messages that the final read received."""
        batch, end = self._layout.parameters.batch, self.audited
        for _, _, _, log, _ in self._logs():
            at = np.arange(min(log.value.size, max(0, end - log.first)))
            if log.flags.any():
                at = at[(log.flags[at] & HIDE_FROM_AUDITOR) == 0]
            rows = self._read(at, log)
            poll = rows.position // batch
            rows.op = audit_op + poll
            rows.received_ns = audit_ns + poll * AUDIT_POLL_NS + AUDIT_POLL_NS * 3 // 4
            if at.size:
                yield message_table(rows, self._place)


AUDIT_POLL_NS = 200_000
_COMMITTED, _ASSIGNED = KINDS.index("committed"), KINDS.index("assigned")


def _deviating(at: Ints, which: Ints, log: Log) -> tuple[Ints, Ints]:
    """Remove messages that are hidden from consumers, and repeat messages that are read again."""
    shown = (log.flags[at] & HIDE_FROM_CONSUMERS) == 0
    at, which = at[shown], which[shown]
    for row in np.flatnonzero(log.flags[at] & REWIND)[::-1]:
        again = at[row] - np.arange(REWIND_BY, -1, -1)
        again = again[again >= 0]
        at = np.insert(at, row + 1, again)
        which = np.insert(which, row + 1, np.full(again.size, which[row]))
    return at, which


def _exchange(rows: RowArrays, log: Log, at: Ints) -> None:
    for row in np.flatnonzero(log.flags[at] & EXCHANGE):
        other = at[row] + 1
        rows.value[row] = log.value[other]
        rows.value[at == other] = log.value[at[row]]
