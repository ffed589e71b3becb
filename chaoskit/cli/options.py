"""Options shared by several verbs."""

from __future__ import annotations

from pathlib import Path

import click

from chaoskit.base.store import DEFAULT_STORE

PATH = click.Path(readable=False, path_type=Path)
"""A file or folder; one that may not be read is told by what reads it, with its owner."""

store_option = click.option(
    "--store",
    type=PATH,
    default=DEFAULT_STORE,
    show_default=True,
    help="Where run folders are kept.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print verdict.json and nothing else.")
