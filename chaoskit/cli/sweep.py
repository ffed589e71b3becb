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
from chaoskit.cli.arguments.options import PATH, store_option
from chaoskit.cli.output.console import print_table
from chaoskit.cli.output.planned import show_plans
from chaoskit.cli.output.progress import SeriesProgress
from chaoskit.cli.output.saying import say
from chaoskit.cli.output.side_by_side import show_side_by_side
from chaoskit.contract.event import Event, LoadTick
from chaoskit.judge.verdict.verdict import EXIT_CODES
from chaoskit.report.page_file import tried
from chaoskit.report.side_by_side import SideBySide
from chaoskit.report.side_by_side_page import write_side_by_side
from chaoskit.report.telling import told
from chaoskit.scenario.files import find_sweep
from chaoskit.search import cost
from chaoskit.search.side_by_side import comparing
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
    and resumed. A run that fails is repeated once after all others. After each run, the table is also written to
    NAME-sweep.md and NAME-sweep.json. A sweep with `side_by_side: true` also compares its systems, with each other and
    with the hosts alone, and writes the page NAME-sweep.html.
    """
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
            _show(planned, results, comparison, as_json=as_json)
            page = _page(planned, comparison, folder) if comparison else None
            _tell_the_rest(planned, results, folder, page, as_json=as_json)
    return EXIT_CODES[worst(planned, results)]


def write_table(
    planned: Sweep, results: dict[str, Results], folder: Path, comparison: SideBySide | None = None
) -> None:
    """Write the table of a sweep as JSON and as Markdown; the JSON has its systems side by side, too."""
    owner.make_folder(folder)
    content = document(planned, results)
    as_data, as_text, _ = _files(planned, folder)
    stores.write_json(as_data, _with(content, comparison))
    text = markdown(planned, content)
    if planned.across:
        text += cost.markdown(planned, results)
    durable.write(as_text, text.encode())
    owner.give([as_data, as_text])


def _files(planned: Sweep, folder: Path) -> tuple[Path, Path, Path]:
    """Return the paths of the table as JSON and as Markdown, and of the page of systems side by side."""
    data, text, page = (folder / f"{planned.name}-sweep.{suffix}" for suffix in ("json", "md", "html"))
    return data, text, page


def _with(content: dict[str, Any], comparison: SideBySide | None) -> dict[str, Any]:
    return content if comparison is None else {**content, "side_by_side": comparison.as_json()}


def _show(planned: Sweep, results: dict[str, Results], comparison: SideBySide | None, *, as_json: bool) -> None:
    content: dict[str, Any] = document(planned, results)
    if as_json:
        click.echo(json.dumps(_with(content, comparison), indent=2))
        return
    if comparison is not None:
        show_side_by_side(comparison)
        return
    print_table(header(planned), rows(content), len(planned.axes))
    say("", *LEGEND)
    if planned.across:
        _show_cost(planned, results)


def _page(planned: Sweep, comparison: SideBySide, folder: Path) -> str:
    """Write the page of systems side by side if possible; return where it is, or why there is none."""
    page = _files(planned, folder)[2]
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
    lines = ["", f"table: {_files(planned, folder)[1]}", *([page] if page else [])]
    if missing:
        runs = sum(len(cell.plans) for cell in planned.cells)
        command_line = shlex.join(["chaoskit", *sys.argv[1:]])
        lines.append(f"{len(missing)} of {runs} runs are missing; to run them: {command_line}")
        lines += [f"  {name}: {one_line(why)}" for name, why in list(missing.items())[:_MISSING_SHOWN]]
        lines += [f"  and {len(missing) - _MISSING_SHOWN} more"] if len(missing) > _MISSING_SHOWN else []
    say(*lines, err=as_json)


def _show_cost(planned: Sweep, results: dict[str, Results]) -> None:
    say()
    print_table(cost.header(planned, results), cost.rows(planned, results), len(planned.axes) - 1, "cost of durability")
    say("", *cost.LEGEND)
