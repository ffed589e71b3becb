"""What `chaoskit bench` prints of its results."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.cli.console import print_table
from chaoskit.cli.saying import say
from chaoskit.interop.omb.benched import Benched, ReadBacklog
from chaoskit.interop.omb.climb import ClimbStep
from chaoskit.interop.omb.ladder import Bracket
from chaoskit.interop.omb.plans import Bench
from chaoskit.interop.omb.recording import RecordingCost
from chaoskit.report.benchmarks_page import Measurement, Rung
from chaoskit.report.words import describe_machine

_COLUMNS = ("workload", "driver", "acked/s", "p50 ms", "p99 ms", "p99.9 ms", "max ms", "end to end p50 / p99 ms",
    "acked", "lost", "verdict")  # fmt: skip
_POINTS = ("50pct", "99pct", "999pct", "Max")


def show(told: Sequence[Benched], costs: Sequence[RecordingCost]) -> None:
    """Print the table of results, what recording costs, what the machine did, and which of the results are none."""
    print_table(_COLUMNS, map(_row, told), left=2)
    say("", "Latencies are from the call of send to its acknowledgement; the warm-up does not count.")
    for cost in costs:
        say(f"{recording(cost)}.")
    for each in told:
        name = f"{each.bench.stem} with {each.bench.driver.stem}"
        if each.backlog:
            say(f"{name}: {_told(each.backlog)}")
        if each.machine:
            say(f"{name}: {describe_machine(each.machine)}")
        for why in each.doubts:
            say(f"* NOT a measurement of the system: {name}: {why}")


def _row(each: Benched) -> list[str]:
    publish = [each.document[f"aggregatedPublishLatency{point}"] for point in _POINTS]
    travel = [each.document[f"aggregatedEndToEndLatency{point}"] for point in ("50pct", "99pct")]
    return [
        each.bench.stem,
        each.bench.driver.stem,
        f"{each.acked_per_s:,.0f}" + ("*" if each.doubts else ""),
        *(f"{value:,.2f}" for value in publish),
        " / ".join(f"{value:,.2f}" for value in travel),
        f"{each.verdict.counts['acked']:,}",
        f"{each.verdict.lost:,}",
        each.verdict.verdict,
    ]


def recording(cost: RecordingCost) -> str:
    """Return what recording costs in words."""
    return (
        f"Recording a message of {cost.size:,} bytes takes {cost.burst_us:.1f} us of a core when it is sent "
        f"({cost.single_us:.1f} us where the client takes one at a time), and {cost.received_us:.1f} us when it is "
        "received: measured on this machine just before, without a system"
    )


def _told(backlog: ReadBacklog) -> str:
    """Return what became of a backlog in words."""
    if backlog.built_s is None:
        return "the backlog was not built in time"
    built = f"backlog of {backlog.messages:,} messages built in {backlog.built_s:,.1f} s"
    if backlog.read_s is None:
        return f"{built}, NOT read in time"
    return f"{built}, read in {backlog.read_s:,.1f} s at {backlog.received_per_s:,.0f}/s"


def measurement(each: Benched) -> Measurement:
    """Return a result as the page shows it."""
    return Measurement(
        workload=each.bench.stem,
        system=each.bench.driver.stem,
        run=str(each.folder),
        verdict=each.verdict.verdict.upper(),
        acked=each.verdict.counts["acked"],
        lost=each.verdict.lost,
        acked_per_s=each.acked_per_s,
        backlog=_told(each.backlog) if each.backlog else "",
        document=each.document,
        machine=each.machine,
        doubts=each.doubts,
    )


def show_step(step: ClimbStep) -> None:
    """Print a rate that was tried."""
    document = step.found.document
    p50 = document["aggregatedPublishLatency50pct"]
    borne = f"NOT borne: {step.why_not}" if step.why_not else "borne"
    told = f"{step.found.acked_per_s:,.0f}/s acknowledged, p50 {p50:,.2f} ms, "
    told += f"p99 from when due {step.found.due_p99_ms:,.2f} ms"
    say(f"{step.rate:>9,}/s: {told}: {borne}")


def show_bracket(bench: Bench, found: Bracket) -> None:
    """Print the highest rate that was borne."""
    limit = f" with p99 below {bench.wishes.p99_ns / 1e6:,.0f} ms" if bench.wishes.p99_ns else ""
    highest = f"{found.borne:,}/s, twice" if found.borne else "none"
    above = f"; {found.failed:,}/s was not, twice" if found.failed else ""
    say(f"{bench.stem} with {bench.driver.stem}: highest rate borne{limit}: {highest}{above}")


def rung(step: ClimbStep) -> Rung:
    """Return a rate that was tried as the page shows it."""
    bench = step.found.bench
    return Rung(bench.stem, bench.driver.stem, step.found.acked_per_s, step.found.document, step.why_not)
