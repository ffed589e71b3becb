"""What looks at the placements show, without those of an earlier state: who answered had just been away."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.guarantees.guarantee import Effect
from chaoskit.history.compacting.placements import Standing
from chaoskit.judge.explaining.harms import hosts_under
from chaoskit.judge.explaining.record import LOOK_NS

AWAY = Act.ENDS | Act.SILENCES | Act.CUTS
"""What keeps a host from taking part."""


def without_stale(standings: Sequence[Standing], effects: Sequence[Effect]) -> list[Standing]:
    """Return the looks at a partition without those that cannot have been so when they were made.

    Only a leader takes a replica back among those in sync: none was while it was away. And a replica that had just been
    away itself, and is out of sync again at the next look, was not in sync in between.
    """
    current: list[Standing] = []
    for index, standing in enumerate(standings):
        following = standings[index + 1] if index + 1 < len(standings) else None
        if not current or not _is_stale(standing, current[-1], following, effects):
            current.append(standing)
    return current


def _is_stale(standing: Standing, before: Standing, following: Standing | None, effects: Sequence[Effect]) -> bool:
    if standing.in_sync is None or before.in_sync is None or standing.leader != before.leader:
        return False
    grown, at_ns = standing.in_sync - before.in_sync, standing.at_ns
    if not grown:
        return False
    if standing.leader in hosts_under(effects, AWAY, at_ns, at_ns, proved=True):
        return True
    if following is None or following.in_sync is None or following.at_ns > at_ns + LOOK_NS:
        return False
    return not grown & following.in_sync and grown <= hosts_under(effects, AWAY | Act.STOPS, at_ns - LOOK_NS, at_ns)


def standing_at(standings: Sequence[Standing], at_ns: int) -> Standing:
    """Return what the last look before some time showed, or the first one."""
    known = [standing for standing in standings if standing.at_ns <= at_ns]
    return known[-1] if known else standings[0]


def acknowledging(standings: Sequence[Standing], acked_ns: int) -> Standing:
    """Return who stored the partition when a message was acknowledged: nobody acknowledges without a leader, so an
    acknowledgement that arrives just after the leader was seen to be gone is still its own."""
    before, now, soon = (standing_at(standings, acked_ns + ns) for ns in (-LOOK_NS, 0, LOOK_NS))
    return before if before.leader and not now.leader and not soon.leader else now
