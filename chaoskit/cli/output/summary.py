"""What the verbs print on stdout."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from chaoskit.cli.output.console import Grid, wide_console
from chaoskit.cli.output.saying import say
from chaoskit.judge.verdict.verdict import EXIT_CODES, INVALID, UNKNOWN, VALID, Verdict
from chaoskit.report.brief import brief
from chaoskit.report.comparison_table import COLUMNS, comparison_rows
from chaoskit.report.summary import summary
from chaoskit.scenario.plan import Plan

_WORST_FIRST = (INVALID, UNKNOWN, VALID)
_COLOURS = {VALID: "green", INVALID: "red", UNKNOWN: "yellow"}


details_option = click.option("--details", is_flag=True, help="Print all of it, with examples, not one screen.")


def show_summary(verdict: Verdict, folder: Path, *, details: bool = False) -> None:
    """Print one run on one screen, or all of it; what is valid is not green if messages were lost."""
    colour = _COLOURS[UNKNOWN if verdict.verdict == VALID and verdict.lost else verdict.verdict]
    text = summary(verdict, folder) if details else brief(verdict, folder)
    for number, line in enumerate(text.split("\n")):
        bold = number == 0 or line.startswith(("Verdict:", verdict.verdict.upper()))
        say(line, fg=colour if bold else None, bold=bold)


def comparison(plans: Sequence[Plan], verdicts: Sequence[Verdict]) -> None:
    """Print one table that compares runs."""
    settings, *figures = COLUMNS
    table = Grid()
    table.add_column(settings, overflow="fold")
    for name in figures:
        table.add_column(name, no_wrap=True)
    for row in comparison_rows([plan.resolved() for plan in plans], verdicts):
        table.add_row(*row)
    wide_console().print(table)


def worst_exit_code(verdicts: Iterable[str]) -> int:
    """Return the exit code of the worst verdict."""
    return EXIT_CODES[min(verdicts, key=_WORST_FIRST.index)]
