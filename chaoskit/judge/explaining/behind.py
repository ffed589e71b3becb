"""Deletions that a host never had, because it was not in sync for longer than they were kept: `Measure.BEHIND`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import Flags, Ints, integers, is_one_of
from chaoskit.base.quantities import SECOND
from chaoskit.contract.guarantees.mechanism import Limit
from chaoskit.history.compacting.placements import Standing
from chaoskit.judge.explaining.cases import Cases
from chaoskit.judge.explaining.derived import Derived, Story
from chaoskit.judge.explaining.record import Record
from chaoskit.model.operation import DELETE, SENDING

_SEEN_LATE_NS = 2 * SECOND
"""Placements are asked for again and again; a change is seen so much later at most."""

_NOT_TOLD = "nobody recorded which replicas were in sync"


def derive_behind(record: Record, mechanism: Limit, cases: Cases) -> Derived:
    """Return which deletions were kept for less time than a host was behind that led the partition afterwards."""
    derived = Derived.nothing(cases.size)
    for place, own in cases.by_place():
        standings = record.placements.standings(place)
        if not any(standing.in_sync is not None for standing in standings):
            derived.doubt(own, _NOT_TOLD)
            continue
        rows = own[_deletes(record, cases, own)]
        stored_ns = cases.stored_ns(cases.message)[rows]
        for host in frozenset().union(*(standing.holders for standing in standings)):
            for from_ns, until_ns in _behind(standings, host):
                lacks = (stored_ns >= from_ns - _SEEN_LATE_NS) & (stored_ns + mechanism.most <= until_ns)
                during = [effect for effect in record.effects if host in effect.targets]
                causes = tuple(one for one in during if one.start_ns <= until_ns and one.over_ns >= from_ns)
                words = f"{host} was not in sync from {from_ns / 1e9:.1f} s to {until_ns / 1e9:.1f} s, and led later"
                derived.tell(rows[np.flatnonzero(lacks)], Story(words, causes))
    return derived


def _deletes(record: Record, cases: Cases, rows: Ints) -> Flags:
    """Return whether each message is a deletion: nothing else goes because it was kept for long enough."""
    if record.history is None:
        return np.ones(rows.size, np.bool_)
    operations = record.history.operations
    at = np.searchsorted(integers(operations["op"]), cases.op[rows])  # a finding is about an operation that there is
    return is_one_of(operations["f"].take(pa.array(at)), [SENDING[DELETE]])


def _behind(standings: list[Standing], host: str) -> Iterator[tuple[int, int]]:
    """Yield from when to when a host was not in sync that led then, or afterwards."""
    since_ns: int | None = None
    led_ns = max((standing.at_ns for standing in standings if standing.leader == host), default=-1)
    for standing in standings:
        inside = standing.in_sync is None or host in standing.in_sync or host == standing.leader
        if not inside and since_ns is None:
            since_ns = standing.at_ns
        elif inside and since_ns is not None:
            if led_ns >= standing.at_ns:
                yield since_ns, standing.at_ns
            since_ns = None
