"""`chaoskit compare`: shows runs beside each other."""

from __future__ import annotations

import json
from pathlib import Path

import click

from chaoskit.cli.arguments.options import PATH, check_folder
from chaoskit.cli.output.console import Grid, wide_console
from chaoskit.cli.output.saying import say
from chaoskit.report.compared import document, figures, letter, read_compared


@click.command("compare")
@click.argument("given", metavar="RUNS...", nargs=-1, required=True, type=PATH)
@click.option("--html", type=PATH, help="Also write a page with the runs' latency and throughput over time.")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON and nothing else.")
def command(given: tuple[Path, ...], *, html: Path | None, as_json: bool) -> int:
    """Show RUNS side by side: what differs in their scenarios, verdicts, counts, anomalies and latencies.

    A run is its folder; a store, or its folder of a scenario, stands for all its judged runs.
    """
    runs = read_compared(given)
    check_folder("--html", html)
    if html is not None:
        from chaoskit.report.compared_page import write_compared  # noqa: PLC0415  # loads optional packages

        say(f"page: {write_compared(runs, html)}", err=True)
    if as_json:
        click.echo(json.dumps(document(runs), indent=2))
        return 0
    for index, run in enumerate(runs):
        say(f"{letter(index)}  {run.name}")
    say()
    table = Grid()
    table.add_column("")
    for index in range(len(runs)):
        table.add_column(letter(index), justify="right", overflow="fold")
    for title, rows in figures(runs).items():
        table.add_row(title)
        for row in rows:
            table.add_row(f"  {row.name}", *(value or "-" for value in row.values))
        if not rows:
            table.add_row("  nothing but the seed")
    wide_console().print(table)
    return 0
