"""`chaoskit list`: lists the runs of a store."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click
from rich.table import Table

from chaoskit.base.store import VERDICT, read_json, run_name, runs
from chaoskit.cli.options import store_option
from chaoskit.cli.summary import wide_console
from chaoskit.scenario.files import ready_made, summary_of, variants_of


@click.command("list")
@store_option
@click.option("--scenarios", is_flag=True, help="List the ready-made scenarios and their variants instead.")
def command(store: Path, scenarios: bool) -> None:
    """List the runs of a store, oldest first, with their verdicts."""
    if scenarios:
        _list_scenarios()
        return
    table = Table(box=None, pad_edge=False)
    for name in ("run", "verdict", "sent", "acked"):
        table.add_column(name, no_wrap=True)
    table.add_column("anomalies")
    table.add_column("faults")
    for folder in runs(store):
        if not (folder / VERDICT).exists():
            table.add_row(run_name(folder), "not judged", "", "", "", "")
            continue
        verdict = read_json(folder / VERDICT)
        anomalies = ", ".join(
            f"{name} {each['count']:,}" for name, each in verdict["anomalies"].items() if each["count"]
        )
        hits = Counter(f"{fault['kind']} {'+'.join(fault['targets'])}" for fault in verdict["faults"])
        faults = ", ".join(f"{count} x {hit}" if count > 1 else hit for hit, count in hits.items())
        numbers = verdict["counts"]
        table.add_row(
            run_name(folder),
            verdict["verdict"],
            f"{numbers['sent']:,}",
            f"{numbers['acked']:,}",
            anomalies or "none",
            faults or "none",
        )
    wide_console().print(table)


def _list_scenarios() -> None:
    table = Table("scenario", "variants", "what it shows", box=None, pad_edge=False)
    for name, path in ready_made().items():
        variants = ", ".join(variant for variant, _ in variants_of(path) if variant)
        table.add_row(name, variants, summary_of(path))
    wide_console().print(table)
