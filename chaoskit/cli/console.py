"""The only places that the verbs print to with rich. Text from outside is printed as it is: it is never markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table


def wide_console() -> Console:
    """Return stdout, as wide as the terminal; without a terminal, wide enough that no name is truncated."""
    console = Console(markup=False, emoji=False)
    return console if console.is_terminal else Console(width=200, markup=False, emoji=False)


def progress_console() -> Console:
    """Return stderr."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], left: int, title: str | None = None) -> None:
    """Print a table to stdout; its first columns are aligned to the left, so many, and all others to the right."""
    table = Table(box=None, pad_edge=False, title=title, title_justify="left")
    for index, column in enumerate(columns):
        table.add_column(column, no_wrap=True, justify="left" if index < left else "right")
    for row in rows:
        table.add_row(*row)
    wide_console().print(table)
