"""`chaoskit explore`: tries crash points of a run whose disk was recorded."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click
from rich.table import Table

from chaoskit.base.store import find_run
from chaoskit.cli.console import wide_console
from chaoskit.cli.options import PATH, store_option
from chaoskit.cli.progress import SeriesProgress
from chaoskit.cli.summary import worst_exit_code
from chaoskit.contract.disk import CutMode
from chaoskit.contract.event import Event
from chaoskit.judge.verdict import INVALID
from chaoskit.search.explore import CrashPoint, PointTried
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
                self._print(f"point {number}/{total}: operation {point.operation} at {point.at_s:.2f} s: {outcome}")
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
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print the crash points as JSON and nothing else.")
def command(run: Path, *, points: int, seed: int, on_cut: str, store: Path, as_json: bool) -> int:
    """Cut the power of RUN's recorded disk at many points, and check each time that the system starts with all
    acknowledged messages.

    RUN must have one host and `cluster: {disk: {kind: programmable, record: true}}`. The exit code is 0 if the
    system started at every point and lost nothing beyond what its guarantees allow, 2 if a point could not be
    tried, else 1.
    """
    with ExploreProgress("explore") as progress:
        found = explore_run(find_run(run), store, progress, count=points, seed=seed, on_cut=on_cut)
    if as_json:
        click.echo(json.dumps([asdict(point) for point in found], indent=2))
    else:
        _show(found)
    return worst_exit_code(point.verdict for point in found)


def _show(found: list[CrashPoint]) -> None:
    table = Table("operation", "at", "unflushed, kept", "started", "acked", "lost", "", box=None, pad_edge=False)
    for point in found:
        verdict = "NOT ALLOWED" if point.verdict == INVALID else ""
        table.add_row(
            f"{point.operation:,}",
            f"{point.at_s:.2f} s",
            f"{point.cut['sectors']:,}, {point.cut['kept']:,} sectors",
            _STARTED[point.started] + (f": {point.why_not[:300]}" if point.why_not else ""),
            f"{point.acked:,}",
            "-" if point.lost is None else f"{point.lost:,}{' (allowed)' if point.lost and point.allowed else ''}",
            verdict,
        )
    wide_console().print(table)
