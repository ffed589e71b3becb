"""When publishers were there, and what subscribers were told of it.

Cost: a sort of n sends.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from chaoskit.base.columns import NONE, Ints
from chaoskit.model.observations.feed import DEADLINE_MISSED
from checkers.arrays.columns import changes
from checkers.arrays.findings import NO_ROWS
from checkers.arrays.rows import INTACT
from checkers.pubsub.view import FeedView, Stay

UNSENT_NS = np.iinfo(np.int64).min // 4
"""Time of sending of what nobody sent, or was not intact."""


class End(NamedTuple):
    """A publisher that ended, and whose client was started again.

    Attributes:
        process: its process.
        since_ns: the end of its last operation.
        until_ns: when the next process of the same client began to publish.
    """

    process: int
    since_ns: int
    until_ns: int


class Alarm(NamedTuple):
    """What a subscriber was told.

    Attributes:
        row: row of the operation.
        silent: whether it was that no message came in time.
        publisher: otherwise, process of the publisher that is not alive; `NONE` if it did nothing.
        at_ns: when.
        op: the operation.
    """

    row: int
    silent: bool
    publisher: int
    at_ns: int
    op: int


class Watch:
    """Publishers of a topic by their processes.

    Args:
        view: the topic.
    """

    def __init__(self, view: FeedView) -> None:
        log = self._log = view.log
        self._view = view
        operations, own = log.operations, log.sends.operation
        order = np.lexsort((operations.start_ns[own], operations.process[own]))
        process = operations.process[own][order]
        self._processes = process[changes(process)]
        self._sends = np.split(order, np.flatnonzero(np.diff(process)) + 1) if order.size else []
        self._starts = [operations.start_ns[own[sends]] for sends in self._sends]
        publishers = [int(view.member_of[own[sends[0]]]) for sends in self._sends]
        began = [int(starts[0]) for starts in self._starts]
        self._of: dict[int, list[int]] = {}
        for index in np.argsort(began, kind="stable").tolist():
            self._of.setdefault(publishers[index], []).append(index)

    @cached_property
    def ends(self) -> list[End]:
        """All ends."""
        over_ns = self._view.last_ns
        ends = [
            End(int(self._processes[one]), int(over_ns[self._processes[one]]), int(self._starts[other][0]))
            for own in self._of.values()
            for one, other in pairwise(own)
        ]
        return [end for end in ends if end.since_ns <= end.until_ns]

    def alarms(self, stay: Stay) -> list[Alarm]:
        """Return what a subscriber was told during a stay, in order of time."""
        return [alarm for alarm in self.of(stay) if stay.from_ns <= alarm.at_ns <= stay.until_ns]

    def of(self, stay: Stay) -> list[Alarm]:
        """Return what its client was told at any time, in order of time."""
        process = self._log.operations.process
        return [alarm for alarm in self._alarms if process[alarm.row] == process[stay.row]]

    def next_ns(self, stay: Stay) -> int:
        """Return when the next stay of the same client began."""
        process, single = self._log.operations.process, self._view.single
        later = [other.from_ns for other in single if process[other.row] == process[stay.row]]
        return min((at_ns for at_ns in later if at_ns > stay.from_ns), default=np.iinfo(np.int64).max)

    def heard(self, stay: Stay) -> set[int]:
        """Return the processes of which a subscriber received something during a stay."""
        log, rows = self._log, self._view.received_in(stay, stay.from_ns)
        sends = log.first_sends[log.intact_values[rows]]
        return set(log.operations.process[log.sends.operation[sends[sends != NONE]]].tolist())

    def sends(self, process: int) -> tuple[Ints, Ints]:
        """Return the rows of the sends of a process, and when they began, in order of the latter."""
        index = int(np.searchsorted(self._processes, process))
        if index == self._processes.size or self._processes[index] != process:
            return NO_ROWS, NO_ROWS
        return self._sends[index], self._starts[index]

    def publishing(self, since_ns: int, until_ns: int) -> bool:
        """Return whether a process sent something before a time, and after another."""
        return any(starts[0] <= since_ns and starts[-1] >= until_ns for starts in self._starts)

    def asked(self, stay: Stay, since_ns: int, until_ns: int, within_ns: int) -> bool:
        """Return whether a subscriber asked for messages again and again from a time to another, within so long."""
        operations = self._log.operations
        own = np.sort(operations.start_ns[operations.process == operations.process[stay.row]])
        asked = own[(own > since_ns) & (own < until_ns)]
        return bool(np.diff(np.concatenate([[since_ns], asked, [until_ns]])).max() <= within_ns)

    @cached_property
    def sent_ns(self) -> Ints:
        """When what was received was sent, for each receive; `UNSENT_NS` where nobody sent it, or it was not intact."""
        log = self._log
        sent = np.full(log.receives.value.size, UNSENT_NS)
        intact, first = np.flatnonzero(log.receives.payload == INTACT), log.first_sends[log.intact_values]
        known = first != NONE
        sent[intact[known]] = log.operations.start_ns[log.sends.operation[first[known]]]
        return sent

    @cached_property
    def _alarms(self) -> list[Alarm]:
        view, heard = self._view, self._view.heard
        operations, rows = self._log.operations, self._log.operations.rows_of(heard.op)
        alarms = []
        for row, kind, publisher in zip(rows.tolist(), heard.kind, heard.publisher, strict=True):
            if (at_ns := int(operations.end_ns[row])) != NONE:
                process, op = view.process_of(publisher or ""), int(operations.op[row])
                alarms.append(Alarm(row, kind == DEADLINE_MISSED, process, at_ns, op))
        return sorted(alarms, key=lambda alarm: alarm.at_ns)
