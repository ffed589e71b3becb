"""`chaoskit replay`: repeats the timeline of a recorded run."""

from __future__ import annotations

from pathlib import Path

import click

from chaoskit.base.store import SCENARIO, TIMELINE, read_timeline, read_yaml
from chaoskit.cli.arguments.chosen import chosen
from chaoskit.cli.arguments.options import PATH, json_option, store_option
from chaoskit.cli.output.saying import say
from chaoskit.cli.run import run_all
from chaoskit.scenario.plan import read_plan


@click.command("replay")
@click.argument("run", type=PATH)
@click.option("--times", type=click.IntRange(min=1), default=1, show_default=True, help="Number of repetitions.")
@store_option
@json_option
def command(run: Path, times: int, store: Path, as_json: bool) -> int:
    """Repeat RUN: the same scenario with the faults of its timeline.yaml.

    Hosts that were drawn at random are targeted again; roles such as `leader` are resolved again.
    """
    folder = chosen(run)
    content = read_yaml(folder / SCENARIO)
    if (folder / TIMELINE).exists():
        content["faults"] = read_timeline(folder)
    plan = read_plan(content, str(folder))
    if roles := plan.roles:
        say(f"resolved again when the faults begin, possibly to other hosts: {', '.join(roles)}", err=True)
    return run_all([plan] * times, store, as_json=as_json, shared=True)
