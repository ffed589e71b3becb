"""Whether somebody stood still, from counts of first deliveries by the second in which they were due.

A message that came more than the bound after it was due waited behind older ones if these came shortly before it: its
reader was late, but read. If none that was due before it had come for longer than the bound, its reader, or the
partition, may have stood still. The same if messages never came, and nothing else did any more. Which partition it was,
and whether the client asked, a digest does not tell: all this is a doubt. Times are told to a second.

Cost: O(s) for s seconds of the load, for each client.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from chaoskit.base.latency import durations_ns
from chaoskit.base.quantities import SECOND
from chaoskit.contract.checkers.checker import FaultWindow
from chaoskit.history.digesting.digest import SERIES
from chaoskit.history.format.intervals import Ints
from chaoskit.judge.timing.timing import Load

_TRAVELLED = SERIES.index("travelled")
Span = tuple[int, int]


@dataclass(slots=True)
class Arrivals:
    """When the first deliveries to some clients came, in s since the start of the load.

    Attributes:
        oldest: by the second in which something came, when the oldest of that was due.
        newest_s: when the newest message of all was due; negative if none came.
    """

    oldest: dict[int, int] = field(default_factory=dict)
    newest_s: int = -1

    @property
    def last_s(self) -> int:
        """When the last one came; negative if none did."""
        return max(self.oldest, default=-1)

    def add(self, counts: Ints) -> None:
        """Add the counts of a portion; see `chaoskit.history.digesting.digest.Portion`."""
        _, due_s, bucket, _ = counts[counts[:, 0] == _TRAVELLED].T
        came_s = due_s + durations_ns(bucket) // SECOND
        order = np.lexsort((due_s, came_s))
        seconds, first = np.unique(came_s[order], return_index=True)
        self._add(zip(seconds.tolist(), due_s[order][first].tolist(), strict=True), int(due_s.max(initial=-1)))

    def include(self, other: Arrivals) -> None:
        """Add those of another client."""
        self._add(other.oldest.items(), other.newest_s)

    def _add(self, oldest: Iterable[tuple[int, int]], newest_s: int) -> None:
        for came_s, due_s in oldest:
            self.oldest[came_s] = min(due_s, self.oldest.get(came_s, due_s))
        self.newest_s = max(self.newest_s, newest_s)

    def silences(self, load: Load, bound_ns: int) -> list[Span]:
        """Return the times of the load, longer than the bound, at whose end something came that had waited for longer
        than that, and in which nothing came that was due before it; ns since the start of the run."""
        seconds = np.array(sorted(self.oldest), np.int64)
        due = np.array([self.oldest[came_s] for came_s in seconds.tolist()], np.int64)
        silent: list[Span] = []
        for row in np.flatnonzero((seconds - due) * SECOND > bound_ns).tolist():
            earlier = np.flatnonzero(due[:row] <= due[row])
            since_s = max(int(due[row]), int(seconds[earlier[-1]]) if earlier.size else 0)
            from_ns, until_ns = load.begin_ns + since_s * SECOND, load.begin_ns + int(seconds[row]) * SECOND
            if until_ns - from_ns > bound_ns:
                silent.append((from_ns, min(until_ns, load.end_ns)))
        return silent

    def unanswered(self, load: Load, acked_ns: Sequence[int], bound_ns: int) -> list[Span]:
        """Return the time until the end of the load in which messages waited that never came, if nothing else came any
        more, or only what was sent much later.

        Args:
            load: when sends were due.
            acked_ns: when such messages had been acknowledged.
            bound_ns: the bound.
        """
        if not acked_ns:
            return []
        first_ns, last_ns = min(acked_ns), load.begin_ns + self.last_s * SECOND
        if last_ns + bound_ns < load.end_ns:
            return [(max(first_ns, last_ns), load.end_ns)]
        newest_ns = load.begin_ns + self.newest_s * SECOND
        return [(first_ns, load.end_ns)] if newest_ns > first_ns + bound_ns else []


def by_client(courses: Iterable[tuple[str, Ints]]) -> Mapping[str, Arrivals]:
    """Return the arrivals of each client, whatever its incarnation, given the counts of each portion."""
    arrivals: dict[str, Arrivals] = {}
    for client, counts in courses:
        arrivals.setdefault(client.partition("#")[0], Arrivals()).add(counts)
    return arrivals


def together(several: Iterable[Arrivals]) -> Arrivals:
    """Return the arrivals of some clients as those of one."""
    whole = Arrivals()
    for arrivals in several:
        whole.include(arrivals)
    return whole


def undisturbed(
    span_ns: Span, faults: Sequence[FaultWindow], clients: frozenset[str], paused: Span | None, bound_ns: int
) -> bool:
    """Return whether more than the bound is left of a time without faults that may have kept messages from clients,
    and the bound after each, and without the time in which all consumers were told to pause."""
    left: list[Span] = [span_ns]
    for fault in faults:
        if fault.delays and (fault.on_hosts or not fault.targets or clients & set(fault.targets)):
            over_ns = span_ns[1] if fault.healed_ns is None else fault.healed_ns + bound_ns
            left = [part for span in left for part in _without(span, (fault.start_ns, over_ns))]
    if paused is not None:
        left = [part for span in left for part in _without(span, paused)]
    return any(until_ns - from_ns > bound_ns for from_ns, until_ns in left)


def _without(span: Span, other: Span) -> list[Span]:
    parts = [(span[0], min(span[1], other[0])), (max(span[0], other[1]), span[1])]
    return [(from_ns, until_ns) for from_ns, until_ns in parts if until_ns > from_ns]
