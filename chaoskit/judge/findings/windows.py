"""The faults of a run as checkers of one partition see them: when, on whom, and whether it is known to be elsewhere.

A fault on hosts is elsewhere if all of them stored or led other partitions, none of them this one, and they were fewer
than half of such hosts together with those of all faults at the same time: the others can go on without them. A host
that stored nothing may be needed by all, for it may elect leaders; a link has two ends, and what moves leaders moves
them somewhere. Where nobody recorded who stored a partition, no fault is elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from chaoskit.base.errors import BadInput
from chaoskit.contract.checkers.checker import FaultWindow
from chaoskit.contract.faults.nemesis import Nemesis
from chaoskit.contract.guarantees.act import Act, Damage
from chaoskit.contract.installed import nemesis
from chaoskit.history.compacting.placements import Placements
from chaoskit.history.format.fault import Fault
from chaoskit.history.reading.reader import History
from chaoskit.model.place import Place

_HOLDS = Act.SILENCES | Act.HANGS


def windows(
    faults: Sequence[Fault], placements: Placements, places: Sequence[Place], bound_ns: int
) -> dict[Place, tuple[FaultWindow, ...]]:
    """Return the faults of a run for each partition.

    Args:
        faults: the faults, by number.
        placements: where each partition was stored.
        places: the partitions.
        bound_ns: how long the system may take to recover from a fault.
    """
    kinds = [_kind(fault) for fault in faults]
    plain = [_window(fault, kind) for fault, kind in zip(faults, kinds, strict=True)]
    storing = frozenset().union(*(placements.holders(place, 0, None) or () for place in placements.places))
    struck = [_struck(fault, faults, kinds, bound_ns) for fault in faults]
    return {
        place: tuple(
            replace(window, elsewhere=_elsewhere(window, hosts, placements, place, storing, bound_ns))
            for window, hosts in zip(plain, struck, strict=True)
        )
        for place in places
    }


def faced(history: History, bound_ns: int) -> tuple[FaultWindow, ...]:
    """Return the faults of a run, none of them elsewhere."""
    nowhere: Place = ("", 0)
    return windows(history.recorded_faults, history.placements, [nowhere], bound_ns)[nowhere]


def paused(liveness: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return when all consumers were told to pause, given recovery.json, ns since the start of the run; None: never."""
    load = liveness.get("load") or {}
    backlog = load.get("backlog")
    if not backlog:
        return None
    resumed_ns = backlog["resumed_ns"]
    return backlog["paused_ns"], load["end_ns"] if resumed_ns is None else resumed_ns


def _kind(fault: Fault) -> Nemesis | None:
    """Return the kind of a fault; None if it is not installed here."""
    try:
        return nemesis(fault.kind)
    except BadInput:
        return None


def _window(fault: Fault, kind: Nemesis | None) -> FaultWindow:
    times = fault.start_ns, fault.effective_ns, fault.healed_ns
    if kind is None:
        return FaultWindow(fault.number, fault.kind, *times, fault.targets)
    damage = kind.damage(kind.parameters.model_validate(fault.parameters))
    return FaultWindow(
        fault.number,
        fault.kind,
        *times,
        fault.targets,
        kind.hits == "hosts",
        kind.delays,
        damages=damage is not Damage.NONE,
        undone_ns=fault.heal_ns,
        holds=kind.hits == "clients" and bool(kind.does & _HOLDS) and not kind.does & Act.ENDS,
    )


def _struck(
    fault: Fault, faults: Sequence[Fault], kinds: Sequence[Nemesis | None], bound_ns: int
) -> frozenset[str] | None:
    """Return the hosts that a fault hit, with those that others hit at the same time, or within the bound before or
    after; None if links are among that, or it is not known."""
    hosts: set[str] = set()
    for other, kind in zip(faults, kinds, strict=True):
        together = _over_ns(other, bound_ns) >= fault.start_ns and other.start_ns <= _over_ns(fault, bound_ns)
        if not together or (kind is not None and (kind.hits == "clients" or not kind.delays)):
            continue
        if kind is None or kind.on_links or kind.moves or not other.targets:
            return None
        hosts |= {*other.targets}
    return frozenset(hosts)


def _over_ns(fault: Fault, bound_ns: int) -> float:
    return float("inf") if fault.healed_ns is None else fault.healed_ns + bound_ns


def _elsewhere(  # noqa: PLR0917 - what is known of a fault and a partition
    window: FaultWindow,
    struck: frozenset[str] | None,
    placements: Placements,
    place: Place,
    storing: frozenset[str],
    bound_ns: int,
) -> bool:
    if not window.on_hosts or not struck or not placements.knows_leader(place):
        return False
    until_ns = None if window.healed_ns is None else window.healed_ns + bound_ns
    here = placements.holders(place, window.start_ns - bound_ns, until_ns)
    return here is not None and struck <= storing - here and 2 * len(struck) < len(storing)
