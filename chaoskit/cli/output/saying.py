"""The only place that the verbs print lines from, without rich (see `chaoskit.base.plain`). JSON escapes by itself:
`click.echo` prints it."""

from __future__ import annotations

from typing import Any

import click

from chaoskit.base.plain import below, one_line


def say(*texts: str, err: bool = False, **style: Any) -> None:
    """Print texts to stdout or stderr, each on a line of its own, in a style of `click.style`."""
    for text in texts or ("",):
        click.secho(one_line(text), err=err, **style)


def complain(message: str) -> None:
    """Print a message of one or several lines to stderr."""
    click.echo(below(message), err=True)
