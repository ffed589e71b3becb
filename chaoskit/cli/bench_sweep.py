"""`chaoskit bench` of a sweep: its systems beside each other, and beside what the hosts do without any."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from chaoskit.base import owner
from chaoskit.base import store as stores
from chaoskit.base.errors import BadInput
from chaoskit.base.quantities import format_size
from chaoskit.cli.console import print_table
from chaoskit.cli.planned import show_plans
from chaoskit.cli.saying import say
from chaoskit.cli.sweep import SweepProgress
from chaoskit.judge.verdict.verdict import EXIT_CODES
from chaoskit.report.side_by_side import RoundTrip, SideBySide, SystemFate, Throughput
from chaoskit.report.side_by_side_page import write_side_by_side
from chaoskit.run.floor import DATAGRAM_MAX, floors
from chaoskit.scenario.files import find_sweep, is_sweep
from chaoskit.search.side_by_side import check_axes, received_until, side_by_side, smallest
from chaoskit.search.sweep import Results, Sweep, run_sweep
from chaoskit.search.table import worst


def as_sweep(files: Sequence[str]) -> Path | None:
    """Return the path of the only file if it is a sweep, or the name of a ready-made one.

    Raises:
        BadInput: a sweep is given together with other files, or there is no such ready-made sweep.
    """
    sweeps = [file for file in files if is_sweep(file)]
    if not sweeps:
        return None
    if len(files) > 1:
        raise BadInput(f"{sweeps[0]}: a sweep is benched alone; remove the other files")
    return find_sweep(sweeps[0])


def reject(options: Mapping[str, object]) -> None:
    """Reject what only files of OMB leave open.

    Raises:
        BadInput: names the options that are given.
    """
    if given := [name for name, value in options.items() if value]:
        raise BadInput(f"{', '.join(given)}: not with a sweep, whose file says so; remove it")


def bench_sweep(planned: Sweep, store: Path, out: Path, html: Path | None, *, dry_run: bool) -> int:
    """Run a sweep, and write and print what it tells of its systems.

    Args:
        planned: the sweep; of two axes.
        store: where run folders are kept.
        out: the folder of NAME-bench.json.
        html: the page, if one is to be written.
        dry_run: only check, and print what would be done.
    """
    check_axes(planned)
    if dry_run:
        show_plans([cell.plan for cell in planned.cells], drawn=False)
        return 0
    owner.make_folder(out)
    size = smallest(planned)
    floor = [] if size is None or size > DATAGRAM_MAX else list(floors(size))
    received = partial(received_until, store)
    results: dict[str, Results] = {}
    comparison: SideBySide | None = None
    try:
        with SweepProgress(f"bench {planned.name}") as progress:
            for results in run_sweep(planned, store, progress):
                comparison = side_by_side(planned, results, floor, received)
                _write(planned, comparison, out, html)
    finally:
        if comparison:
            _show(comparison)
    return EXIT_CODES[worst(planned, results)]


def _write(planned: Sweep, comparison: SideBySide, out: Path, html: Path | None) -> None:
    path = out / f"{planned.name}-bench.json"
    stores.write_json(path, comparison.as_json())
    owner.give([path])
    if html is not None:
        write_side_by_side(planned.name, comparison, html)


def _show(comparison: SideBySide) -> None:
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
        say(f"without a run: {name}")


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
