"""What had happened before a fault that explains a finding: who was out of sync then, and because of which fault."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from chaoskit.contract.guarantees.guarantee import WAIT_FOR_REPLICAS
from chaoskit.history.compacting.placements import Placements, Standing
from chaoskit.history.format.fault import Fault
from chaoskit.judge.faults.consequence import LATE_NS
from chaoskit.model.place import Place


def chain(explaining: Container[int], faults: Sequence[Fault], placements: Placements, place: Place) -> str:
    """Return who was out of sync with a partition when the last of some faults began, in words; empty if nobody was.

    Args:
        explaining: numbers of the faults that explain a finding.
        faults: all faults of the run.
        placements: where partitions were stored.
        place: the partition.
    """
    causes = [fault for fault in faults if fault.number in explaining]
    last = max(causes, key=attrgetter("start_ns"), default=None)
    standings = placements.standings(place)
    before = [standing for standing in standings if last is not None and standing.at_ns <= last.start_ns]
    if last is None or not before or before[-1].in_sync is None:
        return ""
    now, in_sync = before[-1], before[-1].in_sync
    out = [_out(host, before, faults) for host in sorted(now.holders - in_sync)]
    if not out:
        return ""
    left = sorted(in_sync)
    rest = f"{left[0]} was the only replica in sync" if len(left) == 1 else f"{', '.join(left) or 'none'} were in sync"
    name = f"{place[0]}/{place[1]}"
    return f"{'; '.join(out)}: so {rest} for {name} when {last.kind} of {', '.join(last.targets)} began"


def with_procedure(remedy: str, causes: Iterable[Mapping[str, Any]]) -> str:
    """Return a remedy and, if somebody was out of sync before, what operators can do.

    Args:
        remedy: the setting to change; empty if none helps.
        causes: the causes, as in verdict.json.
    """
    if not any(cause["chain"] for cause in causes):
        return remedy
    return "; or ".join(dict.fromkeys(part for part in (remedy, WAIT_FOR_REPLICAS) if part))


def _out(host: str, standings: Sequence[Standing], faults: Sequence[Fault]) -> str:
    """Return since when a host has been out of sync, and which fault held on it then."""
    since_ns = standings[-1].at_ns
    for standing in reversed(standings):
        if host in (standing.in_sync or ()):
            break
        since_ns = standing.at_ns
    held = [
        fault.kind
        for fault in faults
        if host in fault.targets
        and fault.start_ns <= since_ns
        and (fault.healed_ns is None or since_ns <= fault.healed_ns + LATE_NS)
    ]
    why = f" ({', '.join(held)})" if held else ""
    return f"{host} had been out of sync since {since_ns / 1e9:.1f} s{why}"
