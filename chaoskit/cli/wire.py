"""`chaoskit wire`: tries one fault on the wire at a time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from chaoskit.base.errors import BadInput
from chaoskit.cli.arguments.options import store_option
from chaoskit.cli.output.console import Grid, wide_console
from chaoskit.cli.output.progress import SeriesProgress
from chaoskit.cli.output.saying import say
from chaoskit.cli.output.summary import worst_exit_code
from chaoskit.contract.event import Event
from chaoskit.contract.faults.exploring import Wishes
from chaoskit.judge.verdict.verdict import INVALID, VALID
from chaoskit.scenario.files import find_all, plan_all
from chaoskit.search import messages
from chaoskit.search.messages import WireCounted, WirePoint, WireTried

_NOTHING = "-"


class WireProgress(SeriesProgress):
    """Reports what each fault did."""

    def on(self, event: Event) -> None:
        match event:
            case WireCounted(kinds, runs):
                self._print(f"quiet run: {kinds} kinds of messages passed; {runs} runs follow")
            case WireTried(number, total, point):
                aim = point.aim
                what = f"{aim.then}: {aim.message} {aim.of} {aim.number} on {', '.join(aim.on)}"
                self._print(f"fault {number}/{total}: {what}: {_did(point)}")
            case _:
                super().on(event)


@click.command("wire")
@click.argument("scenario")
@click.option(
    "--message", "names", multiple=True, metavar="PATTERN", default=("*",), show_default=True,
    help="Only messages whose names match; repeatable.",
)  # fmt: skip
@click.option(
    "--then", multiple=True, metavar="ACTION",
    help="What to do with a message, as in a scenario; repeatable.  [default: drop, drop-and-close, duplicate, "
    "delay 3s]",
)  # fmt: skip
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON and nothing else.")
def command(scenario: str, *, names: tuple[str, ...], then: tuple[str, ...], store: Path, as_json: bool) -> int:
    """Run SCENARIO again and again, each time with one message of its system's protocol lost, duplicated or delayed.

    The first run has no fault and shows which kinds of messages there are. The system's protocol must be known to
    chaoskit (docs/nemeses/wire.md). The exit code is 1 if a run violated the guarantees, and 2 if one could not be
    judged. A run in which the message did not occur again does not change the exit code.
    """
    plans = plan_all(find_all([scenario]), None)
    if len(plans) != 1:
        variants = ", ".join(plan.scenario.name for plan in plans)
        raise BadInput(f"{scenario}: has {len(plans)} variants ({variants}); append :VARIANT")
    with WireProgress("wire") as progress:
        points = messages.explore(plans[0], store, progress, Wishes(names, then))
    if as_json:
        click.echo(json.dumps([asdict(point) for point in points], indent=2))
    else:
        _show(points)
    return worst_exit_code(_verdict(point) for point in points)


def _verdict(point: WirePoint) -> str:
    """Return what a point says of the system: a message that did not come says nothing against it."""
    came_not = not point.done and point.run and point.verdict != INVALID
    return VALID if came_not else point.verdict


def _did(point: WirePoint) -> str:
    if not point.done:
        return f"not done, {point.verdict}: {point.why}"
    counts = [f"{count:,} {name}" for name, count in point.counts.items()]
    opened = [f"{point.open:,} sends without an outcome"] if point.open else []
    why = f" ({point.why})" if point.verdict != VALID and point.why else ""
    return f"{', '.join([*counts, *opened]) or 'no anomaly'}: {point.verdict}{why}"


def _show(points: Sequence[WirePoint]) -> None:
    table = Grid(
        "message", "of", "which", "done with it", "lost", "twice", "reordered", "else", "open", "longest pause",
        "verdict",
    )  # fmt: skip
    harmful = messages.harm()
    for point in points:
        aim = point.aim
        harm = [f"{point.counts.get(name, 0):,}" for name in harmful]
        harm.append(
            ", ".join(f"{count:,} {name}" for name, count in point.counts.items() if name not in harmful) or _NOTHING
        )
        table.add_row(
            aim.message,
            aim.of,
            f"{aim.number:,} of {aim.among:,} on {', '.join(aim.on)}",
            aim.then,
            *(harm if point.done else [_NOTHING] * len(harm)),
            f"{point.open:,}" if point.done else _NOTHING,
            f"{point.unavailable_ms:,.0f} ms" if point.unavailable_ms is not None else _NOTHING,
            point.verdict.upper() if point.verdict == INVALID else point.verdict if point.done else "not done",
        )
    wide_console().print(table)
    done, bad = sum(point.done for point in points), sum(point.verdict == INVALID for point in points)
    say(
        f"{done} of {len(points)} faults were injected; {bad} runs did what the guarantees of these settings do not "
        "allow"
    )
