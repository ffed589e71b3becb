"""`chaoskit run`: run scenarios, one after the other, and judge them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from chaoskit.base.store import DEFAULT_STORE
from chaoskit.cli.progress import LiveProgress
from chaoskit.cli.summary import comparison, show_summary, worst_exit_code
from chaoskit.run.runner import run as execute
from chaoskit.scenario.model import load_scenario
from chaoskit.scenario.plan import Plan, make_plan

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
    return run_all(plans, store, as_json=as_json, keep=keep)


def run_all(plans: Sequence[Plan], store: Path, *, as_json: bool, keep: bool = False) -> int:
    """Run plans one after the other, progress on stderr; return the worst exit code.

    On stdout: a summary of each and, of several, a comparison; or verdict.json (of several: a list).
    """
    verdicts = []
    for plan in plans:
        with LiveProgress(plan.scenario.name, plan.scenario.workload.duration / 1e9) as progress:
            folder, verdict = execute(plan, store, progress, keep=keep)
        verdicts.append(verdict)
        if not as_json:
            show_summary(verdict, folder)
    if as_json:
        documents = [verdict.as_json() for verdict in verdicts]
        click.echo(json.dumps(documents if len(documents) > 1 else documents[0], indent=2))
    elif len(verdicts) > 1:
        comparison(plans, verdicts)
    return worst_exit_code(verdicts)
