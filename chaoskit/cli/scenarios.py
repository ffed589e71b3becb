"""`chaoskit scenarios`: lists ready-made scenarios and sweeps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import click

from chaoskit.base.errors import BadInput
from chaoskit.cli.output.console import Grid, wide_console
from chaoskit.cli.output.saying import say
from chaoskit.scenario.files import meanings, ready_made, ready_made_sweeps, summary_of, variants_of

_VARIANTS_WIDTH = 50
_NEAREST = 3


@click.command("scenarios")
@click.argument("words", nargs=-1)
def command(words: tuple[str, ...]) -> int:
    """List the ready-made scenarios with their variants, and the ready-made sweeps.

    With WORDS, only those that match all of them: a fault (power-cut), an anomaly (lost), a setting, or a word for an
    incident (outage, payments).
    """
    _show(words)
    return 0


def _show(words: Sequence[str]) -> None:
    sweeps = ready_made_sweeps()
    made = {**ready_made(), **sweeps}
    sought = list(map(meanings, words))
    matching = {name: _matching(name, path, sought) for name, path in made.items()}
    scenarios = {name: path for name, path in made.items() if matching[name] == len(words)}
    if not scenarios:
        best = [name for name in sorted(made, key=lambda name: -matching[name]) if matching[name]][:_NEAREST]
        remedy = f"nearest: {', '.join(best)}" if best else "none has any of them; `chaoskit scenarios` lists all"
        raise BadInput(f"no ready-made scenario has all of these words: {', '.join(words)}; {remedy}")
    table = Grid()
    table.add_column("scenario", no_wrap=True)
    table.add_column("variants", max_width=_VARIANTS_WIDTH)
    table.add_column("what it shows", min_width=_VARIANTS_WIDTH)
    for name in sorted(scenarios, key=lambda name: _rank(name, scenarios[name], words)):
        path = scenarios[name]
        variants = "" if name in sweeps else ", ".join(variant for variant, _ in variants_of(path) if variant)
        table.add_row(name, variants, summary_of(path))
    wide_console().print(table)
    say("", "chaoskit run SCENARIO[:VARIANT]; chaoskit sweep sweeps/NAME")


def _rank(name: str, path: Path, words: Sequence[str]) -> int:
    """Return where a scenario that matches belongs: first those whose name or title has the words themselves, then
    those whose file has them, then those that have what they mean."""
    title, text = f"{name} {summary_of(path)}".lower(), path.read_text(encoding="utf-8").lower()
    in_title, in_text = (sum(_begins(word.lower(), where) for word in words) for where in (title, text))
    return -2 * in_title - in_text


def _matching(name: str, path: Path, sought: Sequence[Sequence[str]]) -> int:
    """Return how many of the words that are sought, each by all that it means, a scenario's name or file has."""
    text = f"{name}\n{path.read_text(encoding='utf-8')}".lower()
    return sum(any(_begins(meaning, text) for meaning in meanings) for meanings in sought)


def _begins(word: str, text: str) -> bool:
    """Return whether a word of a text begins with another one: `hang` is not meant by `change`."""
    return re.search(rf"(?<![a-z0-9]){re.escape(word)}", text) is not None
