"""`chaoskit analyze`: judges, measures and compares many runs."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from chaoskit.base import plugins
from chaoskit.cli.arguments.options import PATH
from chaoskit.cli.output.console import Grid, wide_console
from chaoskit.cli.output.saying import say
from chaoskit.report.words import milliseconds


@click.command("analyze")
@click.argument("store", type=PATH)
@click.option("--master", help="Spark master URL.  [default: no Spark up to 5 M messages, local[*] for more]")
@click.option("--out", type=PATH, help="Output folder.  [default: STORE/analysis]")
@click.option("--recheck", is_flag=True, help="Also judge runs that already have a verdict.")
@click.option("--spark-conf", "settings", multiple=True, metavar="KEY=VALUE", help="A Spark setting; repeatable.")
def command(store: Path, master: str | None, out: Path | None, recheck: bool, settings: tuple[str, ...]) -> None:
    """Compare all runs of STORE: verdicts, the cost of faults and settings, trends.

    Runs without a verdict are judged first. Writes Parquet files, report.html, and summary.md for continuous
    integration; see docs/analysis.md.
    """
    began = time.monotonic()

    def tell(line: str) -> None:
        say(f"analyze {time.monotonic() - began:6.1f} s  {line}", err=True)

    analysis = plugins.load("analysis", "spark", "analyze")
    analyzed = analysis.analyze(
        store, master=master, out=out or store / "analysis", recheck=recheck, settings=settings, tell=tell
    )
    _print_configurations(analyzed.tables["configurations"])
    for row in analyzed.tables["trends"]:
        if row["regressions"]:
            say(f"regression: {row['run']}: {', '.join(row['regressions'])}")
    _say_standings(analyzed.standings)
    for name, why in analyzed.skipped.items():
        say(f"skipped: {name}: {why}")
    say(f"summary: {analyzed.summary}")
    say(f"report: {analyzed.report}")


def _print_configurations(rows: Sequence[Mapping[str, Any]]) -> None:
    console = wide_console()
    table = Grid()
    table.add_column("configuration", overflow="fold")
    for name in ("runs", "valid", "invalid", "unknown", "acked", "lost"):
        table.add_column(name, no_wrap=True, justify="right")
    table.add_column("found besides", overflow="fold")
    for name in ("p50", "p99", "p99 under faults", "longest gap", "never acked", "acks/s", "machine full"):
        table.add_column(name, no_wrap=True, justify="right")
    for row in rows:
        table.add_row(
            row["configuration"],
            *(f"{row[name]:,}" for name in ("runs", "valid", "invalid", "unknown", "acked", "lost")),
            ", ".join(f"{count:,} {name}" for name, count in row["anomalies"]),
            *(
                milliseconds(row[name])
                for name in ("p50_ms", "p99_ms", "under_faults_p99_ms", "longest_unavailable_ms")
            ),
            f"{row['without']:,}",
            f"{row['acks_per_s']:,.0f}",
            f"{row['runs_on_full_machines']} of {row['runs']}" if row["runs_on_full_machines"] else "",
        )
    console.print(table)


def _say_standings(standings: Sequence[Any]) -> None:
    """Say which scenarios are not valid now, since when, and what differs from when they were."""
    for standing in standings:
        if standing.first_bad is not None:
            say(f"{standing.latest['verdict']} now: {standing.scenario}, since {standing.first_bad['run']}")
            say(f"  {standing.first_bad['headline']}")
        if standing.first_bad is not None and standing.last_good is not None:
            good = standing.last_good["run"]
            say(f"  what differs from {good}, the last valid run: {standing.difference}")
