"""`chaoskit sweep`: runs a scenario in many variants with many seeds, and prints one table."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path

import click

from chaoskit.base.downloads import told_only
from chaoskit.base.plain import one_line
from chaoskit.cli.arguments.options import PATH, store_option
from chaoskit.cli.output.planned import show_plans
from chaoskit.cli.output.progress import SeriesProgress
from chaoskit.cli.output.saying import say
from chaoskit.cli.output.sweep_tables import show_tables, table_files, write_table
from chaoskit.contract.event import Event, LoadTick
from chaoskit.judge.verdict.verdict import EXIT_CODES
from chaoskit.report.page_file import tried
from chaoskit.report.side_by_side import SideBySide
from chaoskit.report.side_by_side_page import write_side_by_side
from chaoskit.report.telling import told
from chaoskit.scenario.files import find_sweep
from chaoskit.search.side_by_side import comparing
from chaoskit.search.sweep import Results, RunEnded, Sweep, load_sweep, run_sweep
from chaoskit.search.table import worst

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
    and resumed. A run that fails is repeated once after all others. After each run, the table is also written to
    NAME-sweep.md and NAME-sweep.json. A sweep with `side_by_side: true` also compares its systems, with each other and
    with the hosts alone, and writes the page NAME-sweep.html.
    """
    with told_only() if dry_run else nullcontext():
        planned = load_sweep(find_sweep(file), seeds, only)
    if dry_run:
        show_plans([cell.plan for cell in planned.cells], drawn=False)
        return 0
    folder = out or store
    results: dict[str, Results] = {}
    compare = comparing(planned, store) if planned.side_by_side else None
    comparison: SideBySide | None = None
    try:
        with SweepProgress(f"sweep {planned.name}") as progress:
            for results in run_sweep(planned, store, progress):
                comparison = compare(results) if compare else None
                write_table(planned, results, folder, comparison)
    finally:
        if results:
            show_tables(planned, results, comparison, as_json=as_json)
            page = _page(planned, comparison, folder) if comparison else None
            _tell_the_rest(planned, results, folder, page, as_json=as_json)
    return EXIT_CODES[worst(planned, results)]


def _page(planned: Sweep, comparison: SideBySide, folder: Path) -> str:
    """Write the page of systems side by side if possible; return where it is, or why there is none."""
    page = table_files(planned, folder)[2]
    why_not = tried(page.name, lambda: write_side_by_side(planned.name, comparison, page))
    return why_not or f"page: {page}"


def _tell_the_rest(
    planned: Sweep, results: Mapping[str, Results], folder: Path, page: str | None, *, as_json: bool
) -> None:
    """Print where the table and the page are, which runs are missing and why, and the command that makes them."""
    missing = {
        f"{cell.name} seed {seed}": results[cell.name].broken.get(seed, "not run")
        for cell in planned.cells
        for seed in cell.plans
        if seed not in results[cell.name].verdicts
    }
    lines = ["", f"table: {table_files(planned, folder)[1]}", *([page] if page else [])]
    if missing:
        runs = sum(len(cell.plans) for cell in planned.cells)
        command_line = shlex.join(["chaoskit", *sys.argv[1:]])
        lines.append(f"{len(missing)} of {runs} runs are missing; to run them: {command_line}")
        lines += [f"  {name}: {one_line(why)}" for name, why in list(missing.items())[:_MISSING_SHOWN]]
        lines += [f"  and {len(missing) - _MISSING_SHOWN} more"] if len(missing) > _MISSING_SHOWN else []
    say(*lines, err=as_json)
