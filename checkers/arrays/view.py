"""One partition's history, indexed once and shared by all checks.

Values and positions are replaced by small ids (`Numbering`), so that questions such as "was it received?", "at which
position is it?" and "what is at this position?" are lookups in plain arrays. An index is built on first use. Cost: O(n)
time if values and positions are dense, otherwise one sort of each; about 100 bytes per message in total.

A receive is *intact* if its payload is what the producer wrote; only intact receives make a message visible. A corrupt
or foreign payload still shows which position was read.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from chaoskit.base.columns import NONE, Flags, Ints, is_one_of
from chaoskit.base.errors import BadInput
from chaoskit.contract.checkers.checker import Part
from chaoskit.model.compaction import Compaction
from chaoskit.model.message import PRODUCER_SHIFT
from chaoskit.model.observations.group import ReadingBegan
from chaoskit.model.observations.log import Sought, UnreadableGap
from checkers.arrays.columns import NEVER_NS, changes, first_rows, is_sorted, marked, running_maximum, stable_order
from checkers.arrays.compaction import Keyed
from checkers.arrays.ends import FAIL, INFO, OK
from checkers.arrays.numbering import Numbering
from checkers.arrays.reading import Reading, reading_of
from checkers.arrays.rows import INTACT, Operations, split_messages


class LogView:
    """Rows of one topic partition and the indexes over them.

    Attributes:
        setting: the partition and its audit.
        operations: at least the operations that the messages refer to.
        sought: rows of the operations that sought something here, and the position that each must be at by then at the
            latest, or `NONE`.
        sends: messages sent.
        receives: messages received, with any payload.
        intact: messages received with an intact payload.
    """

    def __init__(self, part: Part) -> None:
        self.setting = part.setting
        self._refused = UnreadableGap.read(part.observations)
        self.operations = Operations.of(part.operations)
        self.sought = _sought(part, self.operations)
        kept = _kept(part, self.operations) | _elsewhere(part, self.operations, self.sought[0])
        self.operations = replace(self.operations, repositions=self.operations.repositions & ~kept)
        self.sends, self.receives = split_messages(part.messages, self.operations)
        intact = self.receives.payload == INTACT
        self.intact = self.receives if intact.all() else self.receives.take(np.flatnonzero(intact))
        if min(self.sends.value.min(initial=0), self.intact.value.min(initial=0)) < 0:
            raise BadInput("the history has a negative message value")

    def unreadable(self, position: Ints) -> Flags:
        """Return whether the system said of each position that it cannot read it."""
        unreadable = np.zeros(position.size, np.bool_)
        for first, until in zip(*self._refused, strict=True):
            unreadable |= (position >= first) & (position < until)
        return unreadable

    def truncated(self, position: Ints, ids: Ints, received_ns: Ints) -> Flags:
        """Return whether each position (`ids`: its id), received then, is missing from the log at the final read."""
        audit = self.setting.bounds
        if audit is None:
            return np.zeros(position.size, np.bool_)
        # What was read only after the final read had asked for the end may have been appended after that, too.
        asked_ns = self.operations.start_ns[self.operations.asks].min(initial=np.iinfo(np.int64).max)
        gone: Flags = (position >= audit.end) & (received_ns < asked_ns)
        if audit.complete and position.size:
            audited = self.operations.audits[self.receives.operation] & (self.receives.position != NONE)
            kept = marked(self.positions.size, self.read_positions[audited])
            gone |= ~kept[ids] & (position < audit.end)
        gone &= position >= max(audit.low, 0)
        if self.keyed is not None:
            gone &= ~self.removable_positions[ids] | (position >= audit.end)
        return gone

    @cached_property
    def values(self) -> Numbering:
        """Ids of all values sent or received intact."""
        return Numbering(self.sends.value, self.intact.value)

    @cached_property
    def positions(self) -> Numbering:
        """Ids of all positions acknowledged or read."""
        return Numbering(self.sends.position, self.receives.position)

    @cached_property
    def sent_values(self) -> Ints:
        """Value id of each send."""
        return self.values.ids(self.sends.value)

    @cached_property
    def intact_values(self) -> Ints:
        """Value id of each intact receive."""
        return self.values.ids(self.intact.value)

    @cached_property
    def acked(self) -> Flags:
        """Whether each send was acknowledged, and committed if it belongs to a transaction."""
        return np.equal(self.operations.fate[self.sends.operation], OK)

    @cached_property
    def acked_positions(self) -> Ints:
        """Position id of each send, `NONE` if no acknowledgement reported one."""
        position = self.sends.position
        return self.positions.ids(position if self.acked.all() else np.where(self.acked, position, NONE))

    @cached_property
    def read_positions(self) -> Ints:
        """Position id of each receive."""
        return self.positions.ids(self.receives.position)

    @cached_property
    def intact_positions(self) -> Ints:
        """Position id of each intact receive."""
        if self.intact is self.receives:
            return self.read_positions
        return self.positions.ids(self.intact.position)

    @cached_property
    def visible(self) -> Flags:
        """Whether any client received the value, by value id."""
        return marked(self.values.size, self.intact_values)

    @cached_property
    def kept(self) -> Flags:
        """Whether the value still exists, by value id: seen by a complete final read, or, without one, by any
        client."""
        audit = self.setting.audit
        if audit is None or not audit.complete:
            return self.visible
        final = self.operations.audits[self.intact.operation]
        return marked(self.values.size, self.intact_values[final])

    @cached_property
    def keyed(self) -> Keyed | None:
        """The messages of a compacted log; None: it is not compacted."""
        compaction = Compaction.of(self.setting.imposed)
        if compaction is None:
            return None
        sent, acked = np.flatnonzero(self.sent), np.flatnonzero(self.first_acks != NONE)
        first = self.first_sends[sent]
        key, place_of = np.zeros(self.values.size, np.int64), np.full(self.values.size, NONE)
        start_ns, done_ns = np.full((2, self.values.size), NEVER_NS)
        deletes = np.zeros(self.values.size, np.bool_)
        key[sent] = self.sends.key[first]
        start_ns[sent] = self.operations.start_ns[self.sends.operation[first]]
        deletes[sent] = self.operations.deletes[self.sends.operation[first]]
        done_ns[acked] = self.operations.end_ns[self.sends.operation[self.first_acks[acked]]]
        read = np.flatnonzero(self.intact.received_ns != NONE)
        np.minimum.at(done_ns, self.intact_values[read], self.intact.received_ns[read])
        np.maximum.at(place_of, self.sent_values, self.acked_positions)
        np.maximum.at(place_of, self.intact_values, self.intact_positions)
        place_of[~self.sent] = NONE
        return Keyed(compaction, key, start_ns, done_ns, place_of, deletes)

    @cached_property
    def read_ns(self) -> int:
        """When the final read was over; without one, the last thing that is known."""
        audits = self.operations.audits
        chosen = audits if audits.any() else np.ones(audits.size, np.bool_)
        return int(np.maximum(self.operations.start_ns, self.operations.end_ns)[chosen].max(initial=0))

    @cached_property
    def open_sends(self) -> Flags:
        """Messages of which nobody knows whether they were stored, by value id: nobody received them."""
        info = np.equal(self.operations.fate[self.sends.operation], INFO)
        open_: Flags = marked(self.values.size, self.sent_values[info]) & ~self.visible & (self.first_acks == NONE)
        return open_

    @cached_property
    def since_ns(self) -> Ints:
        """From when on each message may be gone from a compacted log, by value id, given what any client saw or was
        told, or may have stored; `NEVER_NS` from any other log."""
        if self.keyed is None:
            return np.broadcast_to(np.int64(NEVER_NS), self.values.size)
        return self.keyed.removable_ns(self.visible | (self.first_acks != NONE) | self.open_sends)

    @cached_property
    def replaced_ns(self) -> Ints:
        """When a message was sent that stands for each one of a compacted log at the final read, by value id: it was
        acknowledged, or is there, or is a deletion that was seen and whose time is over."""
        assert self.keyed is not None
        over = self.keyed.deletes & self.visible & (self.keyed.expires_ns <= self.read_ns)
        return self.keyed.replaced_ns((self.first_acks != NONE) | self.kept | over)

    @cached_property
    def removable(self) -> Flags:
        """Whether each message may be gone from a compacted log at the final read, by value id."""
        if self.keyed is None:
            return np.broadcast_to(np.False_, self.values.size)
        return self.keyed.lawful_ns(self.replaced_ns) <= self.read_ns

    @cached_property
    def missing(self) -> Ints:
        """Rows of the acknowledged sends whose message does not exist (any more), although it should, one per message:
        of several sends the first whose acknowledgement reported a position, otherwise the first."""
        rows = np.flatnonzero(self.acked & ~(self.kept | self.removable)[self.sent_values])
        placed = self.sends.position[rows] != NONE
        order = np.lexsort((rows, ~placed, self.sent_values[rows]))
        first: Ints = np.sort(rows[order][changes(self.sent_values[rows[order]])])
        return first

    @cached_property
    def placed(self) -> Ints:
        """Rows of the intact receives with a known position."""
        return np.flatnonzero(self.intact_positions != NONE)

    @cached_property
    def copied(self) -> Ints:
        """Rows of the intact receives whose value was received at several positions."""
        value, position = self.intact_values[self.placed], self.intact_positions[self.placed]
        return self.placed[disagreeing(self.values.size, value, position)]

    @cached_property
    def conflicts(self) -> tuple[Ints, Ints]:
        """Rows of the intact receives, and of the acknowledged sends, at positions where they disagree about the
        value."""
        acked = np.flatnonzero(self.acked_positions != NONE)
        rows = disagreeing(
            self.positions.size,
            np.concatenate([self.intact_positions[self.placed], self.acked_positions[acked]]),
            np.concatenate([self.intact_values[self.placed], self.sent_values[acked]]),
        )
        received = rows < self.placed.size
        return self.placed[rows[received]], acked[rows[~received] - self.placed.size]

    @cached_property
    def lowest_positions(self) -> Ints:
        """Lowest position id at which the value was received, by value id, or `NONE`."""
        lowest = np.full(self.values.size, NONE, self.intact_positions.dtype)
        lowest[self.intact_values[self.placed]] = self.intact_positions[self.placed]
        copied = self.copied
        np.minimum.at(lowest, self.intact_values[copied], self.intact_positions[copied])
        return lowest

    @cached_property
    def first_sends(self) -> Ints:
        """Row of the first send of each value, by value id, or `NONE`."""
        return first_rows(self.values.size, self.sent_values)

    @cached_property
    def first_acks(self) -> Ints:
        """Row of the first acknowledged send of each value, by value id, or `NONE`."""
        acked = np.flatnonzero(self.acked)
        first = first_rows(self.values.size, self.sent_values[acked])
        return np.where(first == NONE, NONE, acked[first]) if acked.size else first

    @cached_property
    def places(self) -> tuple[Ints, Ints]:
        """The position of each message: rows of first sends, ascending by value, and the ids of their positions.

        It is the position of the first receive, or, if there is none, the one in the acknowledgement; messages with
        neither are omitted.
        """
        values = np.flatnonzero(self.first_sends != NONE)
        rows, place = self.first_sends[values], self.lowest_positions[values]
        unread = np.flatnonzero(place == NONE)
        place[unread] = self.acked_positions[rows[unread]]
        if not unread.size or (place[unread] != NONE).all():
            return rows, place
        return rows[place != NONE], place[place != NONE]

    @cached_property
    def sent(self) -> Flags:
        """Whether any client sent the value, by value id."""
        return marked(self.values.size, self.sent_values)

    @cached_property
    def reading(self) -> Reading:
        """The order in which each process read."""
        return reading_of(self.receives, self.operations)

    @cached_property
    def jumps(self) -> tuple[Ints, Ints]:
        """Rows (before, after) of receives at positions that do not follow each other; see `Reading.jumps`."""
        return self.reading.jumps(self.read_positions)

    @cached_property
    def passed(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Jumps over positions with a visible message: rows (before, after), the index in `visible_positions` of the
        first passed position, and the number of passed positions. Of a compacted log, what may have been gone by then
        was not passed, so that one jump may come several times."""
        before, after = self.jumps
        first = np.searchsorted(self.visible_positions, self.read_positions[before], side="right")
        count = np.searchsorted(self.visible_positions, self.read_positions[after]) - first
        over = count > 0
        passed = before[over], after[over], first[over], count[over]
        return passed if self.keyed is None else self._needed(*passed)

    @cached_property
    def visible_positions(self) -> Ints:
        """Ids of the positions at which any client received an intact message."""
        return np.flatnonzero(marked(self.positions.size, self.intact_positions[self.placed]))

    @cached_property
    def pipelines(self) -> tuple[Ints, Ints, Ints]:
        """`places` by producer and key, each in value order: rows, groups (ascending), position ids."""
        rows, place = self.places
        group = self.sends.value[rows] >> PRODUCER_SHIFT
        if highest_key := int(self.sends.key.max(initial=0)):
            group = group * (highest_key + 1) + self.sends.key[rows]
        if is_sorted(group):
            return rows, group, place
        order = stable_order(group)
        return rows[order], group[order], place[order]

    @cached_property
    def inversions(self) -> tuple[Ints, Ints]:
        """Indexes into `pipelines`: messages with a lower position than an earlier one of their pipeline, and the
        highest such one."""
        _, group, place = self.pipelines
        rank, highest = running_maximum(group, place, self.positions.size)
        below = np.flatnonzero(rank < highest)
        return below, np.searchsorted(highest, highest[below])

    @cached_property
    def removable_positions(self) -> Flags:
        """Whether a compacted log may lack a message at the final read, by position id: one that may be gone, or is
        stored again at a higher position."""
        keyed = self.keyed
        assert keyed is not None
        doubtful = keyed.removable_ns(self.open_sends) <= self.read_ns
        removable = (self.removable | doubtful) & (keyed.place != NONE)
        value, position = self.intact_values[self.placed], self.intact_positions[self.placed]
        lawful = marked(self.positions.size, position[removable[value] | (position < keyed.place[value])])
        lawful[keyed.place[removable]] = True
        return lawful

    def _needed(self, before: Ints, after: Ints, first: Ints, count: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """Return `passed` of a compacted log, with a row for each passed position."""
        jump = np.repeat(np.arange(count.size), count)
        at = np.arange(jump.size) - np.repeat(np.cumsum(count) - count - first, count)
        needed = self.needed_at(at, self.receives.received_ns[after[jump]])
        jump, at = jump[needed], at[needed]
        return before[jump], after[jump], at, np.ones(at.size, count.dtype)

    def needed_at(self, visible: Ints, at_ns: Ints) -> Flags:
        """Return whether the messages at these positions (indices in `visible_positions`) must be found at a time."""
        if self.keyed is None:
            return np.ones(visible.size, np.bool_)
        place = self.visible_positions[visible]
        value = self.intact_values[self.first_received_at(place)]
        needed: Flags = (self.since_ns[value] > at_ns) & (place >= self.keyed.place[value])
        return needed

    def first_received(self, values: Ints) -> Ints:
        """Return the row of the first intact receive of each of these visible values (ids)."""
        return first_rows(self.values.size, self.intact_values)[values]

    def first_received_at(self, positions: Ints) -> Ints:
        """Return the row of the first intact receive at each of these visible positions (ids)."""
        rows = first_rows(self.positions.size, self.intact_positions[self.placed])[positions]
        return self.placed[rows]


def _kept(part: Part, rows: Operations) -> Flags:
    """Return whether each operation told a reader to read this partition, which it read already: it goes on there.

    Known only where what readers were told to read was recorded (`reading`).
    """
    began = rows.rows_of(ReadingBegan.ops(part.observations))
    kept = np.zeros(rows.op.size, np.bool_)
    if not began.size:
        return kept
    here = marked(rows.op.size, began)
    moves = np.flatnonzero(is_one_of(part.operations["f"], ["assign", "subscribe"]) & (rows.outcome != FAIL))
    moves = moves[np.argsort(rows.process[moves], kind="stable")]
    again = here[moves[1:]] & here[moves[:-1]] & (rows.process[moves[1:]] == rows.process[moves[:-1]])
    kept[moves[1:][again]] = True
    return kept


def _sought(part: Part, rows: Operations) -> tuple[Ints, Ints]:
    op, latest = Sought.read(part.observations)
    return rows.rows_of(op), latest


def _elsewhere(part: Part, rows: Operations, sought: Ints) -> Flags:
    """Return whether each operation is a replay that left a reader where it was in this partition."""
    return is_one_of(part.operations["f"], ["replay"]) & ~marked(rows.op.size, sought)


def disagreeing(size: int, subject: Ints, observation: Ints) -> Ints:
    """Return the rows of subjects (ids below `size`) with different observations."""
    last = np.empty(size, observation.dtype)
    last[subject] = observation
    clashes = np.flatnonzero(last[subject] != observation)
    if not clashes.size:
        return clashes
    return np.flatnonzero(marked(size, subject[clashes])[subject])
