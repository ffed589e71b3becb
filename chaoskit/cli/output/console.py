"""The only places that the verbs print to with rich. Text from outside is never markup, and steers no terminal: see
`chaoskit.base.plain`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from chaoskit.base.plain import lines, one_line


class _Plain(Console):
    """A console that escapes what would steer a terminal. Newlines are kept: give each text from outside as one line,
    see `chaoskit.base.plain.one_line`."""

    def print(self, *objects: Any, **options: Any) -> None:
        super().print(
            *(lines(renderable) if isinstance(renderable, str) else renderable for renderable in objects), **options
        )


class Grid(Table):
    """A table without a box, each cell of which is one line of text, unless it is folded."""

    def __init__(self, *headers: str, **options: Any) -> None:
        super().__init__(*map(one_line, headers), **{"box": None, "pad_edge": False, **options})

    def add_column(self, header: Any = "", *more: Any, **options: Any) -> None:
        super().add_column(_cell(header), *more, **options)

    def add_row(self, *cells: Any, **options: Any) -> None:
        super().add_row(*map(_cell, cells), **options)


def wide_console() -> Console:
    """Return stdout, as wide as the terminal; without a terminal, wide enough that no name is truncated."""
    console = _Plain(markup=False, emoji=False)
    return console if console.is_terminal else _Plain(width=200, markup=False, emoji=False)


def progress_console() -> Console:
    """Return stderr."""
    return _Plain(stderr=True, highlight=False, markup=False, emoji=False)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], left: int, title: str | None = None) -> None:
    """Print a table to stdout; its first columns are aligned to the left, so many, and all others to the right."""
    table = Grid(title=title, title_justify="left")
    for index, column in enumerate(columns):
        table.add_column(column, no_wrap=True, justify="left" if index < left else "right")
    for row in rows:
        table.add_row(*row)
    wide_console().print(table)


def _cell(content: Any) -> Any:
    return one_line(content) if isinstance(content, str) else content
