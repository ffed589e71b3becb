"""Runs a workload with a driver at one rate after the other, until the highest one that is borne is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from chaoskit.interop.omb.benched import Benched
from chaoskit.interop.omb.ladder import Bracket, search
from chaoskit.interop.omb.plans import Bench

_STEP_NS, _WARM_UP_NS = 10_000_000_000, 5_000_000_000
_FIRST, _HIGHEST = 1000, 2_000_000
_BACKLOG_MIN, _BACKLOG_S = 1000, 1
"""Messages that may wait for consumers at the end: OMB's bound, or what is sent in this time."""


@dataclass(frozen=True, slots=True)
class ClimbStep:
    """A rate that was tried.

    Attributes:
        rate: messages per second.
        found: what it did.
        why_not: why it was not borne; empty if it was.
    """

    rate: int
    found: Benched
    why_not: str


def climbs(bench: Bench) -> bool:
    """Return whether a rate is looked for: the command line gives a bound, or the workload's rate is 0."""
    return bench.wishes.p99_ns is not None or bench.workload.producerRate == 0


def climb(
    bench: Bench, run: Callable[[Bench], Benched], on_step: Callable[[ClimbStep], None]
) -> tuple[Bracket, list[ClimbStep]]:
    """Look for the highest rate that is borne; return it with all steps.

    Args:
        bench: what to run.
        run: runs it.
        on_step: receives each step.
    """
    steps: list[ClimbStep] = []

    def bears(rate: int) -> bool:
        result = run(bench.at(rate, _WARM_UP_NS, _STEP_NS))
        step = ClimbStep(rate, result, why_not(result, rate, bench.wishes.p99_ns))
        steps.append(step)
        on_step(step)
        return not step.why_not

    return search(bears, _FIRST, _HIGHEST), steps


def why_not(result: Benched, rate: int, p99_ns: int | None) -> str:
    """Return why a rate was not borne; empty if it was."""
    late_ms = result.document["aggregatedPublishDelayLatency99pct"] / 1000
    backlog = result.document["backlog"][-1]
    if result.doubts:
        return result.doubts[0]
    if p99_ns is not None and late_ms * 1e6 > p99_ns:
        return f"1 % of the sends were made {late_ms:,.1f} ms late or more"
    if p99_ns is not None and result.due_p99_ms * 1e6 > p99_ns:
        return f"p99 from when a send was due was {result.due_p99_ms:,.1f} ms"
    if result.document["endToEndLatencyAvg"][-1] and backlog > max(_BACKLOG_MIN, rate * _BACKLOG_S):
        return f"{backlog:,} messages waited for their consumers"
    return "" if result.verdict.verdict == "valid" else result.verdict.headline
