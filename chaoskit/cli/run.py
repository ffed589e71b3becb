"""`chaoskit run`: run scenarios, one after the other, and judge them."""

from __future__ import annotations

import json
from pathlib import Path

import click

from chaoskit.cli.progress import LiveProgress
from chaoskit.cli.summary import comparison, show_summary, worst_exit_code
from chaoskit.plan import Plan, make_plan
from chaoskit.runner import run as execute
from chaoskit.scenario import load_scenario
from chaoskit.store import DEFAULT_STORE
from chaoskit.verdict import Verdict

store_option = click.option(
    "--store",
    type=click.Path(path_type=Path),
    default=DEFAULT_STORE,
    show_default=True,
    help="Where run folders are kept.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print verdict.json and nothing else.")


@click.command()
@click.argument("scenarios", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--seed", type=click.IntRange(min=0), help="Use this seed instead of the scenario's.")
@store_option
@json_option
@click.option("--keep", is_flag=True, help="Leave the hosts running; `chaoskit heal` ends them.")
def run(scenarios: tuple[Path, ...], seed: int | None, store: Path, as_json: bool, keep: bool) -> int:
    """Run SCENARIOS on real clusters and say what was lost, duplicated or reordered.

    All scenarios are validated before the first one starts. With several, a table at the end compares
    them, and the exit code is that of the worst.
    """
    plans = [make_plan(load_scenario(path), str(path), seed) for path in scenarios]
    verdicts = [run_and_show(plan, store, as_json=as_json, keep=keep) for plan in plans]
    if len(verdicts) > 1 and not as_json:
        comparison(plans, verdicts)
    return worst_exit_code(verdicts)


def run_and_show(plan: Plan, store: Path, *, as_json: bool, keep: bool = False) -> Verdict:
    """Run one plan with progress on stderr and its summary, or verdict.json, on stdout."""
    with LiveProgress(plan.scenario.name, plan.scenario.workload.duration / 1e9, quiet=as_json) as progress:
        folder, verdict = execute(plan, store, progress, keep=keep)
    if as_json:
        click.echo(json.dumps(verdict.as_json(), indent=2))
    else:
        show_summary(verdict, folder)
    return verdict
