"""`chaoskit bench`: runs workloads of the OpenMessaging Benchmark (OMB) and writes its results."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import click
from rich.table import Table

from chaoskit.base import durable, owner
from chaoskit.base.errors import BadInput
from chaoskit.base.quantities import parse_duration
from chaoskit.cli.console import wide_console
from chaoskit.cli.options import PATH, store_option
from chaoskit.cli.planned import show_plans
from chaoskit.cli.progress import LiveProgress
from chaoskit.cli.summary import worst_exit_code
from chaoskit.omb.benched import Benched, benched
from chaoskit.omb.plans import Bench, Wishes, read_benches
from chaoskit.report.benchmarks_page import Measurement, write_benchmarks
from chaoskit.report.words import describe_machine
from chaoskit.run.site import Site

_COLUMNS = ("workload", "driver", "acked/s", "p50 ms", "p99 ms", "p99.9 ms", "max ms", "end to end p50 / p99 ms",
    "acked", "lost", "verdict")  # fmt: skip
_POINTS = ("50pct", "99pct", "999pct", "Max")


@click.command("bench")
@click.argument("files", nargs=-1, required=True, type=PATH)
@click.option("--lab", is_flag=True, help="Run on a local cluster instead of the one that the driver names.")
@click.option("--hosts", type=click.IntRange(min=1), help="Number of brokers.  [default: replicationFactor]")
@click.option("--duration", help="How long to measure, such as 30s; overrides testDurationMinutes.")
@click.option("--warm-up", help="How long to warm up before; overrides warmupDurationMinutes.")
@click.option("--out", type=PATH, default=Path(), help="Folder for the results.  [default: this one]")
@click.option("--html", type=PATH, help="Also write a page: tables, percentile curves, latency over time.")
@store_option
@click.option("--dry-run", is_flag=True, help="Check files and machine, print what would be done, and start nothing.")
def command(
    files: tuple[Path, ...],
    *,
    lab: bool,
    hosts: int | None,
    duration: str | None,
    warm_up: str | None,
    out: Path,
    html: Path | None,
    store: Path,
    dry_run: bool,
) -> int:
    """Run every workload of FILES with every driver of FILES, unchanged files of the OpenMessaging Benchmark.

    Each pair writes WORKLOAD-DRIVER-TIME.json as OMB does, and a run folder with the history, which says whether
    messages were lost. What cannot be done as OMB does it is said.
    """
    wishes = Wishes(lab, hosts, _duration("--warm-up", warm_up), _duration("--duration", duration))
    benches = read_benches(files, wishes)
    _tell_differences(benches)
    if dry_run:
        show_plans([each.plan for each in benches], drawn=False)
        return 0
    if html is not None and not html.absolute().parent.is_dir():
        raise BadInput(f"--html {html}: there is no such folder; choose another file")
    owner.make_folder(out)
    told: list[Benched] = []
    with Site(store) as site:
        for bench in benches:
            with LiveProgress(bench.plan.scenario.name, bench.plan.scenario.workload.duration / 1e9) as progress:
                folder, verdict = site.run(bench.plan, progress)
            told.append(found := benched(bench, folder, verdict))
            path = out / f"{bench.stem}-{bench.driver.name}-{datetime.now().astimezone():%Y-%m-%d-%H-%M-%S}.json"
            durable.write(path, json.dumps(found.document, indent=2).encode())
            owner.give([path])
            click.echo(f"{path}  run folder: {folder}", err=True)
            if html is not None:
                write_benchmarks([_measurement(each) for each in told], html)
    _show(told)
    return worst_exit_code([each.verdict for each in told])


def _duration(option: str, given: str | None) -> int | None:
    if given is None:
        return None
    try:
        return parse_duration(given)
    except ValueError as error:
        raise BadInput(f"{option}: {error}") from error


def _tell_differences(benches: list[Bench]) -> None:
    told = [remark for each in benches for remark in (*each.workload.remarks(), *each.driver.driven.ignored)]
    for remark in dict.fromkeys(told):
        click.echo(f"unlike OMB: {remark}", err=True)


def _show(told: list[Benched]) -> None:
    table = Table(box=None, pad_edge=False)
    for index, column in enumerate(_COLUMNS):
        table.add_column(column, justify="left" if index < 2 else "right", no_wrap=True)
    for each in told:
        publish = [each.document[f"aggregatedPublishLatency{point}"] for point in _POINTS]
        travel = [each.document[f"aggregatedEndToEndLatency{point}"] for point in ("50pct", "99pct")]
        table.add_row(
            each.bench.stem,
            each.bench.driver.stem,
            f"{each.acked_per_s:,.0f}" + ("*" if each.doubts else ""),
            *(f"{value:,.2f}" for value in publish),
            " / ".join(f"{value:,.2f}" for value in travel),
            f"{each.verdict.counts['acked']:,}",
            f"{each.verdict.lost:,}",
            each.verdict.verdict,
        )
    wide_console().print(table)
    click.echo("\nLatencies are from the call of send to its acknowledgement; the warm-up does not count.")
    for each in told:
        name = f"{each.bench.stem} with {each.bench.driver.stem}"
        if each.machine:
            click.echo(f"{name}: {describe_machine(each.machine)}")
        for why in each.doubts:
            click.echo(f"* NOT a measurement of the system: {name}: {why}")


def _measurement(each: Benched) -> Measurement:
    return Measurement(
        workload=each.bench.stem,
        system=each.bench.driver.stem,
        run=str(each.folder),
        verdict=each.verdict.verdict.upper(),
        acked=each.verdict.counts["acked"],
        lost=each.verdict.lost,
        acked_per_s=each.acked_per_s,
        document=each.document,
        machine=each.machine,
        doubts=each.doubts,
    )
