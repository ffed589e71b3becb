"""`chaoskit explore`: tries crash points of a run whose disks were recorded, or one fault on the wire at a time."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from chaoskit.base.quantities import parse_duration
from chaoskit.cli.chosen import chosen
from chaoskit.cli.console import Grid, wide_console
from chaoskit.cli.explored_messages import explored
from chaoskit.cli.options import PATH, quantity, store_option
from chaoskit.cli.progress import SeriesProgress
from chaoskit.cli.saying import say
from chaoskit.cli.summary import worst_exit_code
from chaoskit.contract.event import Event
from chaoskit.contract.faults.exploring import Wishes
from chaoskit.contract.hosts.disk import CutMode
from chaoskit.judge.verdict.verdict import INVALID
from chaoskit.search.explore import CrashPoint, CrashWishes, PointTried
from chaoskit.search.explore import explore as explore_run

_STARTED = {True: "yes", False: "NO", None: "not known"}


class ExploreProgress(SeriesProgress):
    """Reports the outcome of each crash point."""

    def on(self, event: Event) -> None:
        match event:
            case PointTried(number, total, point):
                kept = "started" if point.lost is None else f"{point.lost:,} of {point.acked:,} acked lost"
                failed = "NOT started" if point.started is False else "not known whether it started"
                outcome = kept if point.started else f"{failed}: {point.why_not}"
                self._print(f"point {number}/{total}: {point.why}, at {point.at_s:.2f} s: {outcome}")
            case _:
                super().on(event)


@click.command("explore")
@click.argument("run", type=PATH)
@click.option("--points", type=click.IntRange(min=1), default=50, show_default=True, help="Number of crash points.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed for points and surviving writes."
)
@click.option(
    "--on-cut", type=click.Choice([mode.value for mode in CutMode]), default=CutMode.REORDER.value, show_default=True,
    help="What happens to unflushed writes.",
)  # fmt: skip
@click.option(
    "--apart", default="0s", show_default=True, help="The hosts lose their power within this time of each other."
)
@click.option("--whole", is_flag=True, help="At each point, one host, drawn, loses nothing that its disk had received.")
@click.option("--wire", is_flag=True, help="RUN is a scenario: try one fault on the wire at a time.")
@click.option(
    "--message", "messages", multiple=True, metavar="PATTERN", default=("*",), show_default=True,
    help="With --wire: only messages with such names; repeatable.",
)  # fmt: skip
@click.option(
    "--then", multiple=True, metavar="ACTION",
    help="With --wire: what is done with a message, as in a scenario; repeatable.  [default: drop, drop-and-close, "
    "duplicate, delay 3s]",
)  # fmt: skip
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON and nothing else.")
def command(
    run: Path,
    *,
    points: int,
    seed: int,
    on_cut: str,
    apart: str,
    whole: bool,
    wire: bool,
    messages: tuple[str, ...],
    then: tuple[str, ...],
    store: Path,
    as_json: bool,
) -> int:
    """Cut the power of all hosts of RUN at many points, on their recorded disks, and check each time that the system
    starts with all acknowledged messages.

    RUN must have `cluster: {disk: {kind: programmable, record: true}}`. A quarter of the points is before the load, a
    quarter where most acknowledged messages are on no disk, a quarter where a folder changes, and a quarter by dice.
    Points that leave the disks in the same state are tried once. The exit code is 0 if the system started at every
    point and lost nothing beyond what its guarantees allow, 2 if a point could not be tried, else 1.

    With --wire, RUN is a scenario of a system whose messages are known (docs/nemeses/wire.md): after a quiet run,
    each kind of message is dropped, doubled or delayed, one of it in each run. The exit code is 1 if a run did what
    the guarantees do not allow, 2 if one could not be judged; a message that did not come again counts as neither.
    """
    if wire:
        return explored(run, Wishes(messages, then), store, as_json=as_json)
    wishes = CrashWishes(points, seed, on_cut, quantity("--apart", apart, parse_duration), whole)
    with ExploreProgress("explore") as progress:
        crash_points = explore_run(chosen(run), store, progress, wishes)
    if as_json:
        click.echo(json.dumps([asdict(point) for point in crash_points], indent=2))
    else:
        _show(crash_points, points)
    return worst_exit_code(point.verdict for point in crash_points)


def _show(crash_points: list[CrashPoint], wished: int) -> None:
    table = Grid("at", "why there", "unflushed, kept", "started", "acked", "lost", "predicted", "")
    for point in crash_points:
        verdict = "NOT ALLOWED" if point.verdict == INVALID else ""
        sectors, kept = (sum(cut[name] for cut in point.cuts.values()) for name in ("sectors", "kept"))
        table.add_row(
            f"{point.at_s:.2f} s",
            point.why,
            f"{sectors:,}, {kept:,} sectors",
            _STARTED[point.started] + (f": {point.why_not[:300]}" if point.why_not else ""),
            f"{point.acked:,}",
            "-" if point.lost is None else f"{point.lost:,}{' (allowed)' if point.lost and point.allowed else ''}",
            "-" if point.predicted is None else f"{point.predicted:,}",
            verdict,
        )
    wide_console().print(table)
    if len(crash_points) < wished:
        say(
            f"{len(crash_points)} points: the run has no more states of its disks that differ, or they are hard to find"
        )
