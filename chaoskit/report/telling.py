"""Events as text: one line for each event of interest, nothing for the rest."""

from __future__ import annotations

from chaoskit.contract.event import (
    ApplicationAwaited,
    Event,
    FaultDropped,
    FaultFailed,
    FaultHealed,
    FaultProved,
    HostsKept,
    Interrupted,
    LoadHeld,
    PhaseBegun,
    Problem,
    ServiceRevived,
)


def told(event: Event) -> str:  # noqa: PLR0911, C901  # one for each event
    """Return an event of a run as one line; empty if it is of no interest.

    >>> told(FaultProved(0, "kill", ("n1",), "no process on n1"))
    'kill on n1: no process on n1'
    """
    match event:
        case PhaseBegun(name):
            return name
        case ApplicationAwaited(names, file, within_s):
            known = ", ".join(f"{name}={value}" for name, value in names.items())
            return f"start your application now, within {within_s:g} s: {known} (also in {file})"
        case FaultProved(_, kind, targets, evidence, _):
            return f"{kind} on {', '.join(targets)}: {evidence}"
        case FaultHealed(_, kind, targets, evidence, _):
            return f"healed {kind} on {', '.join(targets)}: {evidence}"
        case FaultFailed(_, kind, problem):
            return f"{kind}: {problem}"
        case LoadHeld(kinds):
            return f"the load continues for a while: faults that are due but not yet in effect: {', '.join(kinds)}"
        case FaultDropped(_, kind):
            return f"{kind}: dropped; it was still waiting for its turn when the load ended"
        case ServiceRevived(host, service, why):
            return f"{service} on {host} was restarted: it {why}"
        case Interrupted():
            return "interrupted: healing faults, then judging what was recorded (press Ctrl-C again to abort)"
        case HostsKept(access):
            return f"the hosts were left running; `chaoskit heal` stops them. To log in: {'; '.join(access)}"
        case Problem(text):
            return text
        case _:
            return ""
