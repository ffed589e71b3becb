"""Faults that began later than planned, because whom they hit had to be found out first, or their hosts were slow; and
faults that took effect when the load was over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chaoskit.base.quantities import SECOND
from chaoskit.history.format.fault import Fault
from chaoskit.scenario.timeline import PlannedFault

_LATE_NS = SECOND


def late_starts(recorded: Sequence[Fault], planned: Sequence[PlannedFault], load_start_ns: int) -> dict[int, int]:
    """Return by how much faults began too late, ns, by number. One that waits for its turn, or for something to happen,
    has no time at which it is due.

    Args:
        recorded: the faults as they were recorded.
        planned: the faults as they were planned, by number.
        load_start_ns: when the load began, ns since the start of the run.
    """
    late = {}
    for fault in recorded:
        plan = planned[fault.number] if fault.number < len(planned) else None
        if plan is None or plan.trigger is not None or plan.at_most is not None or not fault.targets:
            continue
        late_ns = fault.start_ns - load_start_ns - plan.at_ns
        if late_ns > _LATE_NS:
            late[fault.number] = late_ns
    return late


def other_incidents(recorded: Sequence[Fault], late: dict[int, int]) -> Iterator[str]:
    """Yield which faults began so late that another one began or was healed meanwhile: it was another incident."""
    for fault in recorded:
        late_ns = late.get(fault.number)
        if late_ns is None:
            continue
        due_ns = fault.start_ns - late_ns
        for other in recorded:
            begun = due_ns < other.start_ns < fault.start_ns
            if other.number == fault.number or not (begun or due_ns < (other.healed_ns or 0) < fault.start_ns):
                continue
            what, beside = (f"{candidate.kind} of {', '.join(candidate.targets)}" for candidate in (fault, other))
            meanwhile = f"{beside} {'began' if begun else 'was healed'} meanwhile"
            yield (
                f"{what} began {late_ns / 1e9:.1f} s late, and {meanwhile}: a different incident; leave more time "
                "between them, or let it wait for what it needs (after, when)"
            )
            break


def after_the_load(faults: Sequence[Mapping[str, Any]], end_ms: float) -> Iterator[str]:
    """Yield which faults of verdict.json took effect only when the load was over; of those of one kind of which others
    took effect before, none.

    Args:
        faults: the faults.
        end_ms: when the load ended, ms since the start of the run.
    """
    effective = [fault for fault in faults if fault["effective"] and fault.get("effective_ms") is not None]
    in_time = {fault["kind"] for fault in effective if fault["effective_ms"] <= end_ms}
    for fault in effective:
        if fault["kind"] not in in_time:
            what, at_s = f"{fault['kind']} of {', '.join(fault['targets'])}", fault["effective_ms"] / 1000
            over = f"when the load was over (at {end_ms / 1000:.1f} s)"
            remedy, took_s = "begin it earlier", at_s - fault["at_ms"] / 1000
            if fault["at_ms"] < end_ms:
                remedy = f"it took {took_s:.1f} s: begin it earlier, or make workload.duration longer by as much"
            yield f"{what} took effect at {at_s:.1f} s, {over}; {remedy}"
