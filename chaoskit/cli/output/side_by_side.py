"""What `chaoskit sweep` prints of systems side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from chaoskit.base.quantities import format_size
from chaoskit.cli.output.console import print_table
from chaoskit.cli.output.saying import say
from chaoskit.report.side_by_side import RoundTrip, SideBySide, SystemFate, Throughput


def show_side_by_side(comparison: SideBySide) -> None:
    """Print a table of round trips, one of throughput, and one of what became of the messages."""
    trips = ("half a round trip", "payload", "p50 us", "p99 us", "published us", "without an answer", "verdict")
    rates = ("throughput", "payload", "messages/s", "MB/s", "sent", *_counted(comparison.throughputs), "verdict")
    fates = ("system", "load", "acknowledged", "received", *_counted(comparison.fates), "verdict")
    tables = (
        (trips, list(map(_trip, comparison.round_trips))),
        (rates, list(map(_rate, comparison.throughputs))),
        (fates, list(map(_fate, comparison.fates))),
    )
    for columns, rows in tables:
        if rows:
            say()
            print_table(columns, rows, left=2)
    for name in comparison.lacking:
        say(f"without a result: {name}")


def _counted(measurements: Sequence[Throughput] | Sequence[SystemFate]) -> Iterable[str]:
    return measurements[0].found if measurements else ()


def _trip(trip: RoundTrip) -> list[str]:
    figures = ("" if value is None else f"{value:,.0f}" for value in (trip.p50_us, trip.p99_us, trip.published_us))
    unanswered = f"{trip.unanswered:,}" if trip.verdict else ""
    return [trip.name, format_size(trip.payload), *figures, unanswered, trip.verdict]


def _rate(throughput: Throughput) -> list[str]:
    figures = f"{throughput.messages_per_s:,.0f}", f"{throughput.bytes_per_s / 1e6:,.1f}", f"{throughput.sent:,}"
    counted = (f"{count:,}" for count in throughput.found.values())
    return [throughput.name, format_size(throughput.payload), *figures, *counted, throughput.verdict]


def _fate(fate: SystemFate) -> list[str]:
    counted = (f"{count:,}" for count in fate.found.values())
    return [fate.name, fate.load, f"{fate.acked:,}", f"{fate.received:,}", *counted, fate.verdict]
