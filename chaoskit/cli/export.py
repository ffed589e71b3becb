"""`chaoskit export`: writes a history for other tools."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from chaoskit.base import durable
from chaoskit.base.errors import BadInput
from chaoskit.cli.arguments.chosen import chosen
from chaoskit.cli.arguments.options import PATH
from chaoskit.cli.output.pipes import to_stdout
from chaoskit.cli.output.saying import say
from chaoskit.interop.jepsen.exporting import export_edn


@click.command("export")
@click.argument("run", type=PATH)
@click.option("--jepsen", is_flag=True, default=True, help="Write EDN of Jepsen's Kafka workload; the default.")
@click.option("--out", type=PATH, help="Write to this file instead of stdout.")
def command(run: Path, jepsen: bool, out: Path | None) -> None:
    """Write the history of RUN, a run folder or a store (its latest run), for Jepsen's checkers."""
    folder = chosen(run)
    if out is None:
        with to_stdout():
            export_edn(folder, sys.stdout)
        return
    try:
        count = _write(folder, out)
    except OSError as error:
        raise BadInput(f"--out {out}: cannot be written: {error.strerror}; name another file") from error
    say(f"{count:,} operations in {out}", err=True)


def _write(folder: Path, out: Path) -> int:
    """Write a regular file atomically; write directly to anything else, such as /dev/null or a named pipe."""
    if out.exists() and not out.is_file():
        with out.open("w", encoding="utf-8") as device:
            return export_edn(folder, device)
    with durable.whole(out.resolve()) as unfinished, unfinished.open("w", encoding="utf-8") as file:
        return export_edn(folder, file)
