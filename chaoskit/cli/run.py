"""`chaoskit run`: runs scenarios one after the other and judges them."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import click

from chaoskit.base import durable
from chaoskit.base.downloads import told_only
from chaoskit.base.errors import BadInput, RunInterrupted
from chaoskit.cli.arguments.options import PATH, check_folder, json_option, store_option
from chaoskit.cli.output.planned import show_plans, told
from chaoskit.cli.output.progress import LiveProgress
from chaoskit.cli.output.saying import say
from chaoskit.cli.output.summary import comparison, details_option, show_summary, worst_exit_code
from chaoskit.report.compared import read_compared
from chaoskit.report.compared_page import write_compared
from chaoskit.report.junit import Case, junit
from chaoskit.report.page_file import tried
from chaoskit.run.site import Site
from chaoskit.scenario.files import find_all, plan_all
from chaoskit.scenario.plan import Plan

COMPARED = "compared.html"
"""The page of several runs, in the store: the next ones replace it."""


@click.command("run")
@click.argument("scenarios", nargs=-1, required=True)
@click.option("--seed", type=click.IntRange(min=0), help="Use this seed instead of the scenario's.")
@click.option(
    "--with",
    "changes",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a key of the scenarios, such as cluster.topic.min.insync.replicas=2 or faults.0.for=20s; repeatable.",
)
@store_option
@json_option
@details_option
@click.option("--keep", is_flag=True, help="Leave the hosts running; `chaoskit heal` stops them.")
@click.option(
    "--dry-run", is_flag=True, help="Check the scenarios and this machine, print what would be done, and start nothing."
)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation before faults of an existing cluster.")
@click.option("--junit", "junit_file", type=PATH, help="Also write the results to this file, as JUnit XML.")
def command(
    scenarios: tuple[str, ...],
    *,
    seed: int | None,
    changes: tuple[str, ...],
    store: Path,
    as_json: bool,
    details: bool,
    keep: bool,
    dry_run: bool,
    yes: bool,
    junit_file: Path | None,
) -> int:
    """Run SCENARIOS on real clusters and report lost, duplicated and reordered messages.

    A scenario is a file (mine.yaml) or the name of a ready-made one (kafka/power-all; see `chaoskit
    scenarios`). A scenario with variants runs once for each variant; append :VARIANT to run only that one. The folder
    of a run stands for its scenario with its seed: --with then tries another setting.

    All scenarios are validated before the first one starts. Several scenarios are compared in a table at the end, and
    in compared.html in the store; the exit code is that of the worst verdict.
    """
    written = [scenario.changed(changes) for scenario in find_all(scenarios)]
    if store.exists() and not store.is_dir():
        raise BadInput(f"--store {store}: is a file; name a folder")
    check_folder("--junit", junit_file)
    with told_only() if dry_run else nullcontext():
        plans = plan_all(written, seed)
    if dry_run:
        if as_json:
            raise BadInput("--dry-run prints no verdict; leave out --json")
        show_plans(plans, drawn=seed is None)
        return 0
    if not yes:
        _confirm(plans)
    return run_all(plans, store, as_json=as_json, details=details, keep=keep, report=junit_file)


def run_all(
    plans: Sequence[Plan],
    store: Path,
    *,
    as_json: bool,
    details: bool = False,
    keep: bool = False,
    shared: bool = False,
    report: Path | None = None,
) -> int:
    """Run plans one after the other with progress on stderr; return the worst exit code.

    Prints to stdout: a summary of each run and a comparison if there are several; or verdict.json (a list if there
    are several).

    Args:
        plans: the plans to run.
        store: where run folders are kept.
        as_json: print verdict.json and nothing else.
        details: print all of each run, not one screen.
        keep: leave the hosts running.
        shared: use one deployment for all runs, as long as each run restores it.
        report: also write a JUnit XML file, again after each run.

    Raises:
        RunInterrupted: the user interrupted one before the last.
    """
    verdicts, folders, cases = [], [], []
    with Site(store, keep=keep, shared=shared) as site:
        for plan in plans:
            if site.interrupted:
                break
            began = time.monotonic()
            with LiveProgress(plan.scenario.name, plan.scenario.workload.duration / 1e9) as progress:
                folder, verdict = site.run(plan, progress)
            verdicts.append(verdict)
            folders.append(folder)
            if report is not None:
                cases.append(Case(verdict.run, verdict, folder, time.monotonic() - began))
                _write(report, cases)
            if not as_json:
                show_summary(verdict, folder, details=details)
    if as_json:
        documents = [verdict.as_json() for verdict in verdicts]
        click.echo(json.dumps(documents if len(documents) > 1 else documents[0], indent=2))
    elif len(verdicts) > 1:
        comparison(plans[: len(verdicts)], verdicts)
        _write_page(folders, store / COMPARED)
    if missing := len(plans) - len(verdicts):
        raise RunInterrupted(f"interrupted: {missing} of {len(plans)} scenarios were not run")
    return worst_exit_code(verdict.verdict for verdict in verdicts)


def _confirm(plans: Sequence[Plan]) -> None:
    """Ask before faults of existing clusters.

    Raises:
        BadInput: the answer is no, or there is nobody to ask.
    """
    for plan in plans:
        if not plan.scenario.cluster.attach or not plan.faults:
            continue
        lines = list(told(plan, drawn=False))
        if not sys.stdin.isatty():
            refused = f"{plan.source}: has faults for an existing cluster; pass --yes to confirm"
            raise BadInput("\n".join([refused, *lines]))
        say(*lines, err=True)
        if not click.confirm("Run this against an existing cluster?", err=True):
            raise BadInput(f"{plan.source}: not confirmed; nothing was started")


def _write_page(folders: Sequence[Path], page: Path) -> None:
    """Write the page of several runs if possible, and say where it is."""
    why_not = tried(page.name, lambda: write_compared(read_compared(folders), page))
    say(why_not or f"comparison page: {page}")


def _write(path: Path, cases: Sequence[Case]) -> None:
    try:
        durable.write(path, junit(cases))
    except OSError as error:
        raise BadInput(f"--junit {path}: cannot be written: {error.strerror}; choose another file") from error
