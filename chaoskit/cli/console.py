"""The only places that the verbs print to with rich. Text from outside is printed as it is: it is never markup."""

from __future__ import annotations

from rich.console import Console


def wide_console() -> Console:
    """Return stdout, as wide as the terminal; without a terminal, wide enough that no name is truncated."""
    console = Console(markup=False, emoji=False)
    return console if console.is_terminal else Console(width=200, markup=False, emoji=False)


def progress_console() -> Console:
    """Return stderr."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False)
