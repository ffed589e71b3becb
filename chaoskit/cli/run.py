"""`chaoskit run`: run scenarios, one after the other, and judge them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from chaoskit.cli.options import json_option, store_option
from chaoskit.cli.progress import LiveProgress
from chaoskit.cli.summary import comparison, show_summary, worst_exit_code
from chaoskit.run.site import Site
from chaoskit.scenario.files import find
from chaoskit.scenario.plan import Plan, make_plan


@click.command("run")
@click.argument("scenarios", nargs=-1, required=True)
@click.option("--seed", type=click.IntRange(min=0), help="Use this seed instead of the scenario's.")
@store_option
@json_option
@click.option("--keep", is_flag=True, help="Leave the hosts running; `chaoskit heal` ends them.")
def command(scenarios: tuple[str, ...], seed: int | None, store: Path, as_json: bool, keep: bool) -> int:
    """Run SCENARIOS on real clusters and say what was lost, duplicated or reordered.

    A scenario is a file (mine.yaml), or a ready-made one by its name (kafka/power-all; `chaoskit list --scenarios`
    names them). One with variants is run once for each; :VARIANT behind it chooses one.

    All scenarios are validated before the first one starts. With several, a table at the end compares
    them, and the exit code is that of the worst.
    """
    written = [each for spec in scenarios for each in find(spec)]
    plans = [make_plan(each.parsed(), each.source, seed) for each in written]
    return run_all(plans, store, as_json=as_json, keep=keep)


def run_all(plans: Sequence[Plan], store: Path, *, as_json: bool, keep: bool = False, shared: bool = False) -> int:
    """Run plans one after the other, progress on stderr; return the worst exit code.

    On stdout: a summary of each and, of several, a comparison; or verdict.json (of several: a list).

    Args:
        plans: what to run.
        store: where run folders are kept.
        as_json: print verdict.json and nothing else.
        keep: leave the hosts running.
        shared: make the runs on one deployment, as long as each leaves it as it was.
    """
    verdicts = []
    with Site(store, keep=keep, shared=shared) as site:
        for plan in plans:
            with LiveProgress(plan.scenario.name, plan.scenario.workload.duration / 1e9) as progress:
                folder, verdict = site.run(plan, progress)
            verdicts.append(verdict)
            if not as_json:
                show_summary(verdict, folder)
    if as_json:
        documents = [verdict.as_json() for verdict in verdicts]
        click.echo(json.dumps(documents if len(documents) > 1 else documents[0], indent=2))
    elif len(verdicts) > 1:
        comparison(plans, verdicts)
    return worst_exit_code(verdicts)
