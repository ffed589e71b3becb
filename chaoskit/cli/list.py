"""`chaoskit list`: lists the runs of a store."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from chaoskit.base.errors import BadInput
from chaoskit.base.store import VERDICT, run_name, runs
from chaoskit.cli.arguments.options import PATH, store_option
from chaoskit.cli.output.console import Grid, wide_console
from chaoskit.cli.output.saying import complain
from chaoskit.judge.verdict.verdict_file import read_verdict


@click.command("list")
@click.argument("given", metavar="[STORE]", required=False, type=PATH)
@store_option
def command(given: Path | None, store: Path) -> int:
    """List the runs of a STORE, oldest first, with their verdicts; exit with 254 if one cannot be read."""
    damaged = []
    table = Grid()
    for name in ("run", "verdict", "sent", "acked"):
        table.add_column(name, no_wrap=True)
    table.add_column("anomalies")
    table.add_column("faults")
    for folder in runs(given or store):
        try:
            table.add_row(*_row(folder))
        except BadInput as error:
            table.add_row(run_name(folder), "damaged")
            damaged.append(str(error))
    wide_console().print(table)
    for line in damaged:
        complain(f"error: {line}")
    return BadInput.exit_code if damaged else 0


def _row(folder: Path) -> tuple[str, ...]:
    if not (folder / VERDICT).exists():
        return run_name(folder), "not judged"
    verdict = read_verdict(folder)
    anomalies = ", ".join(
        f"{name} {anomaly['count']:,}" for name, anomaly in verdict["anomalies"].items() if anomaly["count"]
    )
    hits = Counter(f"{fault['kind']} {'+'.join(fault['targets'])}" for fault in verdict["faults"])
    faults = ", ".join(f"{count} x {hit}" if count > 1 else hit for hit, count in hits.items())
    sent, acked = (f"{verdict['counts'][name]:,}" for name in ("sent", "acked"))
    return run_name(folder), verdict["verdict"], sent, acked, anomalies or "none", faults or "none"
