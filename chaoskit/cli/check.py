"""`chaoskit check`: judge a recorded run again, also one that was killed."""

from __future__ import annotations

import json
from pathlib import Path

import click

from chaoskit.cli.run import json_option
from chaoskit.cli.summary import show_summary
from chaoskit.judge import check_run
from chaoskit.store import find_run
from chaoskit.verdict import EXIT_CODES


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@json_option
def check(run: Path, as_json: bool) -> int:
    """Judge RUN, a run folder or a store (its latest run), from what was recorded."""
    folder = find_run(run)
    verdict = check_run(folder)
    if as_json:
        click.echo(json.dumps(verdict.as_json(), indent=2))
    else:
        show_summary(verdict, folder)
    return EXIT_CODES[verdict.verdict]
