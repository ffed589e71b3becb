"""Options shared by several verbs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from chaoskit.base.errors import BadInput
from chaoskit.base.store import DEFAULT_STORE

PATH = click.Path(readable=False, path_type=Path)
"""A file or folder; one that may not be read is told by what reads it, with its owner."""


def check_folder(option: str, path: Path | None) -> None:
    """Reject the file of an option, if it is given, that is to be in a folder that does not exist.

    Raises:
        BadInput: names the option, the file and the remedy.
    """
    if path is not None and not path.absolute().parent.is_dir():
        raise BadInput(f"{option} {path}: there is no such folder; choose another file")


def quantity(option: str, given: str, parse: Callable[[object], int]) -> int:
    """Return what is given for an option, such as a duration, as a number.

    Raises:
        BadInput: names the option, and how it is written.
    """
    try:
        return parse(given)
    except ValueError as error:
        raise BadInput(f"{option}: {error}") from error


store_option = click.option(
    "--store",
    type=PATH,
    default=DEFAULT_STORE,
    show_default=True,
    help="Where run folders are kept.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print verdict.json and nothing else.")
