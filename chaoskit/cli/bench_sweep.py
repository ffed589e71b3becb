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
    found = [file for file in files if is_sweep(file)]
    if not found:
        return None
    if len(files) > 1:
        raise BadInput(f"{found[0]}: a sweep is benched alone; remove the other files")
    return find_sweep(found[0])


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
    found: dict[str, Results] = {}
    told: SideBySide | None = None
    try:
        with SweepProgress(f"bench {planned.name}") as progress:
            for found in run_sweep(planned, store, progress):
                told = side_by_side(planned, found, floor, received)
                _write(planned, told, out, html)
    finally:
        if told:
            _show(told)
    return EXIT_CODES[worst(planned, found)]


def _write(planned: Sweep, told: SideBySide, out: Path, html: Path | None) -> None:
    path = out / f"{planned.name}-bench.json"
    stores.write_json(path, told.as_json())
    owner.give([path])
    if html is not None:
        write_side_by_side(planned.name, told, html)


def _show(told: SideBySide) -> None:
    trips = ("half a round trip", "payload", "p50 us", "p99 us", "published us", "without an answer", "verdict")
    rates = ("throughput", "payload", "messages/s", "MB/s", "sent", *_counted(told.throughputs), "verdict")
    fates = ("system", "load", "acknowledged", "received", *_counted(told.fates), "verdict")
    tables = (
        (trips, list(map(_trip, told.round_trips))),
        (rates, list(map(_rate, told.throughputs))),
        (fates, list(map(_fate, told.fates))),
    )
    for columns, rows in tables:
        if rows:
            say()
            print_table(columns, rows, left=2)
    for each in told.lacking:
        say(f"without a run: {each}")


def _counted(told: Sequence[Throughput] | Sequence[SystemFate]) -> Iterable[str]:
    return told[0].found if told else ()


def _trip(each: RoundTrip) -> list[str]:
    figures = ("" if value is None else f"{value:,.0f}" for value in (each.p50_us, each.p99_us, each.published_us))
    unanswered = f"{each.unanswered:,}" if each.verdict else ""
    return [each.name, format_size(each.payload), *figures, unanswered, each.verdict]


def _rate(each: Throughput) -> list[str]:
    figures = f"{each.messages_per_s:,.0f}", f"{each.bytes_per_s / 1e6:,.1f}", f"{each.sent:,}"
    counted = (f"{count:,}" for count in each.found.values())
    return [each.name, format_size(each.payload), *figures, *counted, each.verdict]


def _fate(each: SystemFate) -> list[str]:
    counted = (f"{count:,}" for count in each.found.values())
    return [each.name, each.load, f"{each.acked:,}", f"{each.received:,}", *counted, each.verdict]
