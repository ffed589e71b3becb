"""`chaoskit list`: lists the runs of a store."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from chaoskit.base.errors import BadInput
from chaoskit.base.store import VERDICT, run_name, runs
from chaoskit.cli.console import Grid, wide_console
from chaoskit.cli.options import store_option
from chaoskit.cli.saying import complain, say
from chaoskit.judge.verdict.verdict_file import read_verdict
from chaoskit.scenario.files import meanings, ready_made, ready_made_sweeps, summary_of, variants_of

_VARIANTS_WIDTH = 50
_NEAREST = 3


@click.command("list")
@click.argument("given", metavar="[STORE | WORDS]", nargs=-1)
@store_option
@click.option(
    "--scenarios",
    is_flag=True,
    help="List the ready-made scenarios with their variants, and sweeps, instead: all, or those with all of WORDS, "
    "such as a fault (power-cut), what is found (lost), a setting, or a word for an incident (outage, payments).",
)
def command(given: tuple[str, ...], store: Path, scenarios: bool) -> int:
    """List the runs of a STORE, oldest first, with their verdicts; exit with 254 if one cannot be read."""
    if scenarios:
        _list_scenarios(given)
        return 0
    if len(given) > 1:
        raise BadInput(f"{given[1]}: one store at a time")
    store = Path(given[0]) if given else store
    damaged = []
    table = Grid()
    for name in ("run", "verdict", "sent", "acked"):
        table.add_column(name, no_wrap=True)
    table.add_column("anomalies")
    table.add_column("faults")
    for folder in runs(store):
        try:
            table.add_row(*_row(folder))
        except BadInput as error:
            table.add_row(run_name(folder), "damaged")
            damaged.append(str(error))
    wide_console().print(table)
    for line in damaged:
        complain(f"error: {line}")
    return BadInput.exit_code if damaged else 0


def _row(folder: Path) -> tuple[str, ...]:
    if not (folder / VERDICT).exists():
        return run_name(folder), "not judged"
    verdict = read_verdict(folder)
    anomalies = ", ".join(
        f"{name} {anomaly['count']:,}" for name, anomaly in verdict["anomalies"].items() if anomaly["count"]
    )
    hits = Counter(f"{fault['kind']} {'+'.join(fault['targets'])}" for fault in verdict["faults"])
    faults = ", ".join(f"{count} x {hit}" if count > 1 else hit for hit, count in hits.items())
    sent, acked = (f"{verdict['counts'][name]:,}" for name in ("sent", "acked"))
    return run_name(folder), verdict["verdict"], sent, acked, anomalies or "none", faults or "none"


def _list_scenarios(words: Sequence[str]) -> None:
    sweeps = ready_made_sweeps()
    made = {**ready_made(), **sweeps}
    sought = list(map(meanings, words))
    matching = {name: _matching(name, path, sought) for name, path in made.items()}
    scenarios = {name: path for name, path in made.items() if matching[name] == len(words)}
    if not scenarios:
        best = [name for name in sorted(made, key=lambda name: -matching[name]) if matching[name]][:_NEAREST]
        remedy = f"nearest: {', '.join(best)}" if best else "none has any; `chaoskit list --scenarios` lists all"
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
