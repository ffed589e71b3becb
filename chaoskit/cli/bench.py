"""`chaoskit bench`: runs workloads of the OpenMessaging Benchmark (OMB)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

import click

from chaoskit.base import durable, owner
from chaoskit.base.errors import BadInput, RunInterrupted
from chaoskit.base.quantities import parse_duration, parse_size
from chaoskit.base.state import state_folder
from chaoskit.cli.arguments.options import PATH, check_folder, quantity, store_option
from chaoskit.cli.output.benched import show, show_bracket, show_step, write_html
from chaoskit.cli.output.planned import show_plans
from chaoskit.cli.output.progress import LiveProgress
from chaoskit.cli.output.saying import complain, say
from chaoskit.cli.output.summary import worst_exit_code
from chaoskit.interop.omb.benched import Benched, benched
from chaoskit.interop.omb.climb import ClimbStep, climb, climbs
from chaoskit.interop.omb.plans import Bench, BenchOptions, read_benches
from chaoskit.interop.omb.recording import RecordingCost, recording_cost
from chaoskit.interop.omb.room import check_room
from chaoskit.interop.omb.stored import stored_run
from chaoskit.judge.verdict.check import check_run
from chaoskit.judge.verdict.verdict import Verdict
from chaoskit.run.interruption import INTERRUPTED
from chaoskit.run.site import Site

NO_RESULT = 1
"""Exit code if a pair has no result: no rate was sustained, or the user interrupted."""


@click.command("bench")
@click.argument("files", nargs=-1, required=True)
@click.option("--lab", is_flag=True, help="Run on a local cluster instead of the one that the driver names.")
@click.option("--hosts", type=click.IntRange(min=1), help="Number of brokers.  [default: replicationFactor]")
@click.option("--java", is_flag=True, help="Use the system's own Java client, each in its own JVM.")
@click.option("--duration", help="How long to measure, such as 30s; overrides testDurationMinutes.")
@click.option("--warm-up", help="How long to warm up before; overrides warmupDurationMinutes.")
@click.option(
    "--backlog", help="Size of the backlog, such as 1GiB; overrides consumerBacklogSizeGB of workloads that have it."
)
@click.option("--p99", help="Find the highest rate at which p99 stays below this, such as 20ms, and measure there.")
@click.option("--resume", is_flag=True, help="With --lab: reuse the finished runs in the store.")
@click.option("--out", type=PATH, default=Path(), help="Folder for the results.  [default: the current one]")
@click.option("--html", type=PATH, help="Also write a page with tables and charts.")
@store_option
@click.option("--dry-run", is_flag=True, help="Check files and machine, print what would be done, and start nothing.")
def command(
    files: tuple[str, ...],
    *,
    lab: bool,
    hosts: int | None,
    java: bool,
    duration: str | None,
    warm_up: str | None,
    backlog: str | None,
    p99: str | None,
    resume: bool,
    out: Path,
    html: Path | None,
    store: Path,
    dry_run: bool,
) -> int:
    """Run every workload of FILES with every driver of FILES, unchanged files of the OpenMessaging Benchmark.

    Each pair writes WORKLOAD-DRIVER-TIME.json as OMB does, and a run folder with the history, which says whether
    messages were lost. Differences from OMB are printed.
    """
    warm_up_ns, length_ns, p99_ns = (
        None if given is None else quantity(option, given, parse_duration)
        for option, given in (("--warm-up", warm_up), ("--duration", duration), ("--p99", p99))
    )
    size = None if backlog is None else quantity("--backlog", backlog, parse_size)
    benches = read_benches(tuple(map(Path, files)), BenchOptions(lab, hosts, warm_up_ns, length_ns, p99_ns, size, java))
    if resume:
        _check_resumable(benches, lab=lab)
    stored = {bench.plan.scenario.name: stored_run(bench.plan, store) for bench in benches if resume}
    if lab:
        check_room(benches, state_folder())
    _tell_differences(benches)
    if dry_run:
        show_plans([bench.plan for bench in benches if not stored.get(bench.plan.scenario.name)], drawn=False)
        return 0
    check_folder("--html", html)
    owner.make_folder(out)
    costs = [recording_cost(size) for size in sorted({bench.workload.messageSize for bench in benches})]
    with Site(store) as site:
        results = _run(benches, partial(_execute, site, stored), out, html, costs)
    if results:
        show(results, costs)
    code = worst_exit_code(result.verdict.verdict for result in results) if results else 0
    return code if len(results) == len(benches) else code or NO_RESULT


def _check_resumable(benches: Sequence[Bench], *, lab: bool) -> None:
    if not lab:
        raise BadInput("--resume: runs on an existing cluster are not reused; remove it, or add --lab")
    if searching := next((bench for bench in benches if climbs(bench)), None):
        raise BadInput(f"--resume: {searching.stem}: the search for the highest rate is not resumed; remove it")


def _execute(site: Site, stored: Mapping[str, Path | None], bench: Bench) -> tuple[Path, Verdict]:
    """Run a bench, or judge its run that is in the store; return the run folder and the verdict."""
    name = bench.plan.scenario.name
    if folder := stored.get(name):
        say(f"{name}: from the store: {folder}", err=True)
        return folder, check_run(folder)
    with LiveProgress(name, bench.plan.scenario.workload.duration / 1e9) as progress:
        return site.run(bench.plan, progress)


def _run(
    benches: list[Bench],
    execute: Callable[[Bench], tuple[Path, Verdict]],
    out: Path,
    html: Path | None,
    costs: Sequence[RecordingCost],
) -> list[Benched]:
    """Run all, and write what they did; fewer if the user interrupts, or if no rate was borne by some."""
    results: list[Benched] = []
    steps: list[ClimbStep] = []

    def run(bench: Bench) -> Benched:
        folder, verdict = execute(bench)
        if INTERRUPTED in verdict.reasons:
            raise RunInterrupted(
                f"interrupted: {folder} is incomplete and has no result, and the remaining workloads were not run"
            )
        return benched(bench, folder, verdict)

    try:
        for planned in benches:
            bench = planned
            if climbs(planned):
                bracket, climbed = climb(planned, run, show_step)
                show_bracket(planned, bracket)
                steps += climbed
                if not bracket.borne:
                    continue
                bench = planned.at(bracket.borne, planned.warm_up_ns, planned.length_ns)
            results.append(run(bench))
            _write(results[-1], out)
            if html is not None:
                write_html(html, results, steps, costs)
    except RunInterrupted as error:
        complain(str(error))
    return results


def _write(result: Benched, out: Path) -> None:
    bench = result.bench
    path = out / f"{bench.stem}-{bench.driver.name}-{datetime.now().astimezone():%Y-%m-%d-%H-%M-%S}.json"
    durable.write(path, json.dumps(result.document, indent=2).encode())
    owner.give([path])
    say(f"{path}  run folder: {result.folder}", err=True)


def _tell_differences(benches: list[Bench]) -> None:
    remarks = [remark for bench in benches for remark in (*bench.workload.remarks(), *bench.driver.driven.ignored)]
    for remark in dict.fromkeys(remarks):
        say(f"unlike OMB: {remark}", err=True)
