"""One partition's history, indexed once and shared by all checks.

Values and positions are replaced by small ids (`Numbering`), so that "was it received", "where does
it lie", "what lies there" are lookups in plain arrays. An index is built when a check first asks for
it. Cost: O(n) time where values and positions are dense, else one sort of each; about 100 bytes a
message in all.

A receive is *intact* when its payload is what the producer wrote; only these say that a message is
visible. A corrupt or foreign payload still tells which position was read.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa

from chaoskit.checker import Context
from chaoskit.errors import BadInput
from checkers.columns import NONE, Flags, Ints, first_rows, marked
from checkers.numbering import Numbering
from checkers.reading import Reading, reading_of
from checkers.rows import INTACT, OK, Operations, split_messages


class LogView:
    """Rows of one topic-partition and the indexes over them.

    Attributes:
        context: the partition and its audit.
        operations: at least those that the messages name.
        sends: messages sent.
        receives: messages received, whatever their payload.
        intact: those with an intact payload.
    """

    def __init__(self, messages: pa.Table, operations: pa.Table, context: Context) -> None:
        self.context = context
        self.operations = Operations.of(operations, context.auditor)
        self.sends, self.receives = split_messages(messages, self.operations)
        intact = self.receives.payload == INTACT
        self.intact = self.receives if intact.all() else self.receives.take(np.flatnonzero(intact))
        if min(self.sends.value.min(initial=0), self.intact.value.min(initial=0)) < 0:
            raise BadInput("the history has a negative message value")

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
        """Whether each send was acknowledged."""
        return np.equal(self.operations.outcome[self.sends.operation], OK)

    @cached_property
    def acked_positions(self) -> Ints:
        """Position id of each send, `NONE` where no acknowledgement named one."""
        return self.positions.ids(np.where(self.acked, self.sends.position, NONE))

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
        """Whether anybody received the value, by value id."""
        return marked(self.values.size, self.intact_values)

    @cached_property
    def kept(self) -> Flags:
        """Whether the value is still there, by value id: seen by a complete final read, or, without
        one, by anybody."""
        audit = self.context.audit
        if audit is None or not audit.complete:
            return self.visible
        final = self.operations.audits[self.intact.operation]
        return marked(self.values.size, self.intact_values[final])

    @cached_property
    def missing(self) -> Ints:
        """Rows of the sends that were acknowledged and whose message is not there (any more)."""
        return np.flatnonzero(self.acked & ~self.kept[self.sent_values])

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
    def lowest_positions(self) -> Ints:
        """Lowest position id at which the value was received, by value id, or `NONE`."""
        lowest = np.full(self.values.size, NONE, self.intact_positions.dtype)
        lowest[self.intact_values[self.placed]] = self.intact_positions[self.placed]
        copied = self.copied
        np.minimum.at(lowest, self.intact_values[copied], self.intact_positions[copied])
        return lowest

    @cached_property
    def sent(self) -> Flags:
        """Whether anybody sent the value, by value id."""
        return marked(self.values.size, self.sent_values)

    @cached_property
    def reading(self) -> Reading:
        """In which order each process read."""
        return reading_of(self.receives, self.operations)

    @cached_property
    def jumps(self) -> tuple[Ints, Ints]:
        """Rows (before, after) of consecutive receives of one session at other than consecutive ids."""
        position, session = self.read_positions[self.reading.row], self.reading.session
        irregular = (np.diff(position) != 1) & (session[1:] == session[:-1])
        before = np.flatnonzero(irregular)
        return self.reading.row[before], self.reading.row[before + 1]

    def first_received(self, values: Ints) -> Ints:
        """Return the row of the first intact receive of each of these visible values (ids)."""
        return first_rows(self.values.size, self.intact_values)[values]

    def first_received_at(self, positions: Ints) -> Ints:
        """Return the row of the first intact receive at each of these visible positions (ids)."""
        rows = first_rows(self.positions.size, self.intact_positions[self.placed])[positions]
        return self.placed[rows]


def disagreeing(size: int, subject: Ints, observation: Ints) -> Ints:
    """Return the rows of those subjects (ids below `size`) that have different observations."""
    last = np.empty(size, observation.dtype)
    last[subject] = observation
    clashes = np.flatnonzero(last[subject] != observation)
    if not clashes.size:
        return clashes
    return np.flatnonzero(marked(size, subject[clashes])[subject])
