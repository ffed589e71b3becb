"""`chaoskit sweep`: runs a scenario in many variants with many seeds, and prints one table."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from chaoskit.base import durable, owner
from chaoskit.base import store as stores
from chaoskit.base.plain import one_line
from chaoskit.cli.console import print_table
from chaoskit.cli.options import PATH, store_option
from chaoskit.cli.planned import show_plans
from chaoskit.cli.progress import SeriesProgress
from chaoskit.cli.saying import say
from chaoskit.contract.event import Event, LoadTick
from chaoskit.judge.verdict.verdict import EXIT_CODES
from chaoskit.report.telling import told
from chaoskit.scenario.files import find_sweep
from chaoskit.search import cost
from chaoskit.search.sweep import Results, RunEnded, Sweep, load_sweep, run_sweep
from chaoskit.search.table import LEGEND, document, header, markdown, rows, worst

_MISSING_SHOWN = 8


class SweepProgress(SeriesProgress):
    """Reports the outcome of each run; events within a run appear only on the live line."""

    def on(self, event: Event) -> None:
        match event:
            case RunEnded(number, total, cell, seed, verdict, headline, counts, problem):
                seen = ", ".join(f"{name} {count:,}" for name, count in counts.items())
                outcome = f"{headline}; {verdict}; {seen or 'no anomaly'}" if verdict else f"failed: {problem}"
                self._print(f"{number}/{total} {cell} seed {seed}: {outcome}")
            case LoadTick():
                super().on(event)
            case _:
                self._show(told(event))


@click.command("sweep")
@click.argument("file")
@click.option("--seeds", type=click.IntRange(min=1), help="Runs per cell; overrides the file.")
@click.option("--only", multiple=True, metavar="CELL", help="Run only these cells, such as 'kafka-*/kill'; repeatable.")
@click.option("--out", type=PATH, help="Folder for the table.  [default: the store]")
@store_option
@click.option(
    "--dry-run", is_flag=True, help="Check all cells and this machine, print what each would do, and start nothing."
)
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON and nothing else.")
def command(
    file: str,
    *,
    seeds: int | None,
    only: tuple[str, ...],
    out: Path | None,
    store: Path,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Run the scenario of FILE in all its variants and count the anomalies.

    FILE is a path, or the name of a ready-made sweep such as sweeps/dedup.

    Runs that are already in the store are not repeated, so a sweep can be stopped (Ctrl-C prints the table so far)
    and resumed. A run that fails is tried once more after all others. After each run, the table is also written to
    NAME-sweep.md and NAME-sweep.json.
    """
    planned = load_sweep(find_sweep(file), seeds, only)
    if dry_run:
        show_plans([cell.plan for cell in planned.cells], drawn=False)
        return 0
    folder = out or store
    results: dict[str, Results] = {}
    try:
        with SweepProgress(f"sweep {planned.name}") as progress:
            for results in run_sweep(planned, store, progress):
                write_table(planned, results, folder)
    finally:
        if results:
            _show(planned, results, as_json=as_json)
            _tell_the_rest(planned, results, folder, as_json=as_json)
    return EXIT_CODES[worst(planned, results)]


def write_table(planned: Sweep, results: dict[str, Results], folder: Path) -> None:
    """Write the table of a sweep as JSON and as Markdown."""
    owner.make_folder(folder)
    content = document(planned, results)
    as_data, as_text = _files(planned, folder)
    stores.write_json(as_data, content)
    text = markdown(planned, content)
    if planned.across:
        text += cost.markdown(planned, results)
    durable.write(as_text, text.encode())
    owner.give([as_data, as_text])


def _files(planned: Sweep, folder: Path) -> tuple[Path, Path]:
    """Return the paths of the table as JSON and as Markdown."""
    return folder / f"{planned.name}-sweep.json", folder / f"{planned.name}-sweep.md"


def _show(planned: Sweep, results: dict[str, Results], *, as_json: bool) -> None:
    content: dict[str, Any] = document(planned, results)
    if as_json:
        click.echo(json.dumps(content, indent=2))
        return
    print_table(header(planned), rows(content), len(planned.axes))
    say("", *LEGEND)
    if planned.across:
        _show_cost(planned, results)


def _tell_the_rest(planned: Sweep, results: Mapping[str, Results], folder: Path, *, as_json: bool) -> None:
    """Say where the table is, which runs are missing and why, and what makes them."""
    missing = {
        f"{cell.name} seed {seed}": results[cell.name].broken.get(seed, "not run")
        for cell in planned.cells
        for seed in cell.plans
        if seed not in results[cell.name].verdicts
    }
    lines = ["", f"table: {_files(planned, folder)[1]}"]
    if missing:
        runs = sum(len(cell.plans) for cell in planned.cells)
        lines.append(
            f"{len(missing)} of {runs} runs are missing; to make them: {shlex.join(['chaoskit', *sys.argv[1:]])}"
        )
        lines += [f"  {name}: {one_line(why)}" for name, why in list(missing.items())[:_MISSING_SHOWN]]
        lines += [f"  and {len(missing) - _MISSING_SHOWN} more"] if len(missing) > _MISSING_SHOWN else []
    say(*lines, err=as_json)


def _show_cost(planned: Sweep, results: dict[str, Results]) -> None:
    say()
    print_table(cost.header(planned, results), cost.rows(planned, results), len(planned.axes) - 1, "cost of durability")
    say("", *cost.LEGEND)
