"""The tables of a sweep: in files after each run, and on the screen at its end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from chaoskit.base import durable, owner
from chaoskit.base import store as stores
from chaoskit.cli.output.console import print_table
from chaoskit.cli.output.saying import say
from chaoskit.cli.output.side_by_side import show_side_by_side
from chaoskit.report.side_by_side import SideBySide
from chaoskit.search import cost, lasting_table, verdict_table
from chaoskit.search.sweep import Results, Sweep
from chaoskit.search.table import LEGEND, document, header, markdown, rows


def write_table(
    planned: Sweep, results: dict[str, Results], folder: Path, comparison: SideBySide | None = None
) -> None:
    """Write the table of a sweep as JSON and as Markdown; the JSON has its systems side by side, too."""
    owner.make_folder(folder)
    content = document(planned, results)
    as_data, as_text, _ = table_files(planned, folder)
    stores.write_json(as_data, _with(content, comparison))
    text = markdown(planned, content) + lasting_table.markdown(planned, content)
    if planned.across:
        text += cost.markdown(planned, results)
    if planned.columns:
        text += verdict_table.markdown(planned, results)
    durable.write(as_text, text.encode())
    owner.give([as_data, as_text])


def table_files(planned: Sweep, folder: Path) -> tuple[Path, Path, Path]:
    """Return the paths of the table as JSON and as Markdown, and of the page of systems side by side."""
    data, text, page = (folder / f"{planned.name}-sweep.{suffix}" for suffix in ("json", "md", "html"))
    return data, text, page


def _with(content: dict[str, Any], comparison: SideBySide | None) -> dict[str, Any]:
    return content if comparison is None else {**content, "side_by_side": comparison.as_json()}


def show_tables(planned: Sweep, results: dict[str, Results], comparison: SideBySide | None, *, as_json: bool) -> None:
    """Print the tables, or the document that they are made from as JSON."""
    content: dict[str, Any] = document(planned, results)
    if as_json:
        click.echo(json.dumps(_with(content, comparison), indent=2))
        return
    if comparison is not None:
        show_side_by_side(comparison)
        return
    print_table(header(planned), rows(content), len(planned.axes))
    say("", *LEGEND)
    if lasting := lasting_table.rows(content):
        say()
        print_table(lasting_table.header(planned), lasting, len(planned.axes) + 2, lasting_table.TITLE)
        say("", *lasting_table.LEGEND)
    if planned.across:
        _show_cost(planned, results)
    if planned.columns:
        say()
        titles = verdict_table.header(planned)
        print_table(titles, verdict_table.rows(planned, results), len(planned.axes) - 1, f"by {planned.columns}")
        say("", *verdict_table.LEGEND)


def _show_cost(planned: Sweep, results: dict[str, Results]) -> None:
    say()
    print_table(cost.header(planned, results), cost.rows(planned, results), len(planned.axes) - 1, "cost of durability")
    say("", *cost.LEGEND)
