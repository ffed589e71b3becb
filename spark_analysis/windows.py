"""Time windows before, during and after each fault."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chaoskit.history.format.fault import Fault
from chaoskit.judge.timing.timing import around_ns

BEFORE, DURING, AFTER = "before", "during", "after"


@dataclass(frozen=True)
class ImpactWindow:
    """A time window around one fault, ns since the start of the run; `end_ns` is exclusive."""

    fault: int
    kind: str
    phase: str
    start_ns: int
    end_ns: int


def windows_of(faults: Sequence[Fault], begin_ns: int, end_ns: int) -> list[ImpactWindow]:
    """Return the windows of faults that had an effect while sends were due.

    During: from the proved effect to the proved end. Before and after extend at most to the limits of the load
    and to neighbouring faults; if nothing is left because faults overlap, the window is omitted.
    """
    windows = []
    spans = [(fault.start_ns, fault.healed_ns or end_ns) for fault in faults]
    for index, fault in enumerate(faults):
        if fault.effective_ns is None:
            continue
        start, healed = spans[index]
        length = around_ns(healed - start)
        others = [span for number, span in enumerate(spans) if number != index]
        previous = max((healed_ns for start_ns, healed_ns in others if start_ns <= start), default=begin_ns)
        following = min((start_ns for start_ns, healed_ns in others if healed_ns >= healed), default=end_ns)
        phases = {
            BEFORE: (max(begin_ns, start - length, previous), start),
            DURING: (max(begin_ns, fault.effective_ns), min(healed, end_ns)),
            AFTER: (healed, min(end_ns, healed + length, following)),
        }
        windows += [
            ImpactWindow(fault.number, fault.kind, phase, first, last)
            for phase, (first, last) in phases.items()
            if first < last
        ]
    return windows
