"""Which faults were at a time at which they can have caused a finding.

A finding about a message may be caused by faults around the time at which it was written; one about what a reader or
consumer experienced by faults before that, which were not over long before what was violated had come to hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base.quantities import SECOND
from chaoskit.contract.anomaly import About, Anomaly
from chaoskit.contract.guarantee import Damage, Effect

FOREVER = np.iinfo(np.int64).max
NEVER = np.iinfo(np.int64).min

_UNSYNCED_NS = 60 * SECOND
"""How long data may stay in memory only; Linux writes dirty pages back after 30 s (`vm.dirty_expire_centisecs`)."""

SETTLING_NS = 30 * SECOND
"""How long after its healing a fault may still have consequences for what is written, or comes to hold, then."""

_NOTICING_NS = 60 * SECOND
"""How long after the healing of a fault a consumer may still notice consequences of which it is not known since when
they were there, or which need no damage."""

UNAWARE_NS = 10 * SECOND
"""How long after the healing of a fault a leader that was replaced meanwhile may not know it: connections that were cut
try again after a pause that grows with the time they were (RFC 6298, back-off)."""

CLOCKS_NS = SECOND // 10
"""A fault is recorded by another process than what it did."""

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Times:
    """The times of findings, one element each.

    Attributes:
        experienced: whether it is about what a client experienced, not about a message.
        at_ns: when that was.
        since_ns: when what was violated had come to hold, as told by the checker; `NEVER` if it was not.
        written_ns: the same, or when the first of its messages was written; `FOREVER` if neither is known.
        writes: intervals in which its messages were written; for a pair, a fault must fit one of the two.
    """

    experienced: Flags
    at_ns: Ints
    since_ns: Ints
    written_ns: Ints
    writes: tuple[tuple[Ints, Ints], ...]

    @classmethod
    def of(cls, anomaly: Anomaly, rows: pa.Table) -> Times:
        """Return the times of rows of schema `FINDINGS`."""
        at, since = rows["at_ns"], rows["since_ns"]
        written = pc.coalesce(since, pc.min_element_wise(rows["written_ns"], rows["other_written_ns"]))
        writes = [_interval(pc.coalesce(rows["written_ns"], at), pc.coalesce(rows["acked_ns"], rows["written_ns"], at))]
        if anomaly.about is About.PAIR:
            other = rows["other_written_ns"]
            lows, highs = _interval(other, pc.coalesce(rows["other_acked_ns"], other))
            unknown = pc.is_null(other).to_numpy()
            writes.append((np.where(unknown, writes[0][0], lows), np.where(unknown, writes[0][1], highs)))
        told = pc.is_valid(since).to_numpy()
        return cls(
            experienced=told | (anomaly.about is About.READING),
            at_ns=at.fill_null(NEVER).to_numpy(),
            since_ns=since.fill_null(NEVER).to_numpy(),
            written_ns=written.fill_null(FOREVER).to_numpy(),
            writes=tuple(writes),
        )

    def as_written(self) -> Times:
        """Return the times of findings that are all about messages."""
        return replace(self, experienced=np.zeros_like(self.experienced))

    @property
    def until_ns(self) -> Ints:
        """When it was experienced, or its message acknowledged: a cause that began later is the likelier one."""
        return np.where(self.experienced, self.at_ns, self.writes[0][1])

    @property
    def first_write_ns(self) -> Ints:
        """When the first of its messages was written, or when it was experienced."""
        low = np.minimum.reduce([low for low, _ in self.writes])
        return np.where(self.experienced & (self.written_ns != FOREVER), self.written_ns, low)

    def fit(self, effect: Effect, since_ns: Ints, lag_ns: int) -> Flags:
        """Return whether a fault was at a time that fits each finding.

        Args:
            effect: the fault.
            since_ns: for each finding, when the first of the faults began that this one follows without a pause;
                replicas may lag since then.
            lag_ns: see `chaoskit.contract.guarantee.Guarantees`.
        """
        latest_ns, earliest_ns = _latest(effect, SETTLING_NS), _earliest(effect, since_ns, lag_ns)
        about_messages: Flags = np.logical_or.reduce(
            [(low <= latest_ns) & (high >= earliest_ns) for low, high in self.writes]
        )
        return np.where(self.experienced, self._noticed(effect), about_messages)

    def _noticed(self, effect: Effect) -> Flags:
        soon = self.at_ns <= _latest(effect, _NOTICING_NS)
        before = self.written_ns <= _latest(effect, SETTLING_NS)
        held = self.since_ns <= _latest(effect, SETTLING_NS)
        lasting = np.where(self.written_ns == FOREVER, soon, before) if effect.damage else soon & held
        noticed: Flags = (self.at_ns >= effect.start_ns - CLOCKS_NS) & lasting
        return noticed


def chained(effects: Sequence[Effect], delaying: Sequence[Effect]) -> list[int]:
    """Return for each fault when the first of those began that it follows without a pause.

    Args:
        effects: the faults, in order of time.
        delaying: those of them that may have delayed a holder of the data; only these form a chain.
    """
    since: list[int] = []
    begun = over = NEVER
    for effect in effects:
        if effect.start_ns > over:
            begun = effect.start_ns
        since.append(begun)
        if effect in delaying:
            over = max(over, FOREVER if effect.healed_ns is None else effect.healed_ns)
    return since


def _latest(effect: Effect, later_ns: int) -> int:
    """Return until when a fault has consequences; files that were changed stay so."""
    lasting = effect.healed_ns is None or bool(effect.damage & Damage.CORRUPTS)
    return FOREVER if lasting or effect.healed_ns is None else effect.healed_ns + later_ns


def _earliest(effect: Effect, since_ns: Ints, lag_ns: int) -> Ints:
    """Return the time from which on messages were written that a fault may have touched."""
    if effect.ahead_ns or effect.damage & (Damage.CORRUPTS | Damage.DESTROYS):
        return np.full_like(since_ns, NEVER)
    start_ns = effect.start_ns - CLOCKS_NS
    return np.minimum(start_ns - (_UNSYNCED_NS if effect.damage else lag_ns), since_ns - lag_ns)


def _interval(low: pa.ChunkedArray, high: pa.ChunkedArray) -> tuple[Ints, Ints]:
    return low.fill_null(NEVER).to_numpy(), high.fill_null(FOREVER).to_numpy()
