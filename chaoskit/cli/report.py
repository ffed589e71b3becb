"""`chaoskit report`: writes a run's report as one HTML file."""

from __future__ import annotations

from pathlib import Path

import click

from chaoskit.cli.arguments.chosen import chosen
from chaoskit.cli.arguments.options import PATH
from chaoskit.cli.output.saying import say


@click.command("report")
@click.argument("run", type=PATH)
@click.option("--out", type=PATH, help="Output file.  [default: RUN/report.html]")
def command(run: Path, out: Path | None) -> None:
    """Write the report of RUN, a run folder or a store (its latest run): one HTML file that works offline."""
    from chaoskit.report.run_page import write_report  # noqa: PLC0415  # loads optional packages

    say(str(write_report(chosen(run), out)))
