"""Events in words: a line for those that people want to read, nothing for the rest."""

from __future__ import annotations

from chaoskit.contract.event import (
    Event,
    FaultDropped,
    FaultFailed,
    FaultHealed,
    FaultProved,
    HostsKept,
    Interrupted,
    PhaseBegun,
    Problem,
)


def told(event: Event) -> str:  # noqa: PLR0911  # one for each event
    """Return an event of a run as one line; empty for one that is no news.

    >>> told(FaultProved(0, "kill", ("n1",), "no process on n1"))
    'kill on n1: no process on n1'
    """
    match event:
        case PhaseBegun(name):
            return name
        case FaultProved(_, kind, targets, evidence):
            return f"{kind} on {', '.join(targets)}: {evidence}"
        case FaultHealed(_, kind, targets, evidence):
            return f"healed {kind} on {', '.join(targets)}: {evidence}"
        case FaultFailed(_, kind, problem):
            return f"{kind}: {problem}"
        case FaultDropped(_, kind):
            return f"{kind}: dropped, as it was still waiting for its turn when the load ended"
        case Interrupted():
            return "interrupted: healing, then checking what was recorded (press Ctrl-C again to give up)"
        case HostsKept(access):
            return f"the hosts are left running; `chaoskit heal` ends them. To look: {'; '.join(access)}"
        case Problem(text):
            return text
        case _:
            return ""
