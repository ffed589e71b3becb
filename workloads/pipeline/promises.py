"""What an application's promise allows, and forbids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chaoskit.contract.guarantees.guarantee import Declared, Rule
from chaoskit.contract.guarantees.mechanism import Choice, Mechanism
from chaoskit.contract.workloads.datamodel import OUTPUT
from chaoskit.contract.workloads.traits import Piped

_SOURCE = "the application's own promise, `workload.promise`"


def _repeats(declared: Declared) -> Sequence[Mechanism]:
    piped = declared.get(Piped)
    if piped is None:
        return ()
    own, why = dict(piped.of_sinks), "at-least-once: an input may be processed again"
    if not own:
        return (Choice(why=f"promise: {why}"),) if piped.promise == "at-least-once" else ()
    sinks = [topic.name for topic in declared.topics if topic.model is OUTPUT]
    again = tuple(name for name in sinks if own.get(name, piped.promise) == "at-least-once")
    return (Choice(why=f"promise of {', '.join(again)}: {why}", topics=again),) if again else ()


def _leaves_out(declared: Declared) -> Sequence[Mechanism]:
    piped = declared.get(Piped)
    if piped is None or piped.promise != "at-most-once":
        return ()
    return (Choice(why="promise: at-most-once: an input may not be processed"),)


RULES = (
    Rule(
        "pipeline.at-least-once",
        ("processed-twice",),
        _repeats,
        "commit in one transaction with the output, or have the sink recognise what it has already; then write "
        "promise: exactly-once",
        _SOURCE,
        "applications/auto-commit-pool:right",
        "applications/transaction-ids:right",
    ),
    Rule(
        "pipeline.at-most-once",
        ("unprocessed", "half-processed"),
        _leaves_out,
        "commit after the work is done; then write promise: at-least-once",
        _SOURCE,
        "applications/commit-first:promised",
        "applications/commit-first:right",
    ),
)


def promises(declared: Declared) -> Mapping[str, str]:
    """Return why each anomaly of applications must not occur."""
    piped = declared.get(Piped)
    if piped is None:
        return {}
    why = ", ".join([f"promise: {piped.promise}", *(f"of {name}: {promise}" for name, promise in piped.of_sinks)])
    names = ("unprocessed", "half-processed", "processed-twice", "out-of-order", "made-up", "not-drained", "too-late")
    return dict.fromkeys(names, why)
