"""Options shared by several verbs."""

from __future__ import annotations

from pathlib import Path

import click

from chaoskit.base.store import DEFAULT_STORE

store_option = click.option(
    "--store",
    type=click.Path(readable=False, path_type=Path),
    default=DEFAULT_STORE,
    show_default=True,
    help="Where run folders are kept.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print verdict.json and nothing else.")
