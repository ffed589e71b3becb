"""What `chaoskit bench` prints of its results, and its page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from chaoskit.cli.output.console import print_table
from chaoskit.cli.output.saying import say
from chaoskit.interop.omb.benched import Benched, ReadBacklog
from chaoskit.interop.omb.climb import ClimbStep
from chaoskit.interop.omb.ladder import Bracket
from chaoskit.interop.omb.plans import Bench
from chaoskit.interop.omb.recording import RecordingCost
from chaoskit.report.benchmarks_page import Measurement, Rung, write_benchmarks
from chaoskit.report.words import describe_machine

_COLUMNS = ("workload", "driver", "acked/s", "p50 ms", "p99 ms", "p99.9 ms", "max ms", "end to end p50 / p99 ms",
    "acked", "lost", "verdict")  # fmt: skip
_POINTS = ("50pct", "99pct", "999pct", "Max")


def show(results: Sequence[Benched], costs: Sequence[RecordingCost]) -> None:
    """Print the table of results, what recording costs, what the machine did, and which of the results are none."""
    print_table(_COLUMNS, map(_row, results), left=2)
    say("", "Latencies are measured from the call of send to its acknowledgement, without the warm-up.")
    for cost in costs:
        say(f"{recording(cost)}.")
    for result in results:
        name = f"{result.bench.stem} with {result.bench.driver.stem}"
        if result.backlog:
            say(f"{name}: {_backlog_in_words(result.backlog)}")
        if result.machine:
            say(f"{name}: {describe_machine(result.machine)}")
        for why in result.doubts:
            say(f"* NOT a measurement of the system: {name}: {why}")


def _row(result: Benched) -> list[str]:
    publish = [result.document[f"aggregatedPublishLatency{point}"] for point in _POINTS]
    travel = [result.document[f"aggregatedEndToEndLatency{point}"] for point in ("50pct", "99pct")]
    return [
        result.bench.stem,
        result.bench.driver.stem,
        f"{result.acked_per_s:,.0f}" + ("*" if result.doubts else ""),
        *(f"{value:,.2f}" for value in publish),
        " / ".join(f"{value:,.2f}" for value in travel),
        f"{result.verdict.counts['acked']:,}",
        f"{result.verdict.lost:,}",
        result.verdict.verdict,
    ]


def recording(cost: RecordingCost) -> str:
    """Return what recording costs in words."""
    return (
        f"Recording a message of {cost.size:,} bytes takes {cost.burst_us:.1f} us of CPU time when it is sent "
        f"({cost.single_us:.1f} us if the client sends one at a time) and {cost.received_us:.1f} us when it is "
        "received (measured on this machine before the benchmark, without a system)"
    )


def _backlog_in_words(backlog: ReadBacklog) -> str:
    """Return what became of a backlog in words."""
    if backlog.built_s is None:
        return "the backlog was not built in time"
    built = f"backlog of {backlog.messages:,} messages built in {backlog.built_s:,.1f} s"
    if backlog.read_s is None:
        return f"{built}, NOT read in time"
    return f"{built}, read in {backlog.read_s:,.1f} s at {backlog.received_per_s:,.0f}/s"


def _measurement(result: Benched) -> Measurement:
    """Return a result as the page shows it."""
    return Measurement(
        workload=result.bench.stem,
        system=result.bench.driver.stem,
        run=str(result.folder),
        verdict=result.verdict.verdict.upper(),
        acked=result.verdict.counts["acked"],
        lost=result.verdict.lost,
        acked_per_s=result.acked_per_s,
        backlog=_backlog_in_words(result.backlog) if result.backlog else "",
        document=result.document,
        machine=result.machine,
        doubts=result.doubts,
    )


def show_step(step: ClimbStep) -> None:
    """Print a rate that was tried."""
    document = step.found.document
    p50 = document["aggregatedPublishLatency50pct"]
    borne = f"NOT sustained: {step.why_not}" if step.why_not else "sustained"
    line = f"{step.found.acked_per_s:,.0f}/s acknowledged, p50 {p50:,.2f} ms, "
    line += f"p99 from the due time {step.found.due_p99_ms:,.2f} ms"
    say(f"{step.rate:>9,}/s: {line}: {borne}")


def show_bracket(bench: Bench, bracket: Bracket) -> None:
    """Print the highest rate that was borne."""
    limit = f" with p99 below {bench.wishes.p99_ns / 1e6:,.0f} ms" if bench.wishes.p99_ns else ""
    highest = f"{bracket.borne:,}/s (twice)" if bracket.borne else "none"
    above = f"; {bracket.failed:,}/s was not sustained (twice)" if bracket.failed else ""
    say(f"{bench.stem} with {bench.driver.stem}: highest sustained rate{limit}: {highest}{above}")


def _rung(step: ClimbStep) -> Rung:
    """Return a rate that was tried as the page shows it."""
    bench = step.found.bench
    return Rung(bench.stem, bench.driver.stem, step.found.acked_per_s, step.found.document, step.why_not)


def write_html(
    path: Path, results: Sequence[Benched], steps: Sequence[ClimbStep], costs: Sequence[RecordingCost]
) -> None:
    """Write the page with results, the rates that were tried, and what recording costs."""
    write_benchmarks(list(map(_measurement, results)), path, list(map(_rung, steps)), list(map(recording, costs)))
