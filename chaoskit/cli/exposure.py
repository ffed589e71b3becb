"""`chaoskit exposure`: what a power cut would have cost, at each instant of a run whose disks were recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from chaoskit.cli.arguments.chosen import chosen
from chaoskit.cli.arguments.options import PATH
from chaoskit.cli.output.console import Grid, wide_console
from chaoskit.cli.output.saying import say
from chaoskit.judge.exposure.measuring import measure_exposure
from chaoskit.judge.subject.subject import read_subject
from chaoskit.report.figures.exposed import in_hosts, lag_in_words


@click.command("exposure")
@click.argument("run", type=PATH)
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON and nothing else.")
def command(run: Path, *, as_json: bool) -> int:
    """Compute what a power cut would have cost at each instant of RUN.

    RUN must have the recordings of all hosts' disks: `cluster: {disk: {kind: programmable, record: true}}`. For every
    acknowledged message: on how many hosts it was on stable storage when it was acknowledged, and how long until it
    was (the lag; negative: before the acknowledgement). The loss window is the number of acknowledged messages that no
    surviving or returning disk has, over time. Messages that a surviving host may have only in its memory are in doubt.
    """
    folder = chosen(run)
    exposure = measure_exposure(folder, read_subject(folder)).as_json()
    if as_json:
        click.echo(json.dumps(exposure, indent=2))
    else:
        show_exposure(exposure)
    return 0


def show_exposure(exposure: Mapping[str, Any]) -> None:
    """Print an exposure, as in verdict.json."""
    say(f"acknowledged: {exposure['acked']:,} messages")
    console = wide_console()
    table = Grid("on stable storage of", "messages when acknowledged")
    for copies, count in exposure["copies_at_ack"].items():
        table.add_row(in_hosts(copies), f"{count:,}")
    console.print(table)
    table = Grid("after the acknowledgement, on", "p50", "p99", "max", "never")
    for copies, lag in exposure["lag_ms"].items():
        times = [lag_in_words(lag[name]) for name in ("p50", "p99", "max")]
        table.add_row(in_hosts(copies), *times, f"{lag['never']:,}")
    console.print(table)
    table = Grid("a power cut of", "would lose: median", "at most", "at", "in doubt")
    for hosts, window in exposure["loss_window"].items():
        at = f"{window['at_s']:.1f} s" if window["max"] else "-"
        table.add_row(hosts, f"{window['median']:,}", f"{window['max']:,}", at, f"{window['in_doubt']:,}")
    console.print(table)
    for doubt in exposure["doubts"]:
        say(f"doubt: {doubt}")
