"""`chaoskit export`: give a history to other tools."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from chaoskit import durable
from chaoskit.errors import BadInput
from chaoskit.history.jepsen.exporting import export_edn
from chaoskit.store import find_run


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--jepsen", is_flag=True, default=True, help="As EDN of Jepsen's Kafka workload; the default.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Into this file instead of stdout.")
def export(run: Path, jepsen: bool, out: Path | None) -> None:
    """Write the history of RUN, a run folder or a store (its latest run), for Jepsen's checkers to judge."""
    folder = find_run(run)
    if out is None:
        export_edn(folder, sys.stdout)
        return
    scratch = out.with_name(f".{out.name}.part")
    try:
        with scratch.open("w", encoding="utf-8") as file:
            count = export_edn(folder, file)
        durable.sync(scratch)
        scratch.replace(out)
    except OSError as error:
        raise BadInput(
            f"--out {out}: cannot be written: {error.strerror}; name a file in a folder that exists"
        ) from error
    finally:
        scratch.unlink(missing_ok=True)
    click.echo(f"{count} operations in {out}", err=True)
