"""`chaoskit explore`: cuts the power at many points of a run whose disks were recorded."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from chaoskit.base.quantities import parse_duration
from chaoskit.cli.arguments.chosen import chosen
from chaoskit.cli.arguments.options import PATH, quantity, store_option
from chaoskit.cli.output.console import Grid, wide_console
from chaoskit.cli.output.progress import SeriesProgress
from chaoskit.cli.output.saying import say
from chaoskit.cli.output.summary import worst_exit_code
from chaoskit.contract.event import Event
from chaoskit.contract.hosts.disk import CutMode
from chaoskit.judge.verdict.verdict import INVALID
from chaoskit.search.explore import CrashPoint, CrashWishes, PointTried
from chaoskit.search.explore import explore as explore_run

_STARTED = {True: "yes", False: "NO", None: "unknown"}


class ExploreProgress(SeriesProgress):
    """Reports the outcome of each crash point."""

    def on(self, event: Event) -> None:
        match event:
            case PointTried(number, total, point):
                kept = (
                    "started" if point.lost is None else f"{point.lost:,} of {point.acked:,} acknowledged messages lost"
                )
                failed = "NOT started" if point.started is False else "unknown whether it started"
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
@click.option(
    "--whole", is_flag=True, help="At each point, one host, drawn at random, loses nothing that its disk had received."
)
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
    store: Path,
    as_json: bool,
) -> int:
    """Cut the power of all hosts of RUN at many points, on their recorded disks, and check each time that the system
    starts with all acknowledged messages.

    RUN must have `cluster: {disk: {kind: programmable, record: true}}`. A quarter of the points are before the load, a
    quarter when most acknowledged messages are on no disk, a quarter when a folder changes, and a quarter at random.
    Points that leave the disks in the same state are tested once. The exit code is 0 if the system started at every
    point and lost nothing beyond what its guarantees allow, 2 if a point could not be tested, and 1 otherwise.
    """
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
        say(f"{len(crash_points)} points: no other states of the run's disks were found")
